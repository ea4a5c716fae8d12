"""Handing a job to the submitter, and telling what it came to: 202, 200 or a problem."""

from dataclasses import dataclass
from typing import Self

from msgspec import UNSET, structs

from postroom.api.parts import Parts
from postroom.api.problems import Code, Refusal
from postroom.api.render import render_instant, render_job
from postroom.api.routing import BASE, Answer
from postroom.api.shapes import DeliveryBrief, Job
from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant, format_instant
from postroom.core.jobrequest import find_trace
from postroom.core.status import job_status
from postroom.core.words import shown
from postroom.ports.desk import Actor
from postroom.ports.submitting import (
    Refused,
    Repeated,
    SubmitResult,
    Submitted,
    SubmittedDelivery,
)


_ACCEPTED = 202
# CONTRACT §3: a trace_id is at most this long.
_TRACE_LENGTH = 128


@dataclass(frozen=True, slots=True)
class Sender:
    """Who hands in jobs, and what the headers say for all of them."""

    actor: Actor
    header_key: str | None
    trace_header: str | None


@dataclass(frozen=True, slots=True)
class _Names:
    """What a request calls itself, in its body or its headers; empty where it does not."""

    key: str
    trace_id: str

    @classmethod
    def of(cls, sender: Sender, value: object) -> Self:
        """The names, fit to be shown."""
        fields = value if isinstance(value, dict) else {}
        key = fields.get("idempotency_key") or sender.header_key
        trace_id = find_trace(fields, sender.trace_header)
        return cls(
            key=key if isinstance(key, str) else "",
            trace_id=shown(trace_id, _TRACE_LENGTH) if isinstance(trace_id, str) else "",
        )


async def submit(parts: Parts, sender: Sender, value: object) -> Answer | Refusal:
    """What one job, as decoded from JSON, is answered.

    Raises: StoreError.
    """
    result = await parts.submitter.submit(
        value, sender.actor.uid, sender.header_key, sender.trace_header
    )
    return await tell(parts, result, sender, value)


async def tell(
    parts: Parts, result: SubmitResult, sender: Sender, value: object
) -> Answer | Refusal:
    """The answer that a result becomes; `value` is the job as it was sent.

    Raises: StoreError.
    """
    match result:
        case Submitted():
            job = _submitted(result)
            return Answer(job, _ACCEPTED, {"Location": f"{BASE}/jobs/{job.id}"})
        case Repeated():
            return await _repeated(parts, result, _Names.of(sender, value))
        case Refused():
            return _refused(result, _Names.of(sender, value))


def _submitted(made: Submitted) -> Job:
    thread_number = made.thread_number
    return Job(
        id=encode_id(Kind.JOB, made.number),
        status=job_status(one.accepted.state for one in made.deliveries),
        deduplicated=False,
        mailbox_id=made.job.mailbox_id,
        thread_id=None if thread_number is None else encode_id(Kind.THREAD, thread_number),
        message_id=made.message_id,
        idempotency_key=made.idempotency_key,
        trace_id=made.trace_id,
        created_at=format_instant(made.created_at),
        deliveries=[_brief(one, made.due_at) for one in made.deliveries],
        duplicates_dropped=made.job.duplicates_dropped,
        queued=len(made.deliveries) if made.is_merge else UNSET,
        already=0 if made.is_merge else UNSET,
        reply_to_ignored=True if made.is_reply_to_ignored else UNSET,
    )


def _brief(made: SubmittedDelivery, due_at: Instant) -> DeliveryBrief:
    accepted = made.accepted
    is_waiting = accepted.state is DeliveryState.PENDING
    return DeliveryBrief(
        id=encode_id(Kind.DELIVERY, accepted.number),
        recipient=made.recipient,
        state=accepted.state,
        thread_id=encode_id(Kind.THREAD, accepted.thread_number),
        message_id=made.message_id,
        attempts=0,
        next_attempt_at=render_instant(due_at) if is_waiting else None,
        reason_code=accepted.reason_code,
    )


async def _repeated(parts: Parts, found: Repeated, names: _Names) -> Answer | Refusal:
    record = await parts.reader.find_job(found.number)
    if record is None:
        return Refusal(Code.STORE_UNAVAILABLE, "The job of this key is being removed just now.")
    merged = found.merged
    job = structs.replace(
        render_job(record),
        deduplicated=merged is None or merged.queued == 0,
        duplicates_dropped=found.duplicates_dropped,
        expired=True if found.is_expired else UNSET,
        queued=UNSET if merged is None else merged.queued,
        already=UNSET if merged is None else merged.already,
    )
    if found.is_expired:  # a tombstone knows its key by hash only, but whoever asks knows it
        job = structs.replace(job, idempotency_key=names.key, trace_id=names.trace_id)
    status = _ACCEPTED if merged is not None and merged.queued else 200
    return Answer(job, status, {"Location": f"{BASE}/jobs/{job.id}"})


def _refused(refused: Refused, names: _Names) -> Refusal:
    more: dict[str, str | int] = {}
    if refused.job_number is not None:
        more["job_id"] = encode_id(Kind.JOB, refused.job_number)
    if names.trace_id:
        more["trace_id"] = names.trace_id
    return Refusal(
        Code(refused.code), refused.detail, refused.problems, refused.retry_after_s, more
    )
