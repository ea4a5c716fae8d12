"""From the outbox's records to the shapes of the contract: ids, instants, words."""

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET

from postroom.api import shapes
from postroom.api.parsing import write_cursor
from postroom.api.problems import Refusal
from postroom.core.delivery import Feedback
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant, format_instant
from postroom.core.record import (
    DeliveryRecord,
    EventRecord,
    HistoryRow,
    JobRecord,
    Page,
    StagedRecord,
    SuppressionRecord,
)
from postroom.core.status import JobStatus, job_status
from postroom.ports.desk import Cancelled
from postroom.ports.loop import CheckLine, CheckVerdict, Explanation, GateVerdict


SCHEMA_VERSION: Final = 1


def render_instant(instant: Instant | None) -> str | None:
    """RFC 3339, None = there is none."""
    return None if instant is None else format_instant(instant)


def render_problem(refusal: Refusal) -> shapes.Problem:
    """RFC 9457."""
    entry = refusal.entry
    return shapes.Problem(
        type=f"urn:postroom:problem:{refusal.code}",
        title=entry.title,
        status=entry.status,
        detail=refusal.detail,
        code=refusal.code,
        fix=entry.fix,
        retryable=entry.is_retryable,
        retry_after_s=refusal.wait_s,
        errors=[shapes.Fault(pointer=one.pointer, detail=one.detail) for one in refusal.faults],
        **refusal.more,
    )


def render_brief(record: DeliveryRecord) -> shapes.DeliveryBrief:
    """A delivery as its job tells it."""
    return shapes.DeliveryBrief(
        id=encode_id(Kind.DELIVERY, record.number),
        recipient=record.recipient,
        state=record.state,
        thread_id=encode_id(Kind.THREAD, record.thread_number),
        message_id=record.message_id,
        attempts=record.attempts,
        next_attempt_at=render_instant(record.due_at),
        reason_code=record.reason_code,
        feedback=UNSET if record.feedback is Feedback.NONE else record.feedback,
    )


def render_job(record: JobRecord) -> shapes.Job:
    """A job as it stands; of one that retention took, what is still known."""
    deliveries = [render_brief(one) for one in record.deliveries]
    is_expired = record.is_expired
    return shapes.Job(
        id=encode_id(Kind.JOB, record.number),
        status=_status(record),
        mailbox_id=record.mailbox_id,
        thread_id=only(one.thread_id for one in deliveries),
        message_id=only(one.message_id for one in deliveries),
        idempotency_key=record.idempotency_key,
        trace_id=record.trace_id,
        created_at=format_instant(record.created_at),
        deliveries=deliveries,
        expired=True if is_expired else UNSET,
        priority=UNSET if is_expired else record.lane.word,
        copies=UNSET if is_expired else record.copies,
        conversation_id=UNSET if is_expired else record.conversation_id,
        request=UNSET if is_expired else record.spec,
    )


