"""Records as the outbox would tell them, with everything but what a test looks at left plain."""

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.job import Copies
from postroom.core.mailbox import Lane
from postroom.core.record import DeliveryRecord, JobRecord


def delivery_record(number: int, state: DeliveryState) -> DeliveryRecord:
    return DeliveryRecord(
        number=number,
        job_number=1,
        mailbox_id="support",
        recipient=f"user{number}@example.com",
        recipient_key=f"user{number}@example.com",
        domain="example.com",
        lane=Lane.STANDARD,
        state=state,
        hold_reason=None,
        reason_code=None,
        due_at=Instant(1),
        not_after=None,
        thread_number=1,
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
        created_at=Instant(1),
    )


def job_record(number: int, deliveries: tuple[DeliveryRecord, ...]) -> JobRecord:
    return JobRecord(
        number=number,
        mailbox_id="support",
        created_at=Instant(1),
        trace_id="t",
        idempotency_key="k",
        conversation_id=None,
        lane=Lane.STANDARD,
        copies=Copies.CONVERSATION,
        spec={},
        deliveries=deliveries,
    )
