"""Questions about deliveries: one with its history, lists, the dead, and counts. Functions of a reading connection."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.instant import MINUTE, Instant
from postroom.core.mailbox import Lane
from postroom.core.message import reply_to_of
from postroom.core.reason import ReasonCode
from postroom.core.record import DeliveryRecord, Page, Retries
from postroom.ports.desk import DeliveryFilter, Hold
from postroom.store.sqlite import rows
from postroom.store.sqlite.keyset import (
    END,
    Walk,
    delivery_window,
    each_mailbox,
    newest,
    next_cursor,
)
from postroom.store.sqlite.spoiled import find_word, is_damaged, lane_of, readable


# A walk by reason or domain also meets rows in other states: so many are looked at in one hop to the reader.
_STATES: Final = frozenset(DeliveryState)
_LOOK: Final = 1_000

_ONE: Final = f"SELECT {rows.DELIVERY_OF_JOB} FROM delivery WHERE number = ?"
_WAYS_BACK: Final = "SELECT head, envelope_from FROM delivery WHERE number = ?"
_PLACE: Final = "SELECT state, created_at FROM delivery WHERE number = ?"
_HISTORY: Final = f"SELECT {rows.HISTORY} FROM history WHERE delivery = ? ORDER BY number"

_WINDOW: Final = "number < :before AND number >= :floor ORDER BY number DESC LIMIT :limit"
_ALL: Final = f"SELECT number FROM delivery WHERE {_WINDOW}"
_BY_STATE: Final = f"""
    SELECT number FROM delivery WHERE mailbox_id = :mailbox_id AND state = :value AND {_WINDOW}"""
_BY_REASON: Final = f"""
    SELECT number FROM delivery WHERE mailbox_id = :mailbox_id AND reason_code = :value AND {_WINDOW}"""
_BY_DOMAIN: Final = f"""
    SELECT number FROM delivery WHERE mailbox_id = :mailbox_id AND domain = :value AND {_WINDOW}"""
_BY_HOLD: Final = f"""
    SELECT number FROM delivery INDEXED BY delivery_held
    WHERE mailbox_id = :mailbox_id AND state = 'held' AND hold_reason = :value AND {_WINDOW}"""
_HOLDS: Final = """
    SELECT mailbox_id, hold_reason, count(*) FROM delivery INDEXED BY delivery_held
    WHERE state = 'held' GROUP BY mailbox_id, hold_reason"""

_RETRIES: Final = """
    SELECT lane, reason_code, count(*), min(due_at) FROM (
        SELECT lane, reason_code, due_at FROM delivery INDEXED BY delivery_state
        WHERE mailbox_id = ? AND state = 'retry_scheduled' ORDER BY number LIMIT 1000)
    GROUP BY lane, reason_code ORDER BY 3 DESC, 1, 2"""

_DEAD: Final = """
    SELECT number FROM delivery
    WHERE state IN ('failed', 'uncertain') AND settled_at >= ? AND (settled_at, number) < (?, ?)
    ORDER BY settled_at DESC, number DESC LIMIT ?"""
_DIED_AT: Final = """
    SELECT at FROM history WHERE delivery = ? AND after IN ('failed', 'uncertain') ORDER BY number DESC LIMIT 1"""

# The cursor is the octets of an id: one of which something is damaged would come again and again as a text.
_NEXT_DUE_MAILBOX: Final = """
    SELECT mailbox_id, CAST(mailbox_id AS BLOB) FROM delivery INDEXED BY delivery_due
    WHERE state IN ('pending', 'retry_scheduled') AND mailbox_id > CAST(? AS TEXT)
    ORDER BY mailbox_id LIMIT 1"""
_OLDEST_DUE: Final = """
    SELECT due_at FROM delivery INDEXED BY delivery_due
    WHERE state IN ('pending', 'retry_scheduled') AND mailbox_id = ? AND lane = ? AND due_at <= ?
    ORDER BY due_at LIMIT 1"""
# In the order of the index, so that a million rows are counted without being sorted.
_COUNT: Final = """
    SELECT mailbox_id, state, sum(lane = 0), sum(lane = 1), sum(lane = 2) FROM delivery INDEXED BY delivery_state
    GROUP BY mailbox_id, state"""
# Numbers rise with time but for who waited for its files (60 s at most) between being given one and its commit.
_LATE: Final = 2 * MINUTE
_LAST: Final = "SELECT coalesce(max(number), 0) FROM delivery"
_FROM: Final = "SELECT created_at FROM delivery WHERE number >= ? ORDER BY number LIMIT 1"
# Counted by us, row by row: SQLite would sort all of them for it, in memory (64 MB for a million).
_ACCEPTED: Final = """
    SELECT mailbox_id, created_at FROM delivery WHERE number >= ? AND created_at >= ?"""


def find_delivery(conn: sqlite3.Connection, number: int) -> DeliveryRecord | None:
    """A delivery with its history."""
    row = conn.execute(_ONE, (number,)).fetchone()
    if row is None:
        return None
    history = tuple(rows.history_of(past) for past in conn.execute(_HISTORY, (number,)))
    head, return_path = conn.execute(_WAYS_BACK, (number,)).fetchone()
    found = rows.delivery_of_job(row)
    return replace(found, history=history, reply_to=reply_to_of(head), return_path=return_path)


def find_deliveries(
    conn: sqlite3.Connection, by: DeliveryFilter, cursor: int | None, limit: int
) -> Page[DeliveryRecord]:
    """A page of the deliveries that the filter meets, newest first."""
    window = delivery_window(conn, by.since, cursor, limit)
    numbers = newest(conn, _every(conn, by), window)
    found = (_load(conn, number) for number in numbers)
    items = tuple(one for one in found if by.since is None or one.created_at >= by.since)
    return Page(items, next_cursor(numbers, window))


def find_candidates(
    conn: sqlite3.Connection,
    by: DeliveryFilter,
    states: tuple[DeliveryState, ...],
    cursor: int | None,
    limit: int,
) -> Page[int]:
    """Numbers of deliveries that the filter meets and that are in one of these states, unless it names its own state."""
    fitting = (by.state,) if by.state is not None else states
    window = delivery_window(conn, by.since, cursor, _LOOK)
    numbers = newest(conn, _walks(conn, by, fitting), window)
    found: list[int] = []
    for number in numbers:
        if len(found) == limit:
            return Page(tuple(found), found[-1])
        if _is_candidate(conn, number, by.since, fitting):
            found.append(number)
    return Page(tuple(found), numbers[-1] if len(numbers) == _LOOK else None)


def find_holds(conn: sqlite3.Connection) -> tuple[Hold, ...]:
    """How many deliveries are held, by mailbox and reason."""
    return tuple(
        Hold(mailbox_id, rows.hold_reason_of(reason) or HoldReason.UNREADABLE, count)
        for mailbox_id, reason, count in conn.execute(_HOLDS)
    )


def find_retries(conn: sqlite3.Connection, mailbox_id: str) -> tuple[Retries, ...]:
    """Why deliveries of a mailbox are tried again, by lane, of its oldest 1,000; the most frequent first."""
    return tuple(
        Retries(
            mailbox_id=mailbox_id,
            lane=lane_of(lane),
            reason_code=find_word(ReasonCode, code),
            deliveries=count,
            next_at=Instant(next_at),
        )
        for lane, code, count, next_at in conn.execute(_RETRIES, (mailbox_id,))
    )


def find_dead(
    conn: sqlite3.Connection, since: Instant | None, cursor: int | None, limit: int
) -> Page[DeliveryRecord]:
    """A page of what failed or is in doubt, the latest to end first.

    The cursor is the last delivery of the page before; when it ended is in its history, even if it was redriven since.
    """
    before = (END, END)
    if cursor is not None:
        died = conn.execute(_DIED_AT, (cursor,)).fetchone()
        if died is None:
            return Page((), None)
        before = (died[0], cursor)
    numbers = [number for (number,) in conn.execute(_DEAD, (since or 0, *before, limit))]
    items = tuple(_load(conn, number) for number in numbers)
    return Page(items, numbers[-1] if len(numbers) == limit else None)


def oldest_due(conn: sqlite3.Connection, now: Instant) -> dict[tuple[str, Lane], Instant]:
    """The earliest due_at <= now of each mailbox and lane that has one."""
    found: dict[tuple[str, Lane], Instant] = {}
    for mailbox_id in _due_mailboxes(conn):
        for lane in Lane:
            row = conn.execute(_OLDEST_DUE, (mailbox_id, lane, now)).fetchone()
            if row is not None:
                found[mailbox_id, lane] = row[0]
    return found


def count_by_state(conn: sqlite3.Connection) -> dict[tuple[str, Lane, DeliveryState], int]:
    """Deliveries by mailbox, lane and state: a scan of one index, for start-up only; what is damaged is nobody's."""
    with readable(conn):
        rows = conn.execute(_COUNT).fetchall()
    return {
        (mailbox_id, lane, DeliveryState(state)): count
        for mailbox_id, state, *counts in rows
        for lane, count in zip(Lane, counts, strict=True)
        if count and state in _STATES and not is_damaged(mailbox_id)
    }


