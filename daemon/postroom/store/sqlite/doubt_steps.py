"""The two ways out of doubt that people, policies and evidence share: it is sent again, or it is called sent.

Message-ID, Date and content stay what they were. An unanswered mark stays in the past of the delivery (`doubts`).
"""

import sqlite3
from typing import Final

from postroom.core.instant import Instant
from postroom.core.reason import ReasonCode
from postroom.store.sqlite.transition import MOVED


PAST_DOUBTS: Final = "doubts = doubts + (marked_at IS NOT NULL), marked_at = NULL"

_AGAIN: Final = f"""
    UPDATE delivery SET state = 'pending', reason_code = :reason, due_at = :at, series_attempts = 0,
        series_started_at = NULL, crashes = 0, cancel_asked = 0, stage = NULL, settled_by = NULL, settled_at = NULL,
        resends = resends + (state = 'uncertain'), {PAST_DOUBTS}, version = version + 1
    WHERE number = :number RETURNING {MOVED}"""
_SENT: Final = f"""
    UPDATE delivery SET state = 'sent', reason_code = :reason, hold_reason = NULL, due_at = NULL, evidence = NULL,
        settled_by = :by, settled_at = :at, {PAST_DOUBTS}, version = version + 1
    WHERE number = :number RETURNING {MOVED}"""


def send_again(
    conn: sqlite3.Connection, number: int, at: Instant, reason: ReasonCode | None = None
) -> sqlite3.Row:
    """Have a settled delivery wait again, at the beginning of a new series; its MOVED columns."""
    given = {"number": number, "at": at, "reason": reason}
    row: sqlite3.Row = conn.execute(_AGAIN, given).fetchone()
    return row


def call_sent(
    conn: sqlite3.Connection, number: int, at: Instant, by: str, reason: ReasonCode | None = None
) -> sqlite3.Row:
    """Write that it went out; its MOVED columns."""
    given = {"number": number, "at": at, "by": by, "reason": reason}
    row: sqlite3.Row = conn.execute(_SENT, given).fetchone()
    return row
