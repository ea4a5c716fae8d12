"""What a lease shows: its thread, and pending events in order within the caps."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from postroom.core.instant import Instant
from postroom.core.record import EventRecord
from postroom.ports.leasing import Lease, ThreadView
from postroom.store.sqlite import rows
from postroom.store.sqlite.spoiled import find_metadata


MAX_EVENTS: Final = 100  # CONTRACT §4: of one lease
MAX_BYTES: Final = 1 << 20
ALONE_AFTER: Final = (
    5  # failures, of the ten that kill: then an event is shown alone, and harms no other
)

_ENVELOPE: Final = 512  # bytes that are added to an event's own object where it is shown

_PENDING: Final = """
    SELECT p.failures, length(CAST(e.data AS BLOB)) AS size, e.seq, e.type, e.mailbox_id, e.created_at, e.data
    FROM pending AS p JOIN event AS e ON e.seq = p.seq
    WHERE p.consumer = ? AND p.thread = ? AND p.dead_at IS NULL ORDER BY p.seq"""
_SHOWN: Final = """
    SELECT seq, type, mailbox_id, created_at, data FROM event
    WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"""
_RECEIVED: Final = """
    UPDATE pending SET receives = receives + 1
    WHERE consumer = ? AND seq IN (SELECT value FROM json_each(?))"""
_RECEIVES: Final = "SELECT receives FROM pending WHERE consumer = ? AND seq = ?"
_LEFT: Final = """
    SELECT 1 FROM pending AS p
    WHERE p.consumer = ? AND p.thread = ? AND p.dead_at IS NULL AND p.seq NOT IN (SELECT value FROM json_each(?))
        AND EXISTS (SELECT 1 FROM event AS e WHERE e.seq = p.seq)
    LIMIT 1"""
_THREAD: Final = """
    SELECT number, version, mailbox_id, conversation_key, metadata FROM thread WHERE number = ?"""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Events that fit. `is_alone`: the first has failed so often that no other is shown beside it."""

    seqs: tuple[int, ...]
    size_bytes: int
    is_alone: bool


def choose(
    conn: sqlite3.Connection,
    consumer: str,
    thread: int,
    max_events: int,
    shown: Sequence[int] = (),
) -> Chosen:
    """The events to show, those shown before among them: in order, as many as the caps allow, at least one."""
    before, size, found = set(shown), 0, list(shown)
    pending = conn.execute(_PENDING, (consumer, thread)).fetchall()
    size = sum(row["size"] + _ENVELOPE for row in pending if row["seq"] in before)
    is_alone = bool(pending) and pending[0]["failures"] >= ALONE_AFTER
    most = 1 if is_alone else max_events
    for row in pending:
        if row["seq"] in before:
            continue
        more = row["size"] + _ENVELOPE
        if len(found) >= most or (found and size + more > MAX_BYTES):
            break
        found.append(row["seq"])
        size += more
    return Chosen(tuple(sorted(found)), size, is_alone)


def count_received(conn: sqlite3.Connection, consumer: str, seqs: Iterable[int]) -> None:
    """One more lease shows these events."""
    conn.execute(_RECEIVED, (consumer, seqs_text(seqs)))


def lease_of(conn: sqlite3.Connection, row: sqlite3.Row) -> Lease:
    """A lease as its holder sees it."""
    shown = read_seqs(row["shown"])
    receives = conn.execute(_RECEIVES, (row["consumer"], shown[0])).fetchone()
    left = conn.execute(_LEFT, (row["consumer"], row["thread"], row["shown"])).fetchone()
    events = find_shown(conn, row["shown"])
    return Lease(
        number=row["number"],
        fence=row["fence"],
        thread=_thread(conn, row["thread"], events),
        expires_at=Instant(row["expires_at"]),
        receive_count=1 if receives is None else receives["receives"],
        has_more=left is not None,
        events=events,
    )


def find_shown(conn: sqlite3.Connection, shown: str) -> tuple[EventRecord, ...]:
    """The events of a JSON list of seqs."""
    return tuple(rows.event_of(one) for one in conn.execute(_SHOWN, (shown,)))


def read_seqs(text: str) -> tuple[int, ...]:
    """The seqs of a stored list."""
    return msgspec.json.decode(text, type=tuple[int, ...])


def seqs_text(seqs: Iterable[int]) -> str:
    """The same as it is stored."""
    return msgspec.json.encode(sorted(seqs)).decode()


def _thread(conn: sqlite3.Connection, number: int, events: tuple[EventRecord, ...]) -> ThreadView:
    row = conn.execute(_THREAD, (number,)).fetchone()
    # Where its number is damaged, here or there, whoever waits behind it is served all the same.
    if row is None:
        return ThreadView(number, 0, events[0].mailbox_id if events else "", None, {})
    return ThreadView(
        number=row["number"],
        version=row["version"],
        mailbox_id=row["mailbox_id"],
        conversation_id=row["conversation_key"],
        metadata=find_metadata(row["metadata"]),
    )
