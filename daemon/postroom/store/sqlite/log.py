"""The one place where an event comes into the log: its row, and what is pending for consumers, in one transaction.

An event is pending for every consumer that has its type since before it; one with `accepted: false` only for those that
asked for the type by name (CONTRACT §5, §8 `accept_new`).
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant
from postroom.ports.changes import EventPublished, LogGrew
from postroom.store.sqlite.spoiled import find_metadata


_INSERT: Final = """
    INSERT INTO event (type, mailbox_id, thread, delivery, created_at, data, received)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
_LAST: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'event'"
_CONSUMERS: Final = (
    "SELECT consumer FROM consumer_type WHERE type = ? AND from_seq < ? AND (is_asked OR ?)"
)
_FAN_OUT: Final = "INSERT INTO pending (consumer, seq, mailbox_id, thread) VALUES (?, ?, ?, ?)"
# Whoever had its type is gone.
_LEAVE: Final = """
    INSERT INTO unclaimed (type, seq) SELECT type, ? FROM claimed_type WHERE type = ? AND ?"""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event about to be written. `data` is its own JSON object, `received` what it came from."""

    type: str
    mailbox_id: str
    thread: int
    delivery: int | None
    at: Instant
    data: str
    received: int | None = None
    is_accepted: bool = True


def append(conn: sqlite3.Connection, event: NewEvent) -> EventPublished:
    """Write it; what is told of it."""
    row = (event.type, event.mailbox_id, event.thread, event.delivery, event.at, event.data)
    seq = conn.execute(_INSERT, (*row, event.received)).lastrowid or 0
    wanted = (event.type, seq, event.is_accepted)
    consumers = tuple([name for (name,) in conn.execute(_CONSUMERS, wanted)])
    for name in consumers:
        conn.execute(_FAN_OUT, (name, seq, event.mailbox_id, event.thread))
    if not consumers:
        conn.execute(_LEAVE, (seq, event.type, event.is_accepted))
    return EventPublished(seq, event.mailbox_id, event.thread, event.type, consumers)


def append_alone(
    conn: sqlite3.Connection, kind: str, mailbox_id: str, at: Instant, data: str
) -> LogGrew:
    """Write an event of no thread, which nobody leases; what is told of it."""
    row = (kind, mailbox_id, None, None, at, data, None)
    seq = conn.execute(_INSERT, row).lastrowid or 0
    return LogGrew(seq, mailbox_id, kind)


def next_seq(conn: sqlite3.Connection) -> int:
    """The seq that the next event of this transaction gets."""
    last = conn.execute(_LAST).fetchone()
    return 1 if last is None else last[0] + 1


def thread_picture(
    number: int, version: int, conversation_key: str | None, metadata: str | None, **match: object
) -> dict[str, object]:
    """A thread as every event shows it; `match` is how a received message was tied to it."""
    return {
        "id": encode_id(Kind.THREAD, number),
        "version": version,
        "conversation_id": conversation_key,
        **match,
        "metadata": find_metadata(metadata),
    }
