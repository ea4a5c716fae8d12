"""Stored rows as the records that the roads know."""

import sqlite3
from dataclasses import replace
from typing import Final

from postroom.core.delivery import DeliveryState, Feedback, HoldReason
from postroom.core.instant import Instant
from postroom.core.job import Copies
from postroom.core.reason import ReasonCode
from postroom.core.record import (
    DeliveryRecord,
    EventRecord,
    HistoryRow,
    JobRecord,
    MailboxRecord,
    StagedRecord,
    SuppressionRecord,
)
from postroom.core.reply import Stage
from postroom.store.sqlite.spoiled import find_document, find_word, lane_of, state_of


UNREADABLE: Final[dict[str, object]] = {"unreadable": True}  # in place of a damaged document

DELIVERY: Final = """
    number, job, mailbox_id, recipient, recipient_key, domain, lane, state, hold_reason, reason_code, due_at, not_after, thread,
    message_id, attempts, series_attempts, deferrals, crashes, doubts, stage, marked_at, reply_code, enhanced_status,
    reply_text, relay_message_id, settled_by, has_attachments, created_at, feedback,
    resends, no_resend, cancel_asked, settled_at"""
# With what its job knows; a request that is damaged has no subject.
DELIVERY_OF_JOB: Final = f"""{DELIVERY},
    (SELECT trace_id FROM job WHERE job.number = delivery.job) AS trace_id,
    (SELECT CASE WHEN json_valid(spec) THEN json_extract(spec, '$.subject') END
        FROM job WHERE job.number = delivery.job) AS subject"""
JOB: Final = "number, mailbox_id, created_at, trace_id, idempotency_key, conversation_key, lane, copies, spec"
HISTORY: Final = (
    "before, after, at, reason_code, reply_code, enhanced_status, reply_text, attempt, by"
)
SUPPRESSION: Final = "number, mailbox_id, address, reason, by, created_at"


def delivery_of(row: sqlite3.Row) -> DeliveryRecord:
    """A delivery from its DELIVERY columns."""
    return DeliveryRecord(
        number=row["number"],
        job_number=row["job"],
        mailbox_id=row["mailbox_id"],
        recipient=row["recipient"],
        recipient_key=row["recipient_key"],
        domain=row["domain"],
        lane=lane_of(row["lane"]),
        state=state_of(row["state"]),
        hold_reason=hold_reason_of(row["hold_reason"]),
        reason_code=find_word(ReasonCode, row["reason_code"]),
        due_at=row["due_at"],
        not_after=row["not_after"],
        thread_number=row["thread"],
        message_id=row["message_id"],
        attempts=row["attempts"],
        series_attempts=row["series_attempts"],
        deferrals=row["deferrals"],
        crashes=row["crashes"],
        doubts=row["doubts"],
        stage=find_word(Stage, row["stage"]),
        marked_at=row["marked_at"],
        reply_code=row["reply_code"],
        enhanced_status=row["enhanced_status"],
        reply_text=row["reply_text"],
        relay_message_id=row["relay_message_id"],
        settled_by=row["settled_by"],
        has_attachments=bool(row["has_attachments"]),
        created_at=Instant(row["created_at"]),
        feedback=find_word(Feedback, row["feedback"]) or Feedback.NONE,
        resends=row["resends"],
        no_resend=find_word(ReasonCode, row["no_resend"]),
        is_cancel_asked=bool(row["cancel_asked"]),
        settled_at=row["settled_at"],
    )


def delivery_of_job(row: sqlite3.Row) -> DeliveryRecord:
    """A delivery from its DELIVERY_OF_JOB columns."""
    return replace(delivery_of(row), trace_id=row["trace_id"], subject=row["subject"])


def hold_reason_of(stored: str | None) -> HoldReason | None:
    """Why it is held; where that can not be read, it is held for that."""
    return None if stored is None else find_word(HoldReason, stored) or HoldReason.UNREADABLE


def job_of(row: sqlite3.Row, deliveries: tuple[DeliveryRecord, ...]) -> JobRecord:
    """A job from its JOB columns."""
    return JobRecord(
        number=row["number"],
        mailbox_id=row["mailbox_id"],
        created_at=Instant(row["created_at"]),
        trace_id=row["trace_id"],
        idempotency_key=row["idempotency_key"],
        conversation_id=row["conversation_key"],
        lane=lane_of(row["lane"]),
        copies=find_word(Copies, row["copies"]) or Copies.CONVERSATION,
        spec=find_document(row["spec"], dict[str, object]) or UNREADABLE,
        deliveries=deliveries,
    )


def history_of(row: sqlite3.Row) -> HistoryRow:
    """A transition from its HISTORY columns."""
    return HistoryRow(
        before=find_word(DeliveryState, row["before"]),
        after=state_of(row["after"]),
        at=Instant(row["at"]),
        reason_code=find_word(ReasonCode, row["reason_code"]),
        reply_code=row["reply_code"],
        enhanced_status=row["enhanced_status"],
        reply_text=row["reply_text"],
        attempt=row["attempt"],
        by=row["by"],
    )


def event_of(row: sqlite3.Row) -> EventRecord:
    """An event from its row."""
    return EventRecord(
        seq=row["seq"],
        type=row["type"],
        mailbox_id=row["mailbox_id"],
        created_at=Instant(row["created_at"]),
        data=find_document(row["data"], dict[str, object]) or UNREADABLE,
    )


def suppression_of(row: sqlite3.Row) -> SuppressionRecord:
    """A suppressed address from its SUPPRESSION columns."""
    return SuppressionRecord(
        mailbox_id=row["mailbox_id"],
        address=row["address"],
        reason=row["reason"],
        by=row["by"],
        created_at=Instant(row["created_at"]),
    )


def staged_of(row: sqlite3.Row) -> StagedRecord:
    """A staged upload from its row."""
    return StagedRecord(
        ref=row["ref"],
        sha256=row["sha256"],
        size_bytes=row["size_bytes"],
        filename=row["filename"],
        content_type=row["content_type"],
        created_at=Instant(row["created_at"]),
    )


def mailbox_of(row: sqlite3.Row) -> MailboxRecord:
    """What is known of a mailbox from its row."""
    return MailboxRecord(
        mailbox_id=row["id"],
        paused_by=row["paused_by"],
        paused_reason=row["paused_reason"],
        paused_at=row["paused_at"],
        removed_at=row["removed_at"],
    )
