"""Records as the outbox would tell them, with everything but what a test looks at left plain."""

from dataclasses import replace

from postroom.core.delivery import UNSETTLED, DeliveryState
from postroom.core.instant import Instant
from postroom.core.job import Copies
from postroom.core.mailbox import Lane
from postroom.core.record import DeliveryRecord, HistoryRow, JobRecord


S = DeliveryState
NOW = Instant(1_764_500_400_000_000)


def delivery(number: int, state: S = S.PENDING, **changed: object) -> DeliveryRecord:
    plain = DeliveryRecord(
        number=number,
        job_number=number,
        mailbox_id="support",
        recipient=f"user{number}@example.com",
        recipient_key=f"user{number}@example.com",
        domain="example.com",
        lane=Lane.STANDARD,
        state=state,
        hold_reason=None,
        reason_code=None,
        due_at=NOW if state in UNSETTLED else None,
        not_after=None,
        thread_number=number,
        message_id=f"<{number}@example.com>",
        attempts=0,
        series_attempts=0,
        deferrals=0,
        crashes=0,
        doubts=0,
        stage=None,
        marked_at=None,
        reply_code=None,
        enhanced_status=None,
        reply_text=None,
        relay_message_id=None,
        settled_by=None,
        has_attachments=False,
        created_at=NOW,
        history=(HistoryRow(None, S.PENDING, NOW, None, None, None, None, None, "uid:1000"),),
    )
    return replace(plain, **changed)  # type: ignore[arg-type]


def job(number: int, *deliveries: DeliveryRecord) -> JobRecord:
    return JobRecord(
        number=number,
        mailbox_id="support",
        created_at=NOW,
        trace_id="trace-1",
        idempotency_key=f"key-{number}",
        conversation_id=None,
        lane=Lane.STANDARD,
        copies=Copies.CONVERSATION,
        spec={"subject": "Hello"},
        deliveries=deliveries,
    )
