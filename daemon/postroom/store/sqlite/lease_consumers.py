"""Consumers: who they are, which types are theirs, what is dead for them.

A consumer is made on first use and begins with the oldest event there is. Its types only widen, for events after the
widening; whatever is published later is written into `pending` by who publishes it.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.eventtypes import DEFAULT_TYPES, EventType
from postroom.core.instant import Instant
from postroom.core.record import Page
from postroom.ports.changes import ThreadWaits
from postroom.ports.leasing import ConsumerRecord, DeadEvent, DeadFor, TooManyConsumers
from postroom.store.sqlite import rows
from postroom.store.sqlite.keyset import END
from postroom.store.sqlite.unit import UnitResult


MAX_CONSUMERS: Final = (
    100  # each costs a row of `pending` for every event, and labels of the metrics
)

_HOW_MANY: Final = "SELECT count(*) FROM consumer"
_HAS: Final = "SELECT 1 FROM consumer WHERE name = ?"
_MAKE: Final = "INSERT INTO consumer (name, created_at) VALUES (?, ?)"
_NEWEST: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'event'"
_ADD_TYPE: Final = """
    INSERT INTO consumer_type (consumer, type, from_seq, is_asked) VALUES (?, ?, ?, ?)
    ON CONFLICT (consumer, type) DO UPDATE SET is_asked = 1 WHERE excluded.is_asked AND NOT is_asked"""
_CLAIM: Final = "INSERT OR IGNORE INTO claimed_type (type) VALUES (?)"
_TAKE_OVER: Final = "DELETE FROM unclaimed WHERE type = ?"
_BACKLOG: Final = """
    INSERT INTO pending (consumer, seq, mailbox_id, thread)
    SELECT t.consumer, e.seq, e.mailbox_id, e.thread
    FROM consumer_type AS t JOIN event AS e ON e.type = t.type
    WHERE t.consumer = ? AND e.thread IS NOT NULL
        AND (t.is_asked OR NOT json_valid(e.data) OR coalesce(json_extract(e.data, '$.accepted'), 1))"""

_ALL: Final = """
    SELECT c.name, c.created_at,
           (SELECT coalesce(sum(events), 0) FROM waiting AS w WHERE w.consumer = c.name) AS pending,
           (SELECT count(*) FROM pending AS p WHERE p.consumer = c.name AND p.dead_at IS NOT NULL) AS dead,
           (SELECT count(*) FROM lease AS l WHERE l.consumer = c.name AND l.state = 'live') AS leased
    FROM consumer AS c WHERE c.name = ? OR ? IS NULL ORDER BY c.name"""
_TYPES: Final = "SELECT type FROM consumer_type WHERE consumer = ? ORDER BY type"

_END_LEASES: Final = """
    UPDATE lease SET state = 'expired', ended_at = ? WHERE consumer = ? AND state = 'live'"""
_DROP: Final = (
    "DELETE FROM pending WHERE consumer = ?",
    "DELETE FROM waiting WHERE consumer = ?",
    "DELETE FROM consumer_type WHERE consumer = ?",
    "DELETE FROM thread_delay WHERE consumer = ?",
)
_DROP_NAME: Final = "DELETE FROM consumer WHERE name = ?"

_HAS_EVENT: Final = "SELECT 1 FROM event WHERE seq = ?"
_REVIVE: Final = """
    UPDATE pending SET dead_at = NULL, failures = 0 WHERE consumer = ? AND seq = ? AND dead_at IS NOT NULL
    RETURNING thread"""
_DEAD: Final = """
    SELECT DISTINCT e.seq, e.type, e.mailbox_id, e.created_at, e.data
    FROM pending AS p INDEXED BY pending_dead JOIN event AS e ON e.seq = p.seq
    WHERE p.dead_at IS NOT NULL AND p.dead_at >= ? AND p.seq < ? ORDER BY p.seq DESC LIMIT ?"""
_DEAD_FOR: Final = """
    SELECT consumer, dead_at, receives FROM pending INDEXED BY pending_dead
    WHERE seq = ? AND dead_at IS NOT NULL ORDER BY consumer"""


def ensure(
    conn: sqlite3.Connection,
    name: str,
    types: tuple[EventType, ...] | None,
    at: Instant,
    *,
    from_now: bool = False,
) -> bool:
    """Make the consumer if it is not there, else widen its types by those it asks for; False = there are too many."""
    is_new = conn.execute(_HAS, (name,)).fetchone() is None
    if is_new and conn.execute(_HOW_MANY).fetchone()[0] >= MAX_CONSUMERS:
        return False
    if not is_new and types is None:
        return True
    (newest,) = conn.execute(_NEWEST).fetchone()
    from_seq = newest if from_now or not is_new else 0
    wanted = sorted(DEFAULT_TYPES) if types is None else types
    if is_new:
        conn.execute(_MAKE, (name, at))
    added = conn.executemany(
        _ADD_TYPE, [(name, one, from_seq, types is not None) for one in wanted]
    )
    if added.rowcount:
        conn.executemany(_CLAIM, [(one,) for one in wanted])
        conn.executemany(_TAKE_OVER, [(one,) for one in wanted])
    if is_new and not from_now:
        conn.execute(_BACKLOG, (name,))
    return True


def find_consumers(conn: sqlite3.Connection, name: str | None = None) -> tuple[ConsumerRecord, ...]:
    """Every consumer, or the one of this name."""
    return tuple(
        ConsumerRecord(
            name=row["name"],
            types=tuple(one["type"] for one in conn.execute(_TYPES, (row["name"],))),
            created_at=Instant(row["created_at"]),
            pending=row["pending"],
            dead=row["dead"],
            leased=row["leased"],
        )
        for row in conn.execute(_ALL, (name, name)).fetchall()
    )


@dataclass(frozen=True, slots=True)
class Making:
    """A unit that makes a consumer or widens its types."""

    name: str
    types: tuple[EventType, ...] | None
    at: Instant
    from_now: bool

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[ConsumerRecord | TooManyConsumers]:
        """The consumer as it stands then."""
        if not ensure(conn, self.name, self.types, self.at, from_now=self.from_now):
            return UnitResult(TooManyConsumers())
        return UnitResult(find_consumers(conn, self.name)[0])


@dataclass(frozen=True, slots=True)
class Dropping:
    """A unit that forgets a consumer. Its fences stay: they rise for ever."""

    name: str
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[bool]:
        """Whether it was there."""
        conn.execute(_END_LEASES, (self.at, self.name))
        for statement in _DROP:
            conn.execute(statement, (self.name,))
        return UnitResult(conn.execute(_DROP_NAME, (self.name,)).rowcount > 0)


@dataclass(frozen=True, slots=True)
class Reviving:
    """A unit that makes a dead event pending again."""

    seq: int
    consumer: str

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[bool | None]:
        """Whether it was dead; None when the consumer or the event is not there."""
        has_both = (
            conn.execute(_HAS, (self.consumer,)).fetchone()
            and conn.execute(_HAS_EVENT, (self.seq,)).fetchone()
        )
        if not has_both:
            return UnitResult(None)
        row = conn.execute(_REVIVE, (self.consumer, self.seq)).fetchone()
        if row is None:
            return UnitResult(value=False)
        return UnitResult(value=True, changes=(ThreadWaits(self.consumer, row["thread"]),))


def find_dead_events(
    conn: sqlite3.Connection, since: Instant | None, cursor: int | None, limit: int
) -> Page[DeadEvent]:
    """A page of events that somebody could not handle."""
    before = END if cursor is None else cursor
    found = conn.execute(_DEAD, (since or 0, before, limit)).fetchall()
    items = tuple(DeadEvent(rows.event_of(row), _dead_for(conn, row["seq"])) for row in found)
    return Page(items, found[-1]["seq"] if len(found) == limit else None)


def _dead_for(conn: sqlite3.Connection, seq: int) -> tuple[DeadFor, ...]:
    return tuple(
        DeadFor(row["consumer"], Instant(row["dead_at"]), row["receives"])
        for row in conn.execute(_DEAD_FOR, (seq,))
    )
