"""Lists that go on from a number, newest first, whatever the filter: each page is a walk along indexes.

Every index that a list uses begins with what the filter names and then the mailbox; a filter without a mailbox is a
merge of one walk for each mailbox (there are few, and rows are read only as far as the page goes). So no page scans
and none sorts, at any depth. `since` becomes a lowest number: numbers rise with time, but for jobs that were slow
to accept, which is why the bound lies a little earlier and the exact instant is looked at in the row.
"""

import heapq
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import islice
from typing import Final

from postroom.core.instant import MINUTE, Instant


END: Final = (1 << 63) - 1

# Accepting may take 60 s for attachments after its numbers were reserved (CONTRACT §3); as much again for the queue.
_SLOWEST: Final = 2 * MINUTE

# The cursor is the octets of an id: one of which something is damaged would come again and again as a text.
_NEXT_MAILBOX: Final = """
    SELECT mailbox_id, CAST(mailbox_id AS BLOB) FROM job
    WHERE mailbox_id > CAST(? AS TEXT) ORDER BY mailbox_id LIMIT 1"""
_NEXT_JOB: Final = "SELECT number, created_at FROM job WHERE number >= ? ORDER BY number LIMIT 1"
_LAST_JOB: Final = "SELECT number FROM job ORDER BY number DESC LIMIT 1"
_NEXT_DELIVERY: Final = (
    "SELECT number, created_at FROM delivery WHERE number >= ? ORDER BY number LIMIT 1"
)
_LAST_DELIVERY: Final = "SELECT number FROM delivery ORDER BY number DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class Window:
    """Numbers from `floor` on and below `before`, at most `limit` of them."""

    before: int
    floor: int
    limit: int


@dataclass(frozen=True, slots=True)
class Walk:
    """A statement that gives `number`s from the highest down, and its values beside those of the window."""

    sql: str
    values: Mapping[str, object]


def newest(conn: sqlite3.Connection, walks: list[Walk], window: Window) -> list[int]:
    """The highest numbers in the window that any of the walks gives."""
    bounds = {"before": window.before, "floor": window.floor, "limit": window.limit}
    with ExitStack() as stack:
        cursors = [
            stack.enter_context(closing(conn.execute(walk.sql, {**walk.values, **bounds})))
            for walk in walks
        ]
        merged = heapq.merge(*(_numbers(cursor) for cursor in cursors), reverse=True)
        return list(islice(merged, window.limit))


def each_mailbox(conn: sqlite3.Connection, mailbox_id: str | None) -> list[str]:
    """The mailbox of the filter, or all that ever had a job."""
    if mailbox_id is not None:
        return [mailbox_id]
    found: list[str] = []
    last = b""
    while row := conn.execute(_NEXT_MAILBOX, (last,)).fetchone():
        mailbox, last = row
        found.append(mailbox)
    return found


def job_window(
    conn: sqlite3.Connection, since: Instant | None, cursor: int | None, limit: int
) -> Window:
    """The part of the jobs that a page looks at."""
    floor = _floor(conn, _NEXT_JOB, _LAST_JOB, since)
    return Window(END if cursor is None else cursor, floor, limit)


def delivery_window(
    conn: sqlite3.Connection, since: Instant | None, cursor: int | None, limit: int
) -> Window:
    """The part of the deliveries that a page looks at."""
    floor = _floor(conn, _NEXT_DELIVERY, _LAST_DELIVERY, since)
    return Window(END if cursor is None else cursor, floor, limit)


def next_cursor(numbers: list[int], window: Window) -> int | None:
    """Where the next page begins; None after a page that was not full."""
    return numbers[-1] if len(numbers) == window.limit else None


def _numbers(cursor: sqlite3.Cursor) -> Iterator[int]:
    for row in cursor:
        yield row[0]


def _floor(conn: sqlite3.Connection, sql_next: str, sql_last: str, since: Instant | None) -> int:
    last = conn.execute(sql_last).fetchone()
    if since is None or last is None:
        return 0
    low, high = 0, last[0] + 1
    while low < high:
        middle = (low + high) // 2
        row = conn.execute(sql_next, (middle,)).fetchone()
        if row is not None and row[1] < since - _SLOWEST:
            low = row[0] + 1
        else:
            high = middle
    return low
