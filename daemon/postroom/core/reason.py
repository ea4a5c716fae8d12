"""Reason codes: the closed list of words that say why a delivery is where it is (CONTRACT §2).

Each has one sentence for people; `docs/operating.md` is held against this list by a test.
"""

from enum import StrEnum


class ReasonCode(StrEnum):
    """Why."""

    EXPIRED = "expired"
    POISON = "poison"
    RECIPIENT_SUPPRESSED = "recipient_suppressed"
    ATTACHMENT_MISSING = "attachment_missing"
    ATTACHMENT_CHANGED = "attachment_changed"
    CANCELLED = "cancelled"
    MAILBOX_PAUSED = "mailbox_paused"
    MAILBOX_REMOVED = "mailbox_removed"
    CRASH_BEFORE_MARK = "crash.before_mark"
    CRASH_AFTER_MARK = "crash.after_mark"
    RELAY_UNREACHABLE = "relay.unreachable"
