"""Granting and extending: which threads wait longest, and what their leases show.

At most one live lease of each consumer on a thread: a unique index says so whatever this code does. The fence of
(consumer, thread) rises with every grant and outlives leases, restarts and consumers.
"""

import heapq
import sqlite3
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from postroom.core.instant import SECOND, Instant
from postroom.core.job import LeaseClaim
from postroom.ports.accepting import LeaseLost
from postroom.ports.changes import LeaseTimed
from postroom.ports.leasing import Lease, LeaseWish, TooManyConsumers
from postroom.store.sqlite.lease_consumers import ensure
from postroom.store.sqlite.lease_end import MAX_LEASE, end_due, find_lease, find_live
from postroom.store.sqlite.lease_rows import (
    MAX_EVENTS,
    choose,
    count_received,
    lease_of,
    read_seqs,
    seqs_text,
)
from postroom.store.sqlite.unit import UnitResult


_ANSWER_BYTES: Final = (
    4 << 20
)  # of one call: beyond it the loop would be busy with the answer for too long

_ATTEMPT: Final = """
    SELECT number, consumer, thread, fence, shown, expires_at FROM lease
    WHERE consumer = ? AND attempt_id = ? AND state = 'live' AND expires_at > ? ORDER BY number"""
# In the order of the log, so the first row of a thread is the oldest that waits in it.
_WAITING: Final = """
    SELECT p.seq, p.thread FROM pending AS p INDEXED BY pending_alive
    WHERE p.consumer = ? AND p.mailbox_id = ? AND p.dead_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM lease AS l
                        WHERE l.consumer = p.consumer AND l.thread = p.thread AND l.state = 'live')
        AND NOT EXISTS (SELECT 1 FROM thread_delay AS d WHERE d.consumer = p.consumer AND d.thread = p.thread)
        AND EXISTS (SELECT 1 FROM event AS e WHERE e.seq = p.seq)
    ORDER BY p.seq"""
_FENCE: Final = """
    INSERT INTO fence (consumer, thread, fence)
    VALUES (?, ?, 1 + coalesce((SELECT seq >> 32 << 32 FROM sqlite_sequence WHERE name = 'lease'), 0))
    ON CONFLICT (consumer, thread) DO UPDATE SET fence = fence + 1 RETURNING fence"""
_GRANT: Final = """
    INSERT INTO lease (consumer, thread, fence, attempt_id, max_events, shown, state, taken_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, 'live', ?, ?) RETURNING number"""
_EXTEND: Final = "UPDATE lease SET expires_at = ?, shown = ? WHERE number = ?"


@dataclass(frozen=True, slots=True)
class Acquiring:
    """A unit that leases the threads that wait longest."""

    wish: LeaseWish

    def __call__(
        self, conn: sqlite3.Connection
    ) -> UnitResult[tuple[Lease, ...] | TooManyConsumers]:
        """The leases; those of the same attempt while they live."""
        wish = self.wish
        changes = end_due(conn, wish.at)
        if not ensure(conn, wish.consumer, wish.types, wish.at):
            return UnitResult(TooManyConsumers(), tuple(changes))
        if wish.attempt_id is not None:
            held = conn.execute(_ATTEMPT, (wish.consumer, wish.attempt_id, wish.at)).fetchall()
            if held:
                return UnitResult(tuple(lease_of(conn, row) for row in held), tuple(changes))
        leases: list[Lease] = []
        size = 0
        for thread in _find_threads(conn, wish):
            if size >= _ANSWER_BYTES:
                break
            lease, more = _grant(conn, wish, thread)
            leases.append(lease)
            size += more
        changes += (LeaseTimed(one.expires_at) for one in leases)
        return UnitResult(tuple(leases), tuple(changes))


@dataclass(frozen=True, slots=True)
class Extending:
    """A unit that lets a lease live on, and shows what came in."""

    claim: LeaseClaim
    lease_s: float
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[Lease | LeaseLost]:
        """The lease as it stands then."""
        changes = end_due(conn, self.at, self.claim)
        row = find_live(conn, self.claim)
        if row is None:
            return UnitResult(LeaseLost(), tuple(changes))
        shown = read_seqs(row["shown"])
        chosen = choose(conn, row["consumer"], row["thread"], row["max_events"], shown)
        count_received(conn, row["consumer"], set(chosen.seqs) - set(shown))
        expires_at = _expiry(self.at, self.lease_s)
        conn.execute(_EXTEND, (expires_at, seqs_text(chosen.seqs), row["number"]))
        changes.append(LeaseTimed(expires_at))
        return UnitResult(_read(conn, self.claim), tuple(changes))


def _find_threads(conn: sqlite3.Connection, wish: LeaseWish) -> list[int]:
    """The first threads of all mailboxes together, each once."""
    streams = [
        conn.execute(_WAITING, (wish.consumer, mailbox_id))
        for mailbox_id in dict.fromkeys(wish.mailbox_ids)
    ]
    found: dict[int, None] = {}
    for row in heapq.merge(*streams, key=itemgetter("seq")):
        found[row["thread"]] = None
        if len(found) >= wish.max_threads:
            break
    for stream in streams:
        stream.close()
    return list(found)


def _grant(conn: sqlite3.Connection, wish: LeaseWish, thread: int) -> tuple[Lease, int]:
    most = min(wish.max_events, MAX_EVENTS)
    chosen = choose(conn, wish.consumer, thread, most)
    (fence,) = conn.execute(_FENCE, (wish.consumer, thread)).fetchone()
    count_received(conn, wish.consumer, chosen.seqs)
    row = (
        *(wish.consumer, thread, fence, wish.attempt_id, 1 if chosen.is_alone else most),
        *(seqs_text(chosen.seqs), wish.at, _expiry(wish.at, wish.lease_s)),
    )
    (number,) = conn.execute(_GRANT, row).fetchone()
    return _read(conn, LeaseClaim(number, fence)), chosen.size_bytes


def _read(conn: sqlite3.Connection, claim: LeaseClaim) -> Lease:
    row = find_lease(conn, claim)
    assert row is not None  # noqa: S101 - written in this transaction
    return lease_of(conn, row)


def _expiry(at: Instant, lease_s: float) -> Instant:
    return Instant(at + min(round(lease_s * SECOND), MAX_LEASE))
