"""What age takes of conversations: tombstones of deliveries, and threads that nothing names any more.

Both are kept as long as a token that names them may be valid (CONTRACT §8 `tokens.expiry_s`); a thread that anything
still names stays. Numbers are never given again, so a late answer finds nothing rather than somebody else's.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.instant import Instant
from postroom.store.sqlite.unit import UnitResult


DROP_TOMBSTONES: Final = """
    DELETE FROM delivery_tombstone WHERE number IN
        (SELECT number FROM delivery_tombstone WHERE created_at < ? ORDER BY created_at LIMIT ?)"""

_NEXT: Final = "SELECT number, created_at FROM thread WHERE number > ? ORDER BY number LIMIT ?"
# `hold` has few rows; everything else is asked of an index. What is pending or leased has an event.
_IS_NAMED: Final = """
    SELECT EXISTS (SELECT 1 FROM delivery WHERE thread = :number)
        OR EXISTS (SELECT 1 FROM delivery_tombstone WHERE thread = :number)
        OR EXISTS (SELECT 1 FROM message_ref WHERE thread = :number)
        OR EXISTS (SELECT 1 FROM event WHERE thread = :number)
        OR EXISTS (SELECT 1 FROM received_thread WHERE thread = :number)
        OR EXISTS (SELECT 1 FROM velocity WHERE thread = :number)
        OR EXISTS (SELECT 1 FROM hold WHERE thread = :number)"""
_CONSUMERS: Final = "SELECT name FROM consumer"
_DROP_FENCE: Final = "DELETE FROM fence WHERE consumer = ? AND thread = ?"
_DROP_DELAY: Final = "DELETE FROM thread_delay WHERE consumer = ? AND thread = ?"
_DROP_THREAD: Final = "DELETE FROM thread WHERE number = ?"


@dataclass(frozen=True, slots=True)
class OldThreads:
    """Threads that nothing names, and where to look on; `after` 0 = that was the end of all that are old."""

    numbers: tuple[int, ...]
    after: int


def find_forgotten(conn: sqlite3.Connection, before: Instant, after: int, limit: int) -> OldThreads:
    """Among the next `limit` threads those that began before an instant and that nothing names."""
    found = conn.execute(_NEXT, (after, limit)).fetchall()
    old = [number for number, created_at in found if created_at < before]
    # Numbers rise with time: behind a bite of young threads all are. One alone may have its date from a clock that was wrong.
    is_over = not old or len(found) < limit
    forgotten = tuple(number for number in old if not _is_named(conn, number))
    return OldThreads(forgotten, 0 if is_over else found[-1]["number"])


@dataclass(frozen=True, slots=True)
class DroppingThreads:
    """A unit that removes these threads, but for those that something names by now."""

    numbers: tuple[int, ...]

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[int]:
        """How many."""
        gone = [number for number in self.numbers if not _is_named(conn, number)]
        for (name,) in conn.execute(_CONSUMERS).fetchall():
            of_consumer = [(name, number) for number in gone]
            conn.executemany(_DROP_FENCE, of_consumer)
            conn.executemany(_DROP_DELAY, of_consumer)
        conn.executemany(_DROP_THREAD, [(number,) for number in gone])
        return UnitResult(len(gone))


def _is_named(conn: sqlite3.Connection, number: int) -> bool:
    return bool(conn.execute(_IS_NAMED, {"number": number}).fetchone()[0])
