"""What age takes of the way in: events with what is pending of them, raw messages with their attachments, and memory.

Memory serves for a time only: copies 7 days, weak signs 30 days, ended leases 7 days, counts a day, Message-IDs as long as tokens.
"""

import sqlite3
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from postroom.core.instant import Instant
from postroom.core.matching import WEAK_FOR
from postroom.core.velocity import DAY
from postroom.store.sqlite.inbox_copies import DEDUPE_FOR
from postroom.store.sqlite.staged import drop_received
from postroom.store.sqlite.unit import UnitResult


_LEASES_KEPT: Final = timedelta(days=7)  # CONTRACT §4: complete and release repeat for so long

_OLD_EVENTS: Final = "SELECT seq, type FROM event WHERE created_at < ? ORDER BY created_at LIMIT ?"
_CONSUMERS: Final = "SELECT name FROM consumer"
_DROP_PENDING: Final = "DELETE FROM pending WHERE consumer = ? AND seq = ?"
_DROP_UNCLAIMED: Final = "DELETE FROM unclaimed WHERE type = ? AND seq = ?"
_DROP_EVENT: Final = "DELETE FROM event WHERE seq = ?"

_OLD_RECEIVED: Final = """
    SELECT number, raw_sha256 FROM received WHERE published_at IS NOT NULL AND published_at < ?
    ORDER BY published_at LIMIT ?"""
_DROP_RECEIVED: Final = "DELETE FROM received WHERE number = ?"

DROP_REFS: Final = """
    DELETE FROM message_ref WHERE (mailbox_id, id_hash) IN
        (SELECT mailbox_id, id_hash FROM message_ref WHERE created_at < ? ORDER BY created_at LIMIT ?)"""
_DROP_COPIES: Final = """
    DELETE FROM dedupe WHERE (mailbox_id, digest, thread) IN
        (SELECT mailbox_id, digest, thread FROM dedupe WHERE created_at < ? ORDER BY created_at LIMIT ?)"""
_DROP_PEERS: Final = """
    DELETE FROM thread_peer WHERE (mailbox_id, peer_key, clue) IN
        (SELECT mailbox_id, peer_key, clue FROM thread_peer WHERE last_at < ? ORDER BY last_at LIMIT ?)"""
_DROP_LEASES: Final = """
    DELETE FROM lease WHERE number IN
        (SELECT number FROM lease WHERE ended_at IS NOT NULL AND ended_at < ? ORDER BY ended_at LIMIT ?)"""

_DROP_VELOCITY: Final = """
    DELETE FROM velocity WHERE (mailbox_id, what, turn) IN
        (SELECT mailbox_id, what, turn FROM velocity WHERE at < ? ORDER BY at LIMIT ?)"""

MEMORY: Final = (
    (_DROP_COPIES, DEDUPE_FOR),
    (_DROP_PEERS, WEAK_FOR),
    (_DROP_LEASES, _LEASES_KEPT),
    (_DROP_VELOCITY, DAY),
)


@dataclass(frozen=True, slots=True)
class DroppingEvents:
    """A unit that removes events written before an instant, until it has written `limit` rows; nobody can lease them any more."""

    before: Instant
    limit: int

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[int]:
        """How many."""
        consumers = [name for (name,) in conn.execute(_CONSUMERS)]
        taken = written = 0
        for row in conn.execute(_OLD_EVENTS, (self.before, self.limit)).fetchall():
            if written >= self.limit:
                break
            of_consumers = [(name, row["seq"]) for name in consumers]
            pending = conn.executemany(_DROP_PENDING, of_consumers).rowcount if consumers else 0
            conn.execute(_DROP_UNCLAIMED, (row["type"], row["seq"]))
            conn.execute(_DROP_EVENT, (row["seq"],))
            written += 2 + 2 * pending  # what is pending is also counted
            taken += 1
        return UnitResult(taken)


@dataclass(frozen=True, slots=True)
class DroppingReceived:
    """A unit that removes what was received and published before an instant, with the names of its files."""

    before: Instant
    limit: int

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[int]:
        """How many."""
        taken = written = 0
        for row in conn.execute(_OLD_RECEIVED, (self.before, self.limit)).fetchall():
            if written >= self.limit:
                break
            written += 1 + drop_received(conn, row["number"], row["raw_sha256"])
            conn.execute(_DROP_RECEIVED, (row["number"],))
            taken += 1
        return UnitResult(taken)
