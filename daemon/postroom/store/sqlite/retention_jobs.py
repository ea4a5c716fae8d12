"""What age takes of jobs: finding those that are old enough, and the unit that takes them apart row by row."""

import hashlib
import sqlite3
from collections import Counter
from dataclasses import dataclass
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.core.status import JobStatus
from postroom.ports.changes import StateMoved
from postroom.store.sqlite.bodies import spool_names
from postroom.store.sqlite.spoiled import lane_of, state_of
from postroom.store.sqlite.staged import drop_name
from postroom.store.sqlite.unit import UnitResult


_OLD: Final = """
    SELECT number, settled_at FROM job
    WHERE settled_status = ? AND settled_at < ? AND (settled_at, number) > (?, ?)
    ORDER BY settled_at, number LIMIT ?"""
_CLOSED: Final = "SELECT number FROM job WHERE expired_at IS NOT NULL ORDER BY number LIMIT ?"

_CLOSE: Final = """
    UPDATE job SET expired_at = ?
    WHERE number = ? AND settled_status = ? AND expired_at IS NULL AND NOT EXISTS (
        SELECT 1 FROM delivery
        WHERE job = job.number AND state IN ('pending', 'held', 'sending', 'retry_scheduled', 'uncertain'))"""
_DROP_MINTED: Final = "DELETE FROM idempotency WHERE job = ? AND minted"
_FINAL: Final = """
    UPDATE idempotency SET (final_status, job_created_at) = (SELECT settled_status, created_at FROM job WHERE number = ?)
    WHERE job = ? AND recipient_hash = x''"""

_DELIVERIES: Final = """
    SELECT number, job, mailbox_id, lane, thread, recipient_key, message_id, state, created_at FROM delivery WHERE job = ? LIMIT ?"""
_BURY: Final = """
    INSERT INTO delivery_tombstone (number, job, mailbox_id, thread, recipient_hash, message_id, state, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_DROP_HISTORY: Final = "DELETE FROM history WHERE delivery = ?"
_DROP_DELIVERY: Final = "DELETE FROM delivery WHERE number = ?"

_BODY: Final = "SELECT b.number, b.segments FROM job AS j JOIN body AS b ON b.number = j.body WHERE j.number = ?"
_DROP_JOB: Final = "DELETE FROM job WHERE number = ?"
_IS_USED: Final = "SELECT EXISTS (SELECT 1 FROM job WHERE body = ?)"
_DROP_BODY: Final = "DELETE FROM body WHERE number = ?"


@dataclass(frozen=True, slots=True)
class OldJobs:
    """Some jobs of one status that are old enough, and where to go on; `after` None = those were all."""

    numbers: tuple[int, ...]
    after: tuple[int, int] | None


def find_old(
    conn: sqlite3.Connection,
    status: JobStatus,
    before: Instant,
    after: tuple[int, int],
    limit: int,
) -> OldJobs:
    """Jobs with this status that settled earlier than `before`, the oldest first."""
    found = conn.execute(_OLD, (status, before, *after, limit)).fetchall()
    last = (found[-1]["settled_at"], found[-1]["number"]) if len(found) == limit else None
    return OldJobs(tuple(row["number"] for row in found), last)


def find_closed(conn: sqlite3.Connection, limit: int) -> tuple[int, ...]:
    """Jobs that an earlier run closed and did not come to the end of."""
    return tuple(number for (number,) in conn.execute(_CLOSED, (limit,)))


@dataclass(frozen=True, slots=True)
class Closing:
    """A unit that closes these jobs, if they still have this status and nothing in them may change any more."""

    numbers: tuple[int, ...]
    status: JobStatus
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[tuple[int, ...]]:
        """Those that it closed."""
        closed = tuple(number for number in self.numbers if self._close(conn, number))
        return UnitResult(closed)

    def _close(self, conn: sqlite3.Connection, number: int) -> bool:
        if not conn.execute(_CLOSE, (self.at, number, self.status)).rowcount:
            return False
        conn.execute(_DROP_MINTED, (number,))
        conn.execute(_FINAL, (number, number))
        return True


@dataclass(frozen=True, slots=True)
class Removing:
    """A unit that takes closed jobs apart until it has written `budget` rows."""

    numbers: tuple[int, ...]
    budget: int

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[tuple[int, ...]]:
        """The jobs that are not gone yet."""
        left, moved = self.budget, Counter[tuple[str, Lane, DeliveryState]]()
        for index, number in enumerate(self.numbers):
            if left > 0:
                left -= _remove_deliveries(conn, number, left, moved)
            if left <= 0:
                return UnitResult(self.numbers[index:], _changes(moved))
            left -= _remove_job(conn, number)
        return UnitResult((), _changes(moved))


def _remove_deliveries(
    conn: sqlite3.Connection,
    job: int,
    budget: int,
    moved: Counter[tuple[str, Lane, DeliveryState]],
) -> int:
    written = 0
    for row in conn.execute(_DELIVERIES, (job, budget)).fetchall():
        if written >= budget:
            break
        written += 2 + _bury(conn, row)
        moved[row["mailbox_id"], lane_of(row["lane"]), state_of(row["state"])] += 1
    return written


def _bury(conn: sqlite3.Connection, row: sqlite3.Row) -> int:
    number = row["number"]
    recipient_hash = hashlib.sha256(row["recipient_key"].encode()).digest()
    kept = (number, row["job"], row["mailbox_id"], row["thread"], recipient_hash)
    conn.execute(_BURY, (*kept, row["message_id"], row["state"], row["created_at"]))
    past = conn.execute(_DROP_HISTORY, (number,)).rowcount
    conn.execute(_DROP_DELIVERY, (number,))
    return past


def _remove_job(conn: sqlite3.Connection, number: int) -> int:
    body = conn.execute(_BODY, (number,)).fetchone()
    conn.execute(_DROP_JOB, (number,))
    if body is None or conn.execute(_IS_USED, (body["number"],)).fetchone()[0]:
        return 1
    names = spool_names(body["segments"])
    for sha256 in names:
        drop_name(conn, sha256)
    conn.execute(_DROP_BODY, (body["number"],))
    return 2 + len(names)


def _changes(moved: Counter[tuple[str, Lane, DeliveryState]]) -> tuple[StateMoved, ...]:
    return tuple(
        StateMoved(mailbox_id, lane, state, None, None, count)
        for (mailbox_id, lane, state), count in moved.items()
    )
