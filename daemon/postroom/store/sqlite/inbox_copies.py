"""Whether a received mail is an event already: by a digest of what nothing changes on the way, for 7 days.

What was refused is counted apart, under a digest of its own: it is no copy to what is accepted later.
"""

import hashlib
import sqlite3
from datetime import timedelta
from operator import itemgetter
from typing import Final

from postroom.core.instant import micros
from postroom.ports.arriving import Publication
from postroom.store.sqlite.inbox_event import widened


DEDUPE_FOR: Final = timedelta(days=7)

_COPIES: Final = """
    SELECT thread, event FROM dedupe WHERE mailbox_id = ? AND digest = ? AND created_at >= ?"""
_NOTE_COPY: Final = """
    INSERT INTO dedupe (mailbox_id, digest, thread, event, created_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (mailbox_id, digest, thread) DO UPDATE SET event = excluded.event, created_at = excluded.created_at
    WHERE created_at < ?"""
_DATA: Final = "SELECT data FROM event WHERE seq = ?"
_WIDEN: Final = "UPDATE event SET data = ? WHERE seq = ?"


def find_copies(
    conn: sqlite3.Connection, publication: Publication, *, is_refused: bool = False
) -> dict[int, int]:
    """The events that this mail is already, by thread, the first one first."""
    since = publication.at - micros(DEDUPE_FOR)
    wanted = (publication.mailbox_id, _digest(publication, is_refused=is_refused), since)
    found = conn.execute(_COPIES, wanted).fetchall()
    return {row["thread"]: row["event"] for row in sorted(found, key=itemgetter("event"))}


def note_copy(
    conn: sqlite3.Connection, publication: Publication, thread: int, seq: int, *, is_refused: bool
) -> None:
    """It is this event in this thread from now on."""
    digest, at = _digest(publication, is_refused=is_refused), publication.at
    copy = (publication.mailbox_id, digest, thread, seq, at)
    conn.execute(_NOTE_COPY, (*copy, at - micros(DEDUPE_FOR)))


def widen(conn: sqlite3.Connection, publication: Publication, seq: int) -> None:
    """The event is for these recipients, too."""
    row = conn.execute(_DATA, (seq,)).fetchone()
    data = row and widened(row["data"], publication.recipients)
    if data:
        conn.execute(_WIDEN, (data, seq))


def _digest(publication: Publication, *, is_refused: bool) -> bytes:
    digest = bytes.fromhex(publication.mail.dedupe)
    return hashlib.sha256(b"refused\0" + digest).digest() if is_refused else digest
