"""Attempts and their ends, as the loop hands them to the log and the signals."""

from dataclasses import replace
from typing import Final

from postroom.core.body import Body
from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.job import Copies, Job, OnDuplicate
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.ports.accepting import NewJob
from postroom.ports.looping import Outcome, Started


NOW: Final = Instant(1_796_022_000 * SECOND)

STARTED: Final = Started(
    number=4711,
    claim=1,
    job_number=42,
    mailbox_id="support",
    trace_id="trace-1",
    recipient="Old.Manager@example.com",
    domain="example.com",
    lane=Lane.HIGH,
    message_id="<m@example.com>",
    head=b"Subject: Your secret salary\r\n",
    body=Body((b"the body\r\n",), 10),
    date_at=NOW,
    not_after=None,
    attempts=2,
    series_attempts=2,
    series_started_at=NOW,
    deferrals=0,
    crashes=0,
    doubts=0,
)

SENT: Final = Outcome(
    number=4711,
    claim=1,
    after=DeliveryState.SENT,
    reason_code=None,
    at=Instant(NOW + 3 * SECOND),
    stage=Stage.DOT,
    reply=SmtpReply(250, "2.0.0", "2.0.0 Ok: queued as 9F3A", b""),
    due_at=None,
    counts_attempt=True,
    counts_series=True,
    is_deferral=False,
    withdraws_mark=False,
    relay_message_id="9F3A",
    give_back=(),
    relay_breaker=None,
    mailbox_breaker=None,
    domain_pause=None,
)

NEW_JOB: Final = NewJob(
    number=42,
    job=Job(
        mailbox_id="support",
        recipients=(),
        duplicates_dropped=0,
        subject="Your secret salary",
        text="the body",
        html=None,
        copies=Copies.CONVERSATION,
        attachments=(),
        headers=(),
        reply_to=(),
        metadata=(),
        lane=Lane.BULK,
        send_at=None,
        not_after=None,
        conversation_id=None,
        thread_number=None,
        trace_id=None,
        idempotency_key=None,
        on_duplicate=OnDuplicate.REPLAY,
        auto_submitted=None,
        spec={},
    ),
    principal_uid=1000,
    trace_id="trace-1",
    idempotency_key="a-secret-key",
    key_hash=b"",
    is_key_minted=True,
    request_hash=b"",
    hash_version=1,
    attachment_digests=(),
    body=STARTED.body,
    serializer_version=1,
    deliveries=(),
    staged_refs=(),
    due_at=NOW,
    at=NOW,
)


def refused(
    code: int, text: str, state: DeliveryState, reason: ReasonCode, stage: Stage = Stage.RCPT
) -> Outcome:
    """What the relay said no to; a retry waits ten minutes."""
    is_retry = state is DeliveryState.RETRY_SCHEDULED
    return replace(
        SENT,
        after=state,
        reason_code=reason,
        stage=stage,
        reply=SmtpReply(code, text.split(" ", 1)[0], text, b""),
        due_at=Instant(NOW + 600 * SECOND) if is_retry else None,
        relay_message_id=None,
    )


def unanswered(
    state: DeliveryState, reason: ReasonCode | None, *, is_deferral: bool = False
) -> Outcome:
    """An end without a word from the relay; what we put off ourselves is due at once and counts no attempt."""
    retry_at = Instant(NOW + 600 * SECOND) if state is DeliveryState.RETRY_SCHEDULED else None
    due_at = NOW if is_deferral else retry_at
    return replace(
        SENT,
        after=state,
        reason_code=reason,
        reply=None,
        due_at=due_at,
        counts_attempt=not is_deferral,
        counts_series=not is_deferral,
        is_deferral=is_deferral,
        relay_message_id=None,
    )
