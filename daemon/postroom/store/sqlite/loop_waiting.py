"""What waits, read in the order of its turn from partial indexes, so that history never slows it."""

import sqlite3
from collections.abc import Iterator
from typing import Final

from postroom.core.delivery import SUSPECT_CRASHES
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.ports.looping import WaitingRow
from postroom.store.sqlite.spoiled import is_damaged, lane_of, readable, state_of


# A cursor is two questions, for SQLite seeks by the first column of a row value only: behind 100,000 rows of one send
# time that is a walk. `{skip}` is filled with question marks only.
_COMMON: Final = """
    SELECT number, mailbox_id, lane, domain, due_at, state, not_after, has_attachments, crashes, date_at, created_at
    FROM delivery INDEXED BY delivery_due
    WHERE mailbox_id = ? AND lane = ? AND state IN ('pending', 'retry_scheduled') AND due_at > ?
          AND domain NOT IN ({skip})
    ORDER BY due_at, number LIMIT ?"""
_COMMON_SAME: Final = """
    SELECT number, mailbox_id, lane, domain, due_at, state, not_after, has_attachments, crashes, date_at, created_at
    FROM delivery INDEXED BY delivery_due
    WHERE mailbox_id = ? AND lane = ? AND state IN ('pending', 'retry_scheduled') AND due_at = ? AND number > ?
          AND domain NOT IN ({skip})
    ORDER BY number LIMIT ?"""
_OF_DOMAIN: Final = """
    SELECT number, mailbox_id, lane, domain, due_at, state, not_after, has_attachments, crashes, date_at, created_at
    FROM delivery INDEXED BY delivery_due_domain
    WHERE mailbox_id = ? AND domain = ? AND lane = ? AND state IN ('pending', 'retry_scheduled') AND due_at > ?
    ORDER BY due_at, number LIMIT ?"""
_OF_DOMAIN_SAME: Final = """
    SELECT number, mailbox_id, lane, domain, due_at, state, not_after, has_attachments, crashes, date_at, created_at
    FROM delivery INDEXED BY delivery_due_domain
    WHERE mailbox_id = ? AND domain = ? AND lane = ? AND state IN ('pending', 'retry_scheduled') AND due_at = ?
          AND number > ?
    ORDER BY number LIMIT ?"""
# The cursor is the octets of an id: one of which something is damaged would come again and again as a text.
_NEXT_QUEUE: Final = """
    SELECT mailbox_id, CAST(mailbox_id AS BLOB) AS octets, lane FROM delivery INDEXED BY delivery_due
    WHERE state IN ('pending', 'retry_scheduled') AND (mailbox_id, lane) > (CAST(? AS TEXT), ?)
    ORDER BY mailbox_id, lane LIMIT 1"""

_OF_QUEUE: Final = """
    SELECT number, state FROM delivery INDEXED BY delivery_due
    WHERE mailbox_id = CAST(? AS TEXT) AND lane = ? AND state IN ('pending', 'retry_scheduled')"""

_LANES: Final = frozenset(Lane)
_BEFORE_ALL: Final = (Instant(-1), -1)


def find_common(
    conn: sqlite3.Connection,
    queue: tuple[str, Lane],
    skip: frozenset[str],
    after: tuple[Instant, int] | None,
    limit: int,
) -> tuple[WaitingRow, ...]:
    """Rows of a mailbox and lane, but those of the domains to skip."""
    marks, skipped = ", ".join("?" * len(skip)), sorted(skip)
    due_at, number = after or _BEFORE_ALL
    rows: list[sqlite3.Row] = []
    with readable(conn):  # what is damaged is set aside at its start
        if after is not None:
            same = (*queue, due_at, number, *skipped, limit)
            rows += conn.execute(_COMMON_SAME.format(skip=marks), same)
        later = (*queue, due_at, *skipped, limit - len(rows))
        rows += conn.execute(_COMMON.format(skip=marks), later)
    return tuple(map(_row, rows))


def find_of_domain(
    conn: sqlite3.Connection,
    queue: tuple[str, Lane],
    domain: str,
    after: tuple[Instant, int] | None,
    limit: int,
) -> tuple[WaitingRow, ...]:
    """Rows of a mailbox and lane to one domain."""
    mailbox_id, lane = queue
    due_at, number = after or _BEFORE_ALL
    rows: list[sqlite3.Row] = []
    if after is not None:
        rows += conn.execute(_OF_DOMAIN_SAME, (mailbox_id, domain, lane, due_at, number, limit))
    rows += conn.execute(_OF_DOMAIN, (mailbox_id, domain, lane, due_at, limit - len(rows)))
    return tuple(map(_row, rows))


def find_queues(conn: sqlite3.Connection) -> tuple[tuple[str, Lane], ...]:
    """Every mailbox and lane with a waiting row: one step in the index for each, however many rows they have."""
    with readable(conn):
        return tuple(
            (row["mailbox_id"], Lane(row["lane"])) for row in _queues(conn) if _is_queue(row)
        )


def find_stray(conn: sqlite3.Connection) -> list[sqlite3.Row]:
    """Waiting rows that no queue has: their mailbox or their lane is damaged."""
    with readable(conn):
        strays = [row for row in _queues(conn) if not _is_queue(row)]
        return [
            row
            for stray in strays
            for row in conn.execute(_OF_QUEUE, (stray["octets"], stray["lane"])).fetchall()
        ]


def _queues(conn: sqlite3.Connection) -> Iterator[sqlite3.Row]:
    last: tuple[bytes, int] = (b"", -1)
    while row := conn.execute(_NEXT_QUEUE, last).fetchone():
        last = (row["octets"], row["lane"])
        yield row


def _is_queue(row: sqlite3.Row) -> bool:
    return row["lane"] in _LANES and not is_damaged(row["mailbox_id"])


def _row(row: sqlite3.Row) -> WaitingRow:
    return WaitingRow(
        number=row["number"],
        mailbox_id=row["mailbox_id"],
        lane=lane_of(row["lane"]),
        domain=row["domain"],
        due_at=Instant(row["due_at"]),
        state=state_of(row["state"]),
        not_after=row["not_after"],
        has_attachments=bool(row["has_attachments"]),
        is_suspect=row["crashes"] >= SUSPECT_CRASHES,
        planned_since=row["created_at"] if row["date_at"] is None else None,
    )
