"""How a lease ends: it expires, is given back, or is forgotten with its consumer; and what that costs its events.

What is due is ended before anything else in every unit that judges leases, so a lease that is past its time is never
live for anybody. A clock that went back leaves no lease longer than the longest there may be, from now (HAZARDS Q11).

Where very many are due at once, a unit ends its own and a bite of the others, and the sweep comes again at once. Until it
has come to them their threads are nobody's, and wait.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.instant import SECOND, Instant
from postroom.core.job import LeaseClaim
from postroom.ports.accepting import LeaseLost
from postroom.ports.changes import Change, EventsDied, LeaseExpired, LeaseTimed, ThreadWaits
from postroom.ports.leasing import Release, Released
from postroom.store.sqlite.unit import UnitResult


MAX_LEASE: Final = 3600 * SECOND  # CONTRACT §4
MAX_DELAY: Final = 24 * 3600 * SECOND  # whom a day does not help needs a person
MAX_RECEIVES: Final = 10  # CONTRACT §4

BITE: Final = 100  # leases that one unit ends beside its own: the writer takes 5 ms for them

_CLAMP_LEASES: Final = """
    UPDATE lease SET expires_at = :latest WHERE number IN
        (SELECT number FROM lease WHERE state = 'live' AND expires_at > :latest LIMIT :limit)"""
_CLAMP_DELAYS: Final = """
    UPDATE thread_delay SET not_before = :latest WHERE (consumer, thread) IN
        (SELECT consumer, thread FROM thread_delay WHERE not_before > :latest LIMIT :limit)"""
_DUE: Final = """
    SELECT number, consumer, thread, shown FROM lease
    WHERE state = 'live' AND expires_at <= ? ORDER BY expires_at LIMIT ?"""
_OWN: Final = """
    SELECT number, consumer, thread, shown FROM lease WHERE number = ? AND state = 'live' AND expires_at <= ?"""
_MAILBOX: Final = "SELECT mailbox_id FROM thread WHERE number = ?"
_OVER: Final = """
    DELETE FROM thread_delay WHERE (consumer, thread) IN
        (SELECT consumer, thread FROM thread_delay WHERE not_before <= ? ORDER BY not_before LIMIT ?)
    RETURNING consumer, thread"""
_BURN: Final = """
    UPDATE pending SET failures = failures + 1, dead_at = CASE WHEN failures + 1 >= ? THEN ? END
    WHERE consumer = ? AND seq IN (SELECT value FROM json_each(?)) AND dead_at IS NULL
    RETURNING seq, dead_at"""
_END: Final = "UPDATE lease SET state = ?, ended_at = ?, reason = ?, result = ? WHERE number = ?"
_FIND: Final = """
    SELECT number, consumer, thread, fence, attempt_id, max_events, shown, state, expires_at, result
    FROM lease WHERE number = ?"""
_DELAY: Final = """
    INSERT INTO thread_delay (consumer, thread, not_before) VALUES (?, ?, ?)
    ON CONFLICT (consumer, thread) DO UPDATE SET not_before = excluded.not_before"""
_NEXT: Final = """
    SELECT min(at) FROM (SELECT min(expires_at) AS at FROM lease WHERE state = 'live'
                         UNION ALL SELECT min(not_before) FROM thread_delay)"""
_IS_TOO_LONG: Final = """
    SELECT EXISTS (SELECT 1 FROM lease WHERE state = 'live' AND expires_at > ?)
        OR EXISTS (SELECT 1 FROM thread_delay WHERE not_before > ?)"""


def end_due(conn: sqlite3.Connection, at: Instant, own: LeaseClaim | None = None) -> list[Change]:
    """End what is past its time: the lease that is to be judged, and a bite of all others; the threads that wait again."""
    for sql, longest in ((_CLAMP_LEASES, MAX_LEASE), (_CLAMP_DELAYS, MAX_DELAY)):
        conn.execute(sql, {"latest": at + longest, "limit": BITE})
    changes: list[Change] = []
    if own is not None:
        changes += _expire(conn, conn.execute(_OWN, (own.number, at)).fetchall(), at)
    changes += _expire(conn, conn.execute(_DUE, (at, BITE)).fetchall(), at)
    changes += (ThreadWaits(*row) for row in conn.execute(_OVER, (at, BITE)).fetchall())
    return changes


def find_live(conn: sqlite3.Connection, claim: LeaseClaim) -> sqlite3.Row | None:
    """The row of a lease that its holder still has."""
    row = find_lease(conn, claim)
    return row if row is not None and row["state"] == "live" else None


def find_lease(conn: sqlite3.Connection, claim: LeaseClaim) -> sqlite3.Row | None:
    """The row of a lease, however it ended; None where the fence is not its own."""
    row: sqlite3.Row | None = conn.execute(_FIND, (claim.number,)).fetchone()
    return row if row is not None and row["fence"] == claim.fence else None


def end(
    conn: sqlite3.Connection,
    number: int,
    state: str,
    at: Instant,
    *,
    reason: str | None = None,
    result: str | None = None,
) -> None:
    """Say on the lease's row how it ended."""
    conn.execute(_END, (state, at, reason, result, number))