def only(values: Iterable[str]) -> str | None:
    """The one value that all have, None where they differ or there is none."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def render_jobs(page: Page[JobRecord]) -> shapes.JobList:
    """A page of jobs."""
    return shapes.JobList(
        items=[render_job(one) for one in page.items], next_cursor=write_cursor(page.next_cursor)
    )


def render_delivery(record: DeliveryRecord, *, with_history: bool = False) -> shapes.Delivery:
    """A delivery as it stands."""
    return shapes.Delivery(
        id=encode_id(Kind.DELIVERY, record.number),
        job_id=encode_id(Kind.JOB, record.job_number),
        trace_id=record.trace_id or "",
        mailbox_id=record.mailbox_id,
        recipient=record.recipient,
        domain=record.domain,
        priority=record.lane.word,
        state=record.state,
        hold_reason=record.hold_reason,
        reason_code=record.reason_code,
        next_attempt_at=render_instant(record.due_at),
        not_after=render_instant(record.not_after),
        thread_id=encode_id(Kind.THREAD, record.thread_number),
        message_id=record.message_id,
        attempts=record.attempts,
        series_attempts=record.series_attempts,
        deferrals=record.deferrals,
        crashes=record.crashes,
        unanswered_marks=record.doubts,
        resends=record.resends,
        stage=record.stage,
        marked_at=render_instant(record.marked_at),
        reply_code=record.reply_code,
        enhanced_status=record.enhanced_status,
        reply_text=record.reply_text,
        relay_message_id=record.relay_message_id,
        feedback=record.feedback,
        settled_by=record.settled_by,
        settled_at=render_instant(record.settled_at),
        has_attachments=record.has_attachments,
        created_at=format_instant(record.created_at),
        subject=record.subject,
        reply_to=list(record.reply_to) if with_history else UNSET,
        return_path=record.return_path if with_history else UNSET,
        history=[_history(row) for row in record.history] if with_history else UNSET,
    )


def render_deliveries(page: Page[DeliveryRecord]) -> shapes.DeliveryList:
    """A page of deliveries."""
    return shapes.DeliveryList(
        items=[render_delivery(one) for one in page.items],
        next_cursor=write_cursor(page.next_cursor),
    )


def render_cancelled(found: Iterable[Cancelled]) -> shapes.CancelAnswerList:
    """What became of a cancel."""
    return shapes.CancelAnswerList(
        deliveries=[
            shapes.CancelledDelivery(
                id=encode_id(Kind.DELIVERY, one.number), recipient=one.recipient, cancel=one.answer
            )
            for one in found
        ]
    )


def render_explanation(number: int, found: Explanation) -> shapes.Explanation:
    """Why a delivery is where it is."""
    blocked = (one.name for one in found.gates if one.verdict is GateVerdict.BLOCKED)
    return shapes.Explanation(
        delivery_id=encode_id(Kind.DELIVERY, number),
        state=found.state,
        blocked_by=next(blocked, None),
        earliest_at=render_instant(found.earliest),
        gates=[
            shapes.Gate(
                name=one.name,
                verdict=one.verdict,
                value=one.value,
                threshold=one.threshold,
                until_at=render_instant(one.until),
            )
            for one in found.gates
        ],
    )


def render_event(record: EventRecord, log_id: str) -> dict[str, object]:
    """An event: what its type brings, in the envelope that all have."""
    return {
        **record.data,
        "id": encode_id(Kind.EVENT, record.seq),
        "type": record.type,
        "seq": record.seq,
        "log_id": log_id,
        "schema_version": SCHEMA_VERSION,
        "mailbox_id": record.mailbox_id or None,
        "created_at": format_instant(record.created_at),
    }


def render_suppression(record: SuppressionRecord) -> shapes.Suppression:
    """A suppressed address."""
    return shapes.Suppression(
        mailbox_id=record.mailbox_id or None,
        address=record.address,
        reason=record.reason,
        by=record.by,
        created_at=format_instant(record.created_at),
    )


def render_staged(record: StagedRecord) -> shapes.Staged:
    """A staged upload."""
    return shapes.Staged(
        ref=record.ref,
        size_bytes=record.size_bytes,
        sha256=record.sha256,
        content_type=record.content_type,
        filename=record.filename,
    )


def render_check(mailbox_id: str, lines: Iterable[CheckLine]) -> shapes.Check:
    """A mailbox's way out."""
    checks = [
        shapes.CheckLine(step=one.step, result=one.verdict, detail=one.detail, fix=one.fix)
        for one in lines
    ]
    is_ok = all(one.result is not CheckVerdict.FAILED for one in checks)
    return shapes.Check(mailbox_id=mailbox_id, ok=is_ok, checks=checks)


def _status(record: JobRecord) -> JobStatus:
    if record.final_status is not None and not record.deliveries:
        return JobStatus(record.final_status)
    return job_status(one.state for one in record.deliveries)


def _history(row: HistoryRow) -> shapes.History:
    return shapes.History(
        before=row.before,
        after=row.after,
        at=format_instant(row.at),
        reason_code=row.reason_code,
        reply_code=row.reply_code,
        enhanced_status=row.enhanced_status,
        reply_text=row.reply_text,
        attempt=row.attempt,
        by=row.by,
    )