def count_accepted(
    conn: sqlite3.Connection, since: Instant
) -> dict[str, tuple[tuple[Instant, int], ...]]:
    """Deliveries accepted since then by mailbox and minute, oldest first: reads no more rows than these, for start-up."""
    low, high = 0, conn.execute(_LAST).fetchone()[0] + 1
    while low < high:
        middle = (low + high) // 2
        found = conn.execute(_FROM, (middle,)).fetchone()
        if found is None or found[0] >= since - _LATE:
            high = middle
        else:
            low = middle + 1
    counts: dict[str, dict[int, tuple[Instant, int]]] = {}
    with readable(conn):
        for mailbox_id, at in conn.execute(_ACCEPTED, (low, since)):
            minutes = counts.setdefault(mailbox_id, {})
            latest, count = minutes.get(at // MINUTE, (at, 0))
            minutes[at // MINUTE] = (Instant(max(latest, at)), count + 1)
    return {mailbox_id: tuple(sorted(found.values())) for mailbox_id, found in counts.items()}


def _every(conn: sqlite3.Connection, by: DeliveryFilter) -> list[Walk]:
    if by == DeliveryFilter(since=by.since):
        return [Walk(_ALL, {})]
    return _walks(conn, by, tuple(DeliveryState) if by.state is None else (by.state,))


def _walks(
    conn: sqlite3.Connection, by: DeliveryFilter, states: tuple[DeliveryState, ...]
) -> list[Walk]:
    values: tuple[str, ...]
    match by:
        case DeliveryFilter(reason_code=str() as code):
            sql, values = _BY_REASON, (code,)
        case DeliveryFilter(domain=str() as domain):
            sql, values = _BY_DOMAIN, (domain,)
        case DeliveryFilter(hold_reason=HoldReason() as reason):
            sql, values = _BY_HOLD, (reason,)
        case _:
            sql, values = _BY_STATE, states
    return [
        Walk(sql, {"mailbox_id": mailbox_id, "value": value})
        for mailbox_id in each_mailbox(conn, by.mailbox_id)
        for value in values
    ]


def _is_candidate(
    conn: sqlite3.Connection, number: int, since: Instant | None, states: tuple[DeliveryState, ...]
) -> bool:
    state, created_at = conn.execute(_PLACE, (number,)).fetchone()
    return state in states and (since is None or created_at >= since)


def _load(conn: sqlite3.Connection, number: int) -> DeliveryRecord:
    return rows.delivery_of_job(conn.execute(_ONE, (number,)).fetchone())


def _due_mailboxes(conn: sqlite3.Connection) -> Iterator[str]:
    last = b""
    while row := conn.execute(_NEXT_DUE_MAILBOX, (last,)).fetchone():
        mailbox_id, last = row
        yield mailbox_id
