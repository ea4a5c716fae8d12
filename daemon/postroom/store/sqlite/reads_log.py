"""Questions about all that is not a job or a delivery: events, suppressions, mailboxes, staged uploads, messages."""

import sqlite3
from typing import Final

import msgspec

from postroom.core.body import Body
from postroom.core.record import (
    EventRecord,
    MailboxRecord,
    Page,
    Raw,
    StagedRecord,
    SuppressionRecord,
)
from postroom.store.sqlite import rows
from postroom.store.sqlite.bodies import StoredBody, unpack
from postroom.store.sqlite.keyset import END


_EVENTS: Final = """
    SELECT seq, type, mailbox_id, created_at, data FROM event WHERE seq > ? ORDER BY seq LIMIT ?"""
_LOG_ID: Final = "SELECT log_id FROM instance WHERE one = 1"
_OLDEST: Final = "SELECT seq FROM event ORDER BY seq LIMIT 1"
_NEWEST: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'event'"

_SUPPRESSIONS: Final = f"""
    SELECT {rows.SUPPRESSION} FROM suppression WHERE number < ? ORDER BY number DESC LIMIT ?"""
_SUPPRESSIONS_OF: Final = f"""
    SELECT {rows.SUPPRESSION} FROM suppression WHERE mailbox_id = ? AND number < ? ORDER BY number DESC LIMIT ?"""

_MAILBOXES: Final = (
    "SELECT id, paused_by, paused_reason, paused_at, removed_at FROM mailbox ORDER BY id"
)
_STAGED: Final = """
    SELECT ref, sha256, size_bytes, filename, content_type, created_at FROM staged WHERE ref = ?"""
_RAW: Final = """
    SELECT d.date_at, d.head, j.body FROM delivery AS d JOIN job AS j ON j.number = d.job
    WHERE d.number = ? AND j.body IS NOT NULL"""
_BODY: Final = "SELECT content, segments, size_bytes FROM body WHERE number = ?"


def find_events(conn: sqlite3.Connection, after: int, limit: int) -> tuple[EventRecord, ...]:
    """Events with seq > `after`, in order."""
    return tuple(rows.event_of(row) for row in conn.execute(_EVENTS, (after, limit)))


def event_span(conn: sqlite3.Connection) -> tuple[str, int, int]:
    """log_id, the oldest seq still there, the newest ever given (both 0 in an empty log).

    In a log of which everything was removed by age the oldest is the one that comes next.
    """
    (log_id,) = conn.execute(_LOG_ID).fetchone()
    newest = conn.execute(_NEWEST).fetchone()
    oldest = conn.execute(_OLDEST).fetchone()
    if newest is None or not newest[0]:
        return log_id, 0, 0
    return log_id, oldest[0] if oldest else newest[0] + 1, newest[0]


def find_suppressions(
    conn: sqlite3.Connection, mailbox_id: str | None, cursor: int | None, limit: int
) -> Page[SuppressionRecord]:
    """A page of suppressed addresses, of one mailbox or of all, newest first."""
    before = END if cursor is None else cursor
    if mailbox_id is None:
        found = conn.execute(_SUPPRESSIONS, (before, limit)).fetchall()
    else:
        found = conn.execute(_SUPPRESSIONS_OF, (mailbox_id, before, limit)).fetchall()
    items = tuple(rows.suppression_of(row) for row in found)
    return Page(items, found[-1]["number"] if len(found) == limit else None)


def find_mailboxes(conn: sqlite3.Connection) -> tuple[MailboxRecord, ...]:
    """Every mailbox there ever was."""
    return tuple(rows.mailbox_of(row) for row in conn.execute(_MAILBOXES))


def find_staged(conn: sqlite3.Connection, ref: str) -> StagedRecord | None:
    """A staged upload."""
    row = conn.execute(_STAGED, (ref,)).fetchone()
    return None if row is None else rows.staged_of(row)


def find_raw(conn: sqlite3.Connection, number: int) -> Raw | None:
    """The message of a delivery; None when there is none, or none any more."""
    row = conn.execute(_RAW, (number,)).fetchone()
    return None if row is None else Raw(row["date_at"], row["head"], row["body"])


def find_body(conn: sqlite3.Connection, number: int) -> Body | None:
    """A body; None where there is none, or it can not be read."""
    row = conn.execute(_BODY, (number,)).fetchone()
    if row is None:
        return None
    try:
        return unpack(StoredBody(row["content"], row["segments"], row["size_bytes"]))
    except msgspec.MsgspecError:
        return None