@dataclass(frozen=True, slots=True)
class Releasing:
    """A unit that gives a lease back."""

    claim: LeaseClaim
    back: Release
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[Released | LeaseLost]:
        """Whether it was its holder's."""
        changes = end_due(conn, self.at, self.claim)
        row = find_lease(conn, self.claim)
        if row is None or row["state"] not in {"live", "released"}:
            return UnitResult(LeaseLost(), tuple(changes))
        if row["state"] == "released":
            return UnitResult(Released(is_repeat=True), tuple(changes))
        if self.back.is_failed:
            changes += _burn(conn, row, self.at)
        end(conn, row["number"], "released", self.at, reason=self.back.reason)
        delay = min(round(self.back.delay_s * SECOND), MAX_DELAY)
        if delay:
            until = Instant(self.at + delay)
            conn.execute(_DELAY, (row["consumer"], row["thread"], until))
            changes.append(LeaseTimed(until))
        else:
            changes.append(ThreadWaits(row["consumer"], row["thread"]))
        return UnitResult(Released(is_repeat=False), tuple(changes))


@dataclass(frozen=True, slots=True)
class Sweeping:
    """A unit that ends what is due."""

    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[Instant | None]:
        """When the next lease or delay is due; now, or before, where there was more than a bite."""
        changes = end_due(conn, self.at)
        latest = (self.at + MAX_LEASE, self.at + MAX_DELAY)
        if conn.execute(_IS_TOO_LONG, latest).fetchone()[0]:
            return UnitResult(self.at, tuple(changes))
        (due,) = conn.execute(_NEXT).fetchone()
        return UnitResult(None if due is None else Instant(due), tuple(changes))


def _expire(conn: sqlite3.Connection, rows: list[sqlite3.Row], at: Instant) -> list[Change]:
    changes: list[Change] = []
    for row in rows:
        place = (row["consumer"], _mailbox_of(conn, row), row["thread"])
        changes.append(LeaseExpired(*place, row["number"]))
        changes += _burn(conn, row, at)
        end(conn, row["number"], "expired", at)
        changes.append(ThreadWaits(row["consumer"], row["thread"]))
    return changes


def _burn(conn: sqlite3.Connection, lease: sqlite3.Row, at: Instant) -> list[Change]:
    """Count a failure for every event that the lease showed; those that reach the limit are dead."""
    burnt = conn.execute(_BURN, (MAX_RECEIVES, at, lease["consumer"], lease["shown"])).fetchall()
    dead = tuple(sorted(row["seq"] for row in burnt if row["dead_at"] is not None))
    if not dead:
        return []
    place = (lease["consumer"], _mailbox_of(conn, lease), lease["thread"])
    return [EventsDied(*place, dead)]


def _mailbox_of(conn: sqlite3.Connection, lease: sqlite3.Row) -> str:
    row = conn.execute(_MAILBOX, (lease["thread"],)).fetchone()
    return "" if row is None else str(row["mailbox_id"])
