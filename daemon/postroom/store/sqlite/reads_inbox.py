"""Questions about what came in: raw bytes, and a thread with all that happened in it."""

import sqlite3
from typing import Final

from postroom.core.instant import Instant
from postroom.core.record import HoldRecord, ThreadRecord
from postroom.core.velocity import HoldScope
from postroom.ports.arriving import RawFile
from postroom.store.sqlite import rows
from postroom.store.sqlite.holds import find_holds
from postroom.store.sqlite.spoiled import find_metadata


_RAW: Final = """
    SELECT r.raw, r.raw_sha256, r.size_bytes FROM event AS e JOIN received AS r ON r.number = e.received
    WHERE e.seq = ?"""
_THREAD: Final = """
    SELECT number, version, mailbox_id, conversation_key, metadata, created_at FROM thread WHERE number = ?"""
_DELIVERIES: Final = f"""
    SELECT {rows.DELIVERY_OF_JOB} FROM delivery WHERE thread = ? ORDER BY job DESC, number DESC LIMIT ?"""
_EVENTS: Final = """
    SELECT seq, type, mailbox_id, created_at, data FROM event WHERE thread = ? ORDER BY seq DESC LIMIT ?"""


def find_event_raw(conn: sqlite3.Connection, seq: int) -> bytes | RawFile | None:
    """What was received, to the byte; None where an event has none, or none any more."""
    row = conn.execute(_RAW, (seq,)).fetchone()
    if row is None:
        return None
    if row["raw"] is not None:
        return bytes(row["raw"])
    return RawFile(row["raw_sha256"], row["size_bytes"])


def find_thread(conn: sqlite3.Connection, number: int, limit: int) -> ThreadRecord | None:
    """A thread with its latest deliveries and events, at most `limit` of each, in their order."""
    row = conn.execute(_THREAD, (number,)).fetchone()
    if row is None:
        return None
    deliveries = conn.execute(_DELIVERIES, (number, limit + 1)).fetchall()
    events = conn.execute(_EVENTS, (number, limit + 1)).fetchall()
    return ThreadRecord(
        number=row["number"],
        version=row["version"],
        mailbox_id=row["mailbox_id"],
        conversation_id=row["conversation_key"],
        metadata=find_metadata(row["metadata"]),
        created_at=Instant(row["created_at"]),
        deliveries=tuple(rows.delivery_of_job(one) for one in reversed(deliveries[:limit])),
        events=tuple(rows.event_of(one) for one in reversed(events[:limit])),
        is_whole=len(deliveries) <= limit and len(events) <= limit,
        holds=tuple(_hold_of(one) for one in find_holds(conn, number)),
    )


def _hold_of(row: sqlite3.Row) -> HoldRecord:
    scope = HoldScope(row["scope"])
    return HoldRecord(
        scope=scope,
        name=None if scope is HoldScope.THREAD else row["name"],
        evidence=row["evidence"],
        event_seq=row["event"],
        held_at=Instant(row["held_at"]),
    )
