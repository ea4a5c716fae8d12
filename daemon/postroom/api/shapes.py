"""What is answered: the shape of every JSON answer, in the words of the contract."""

from typing import Any

from msgspec import UNSET, UnsetType, field

from postroom.api.answered import Answered
from postroom.api.requests import AttachmentRef, DeliveryId, JobId, Moment, ThreadId
from postroom.core.delivery import DeliveryState, Feedback, HoldReason
from postroom.core.job import Copies
from postroom.core.reason import ReasonCode
from postroom.core.reply import Stage
from postroom.core.status import JobStatus
from postroom.ports.desk import CancelAnswer
from postroom.ports.loop import CheckVerdict, GateVerdict


class Fault(Answered, frozen=True):
    """One fault of a request, by JSON pointer (RFC 6901); in a query the parameter's name is the pointer."""

    pointer: str
    detail: str


class SettingFault(Answered, frozen=True):
    """What is wrong, or doubtful, in a settings file; `key` is dotted, '' = the file as a whole."""

    file: str
    key: str
    wrong: str
    fix: str


class Problem(Answered, frozen=True):
    """RFC 9457. `code` is stable, `fix` says what to do, `retryable` whether the same request may do better later."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    fix: str
    retryable: bool
    retry_after_s: int | None
    errors: list[Fault]
    trace_id: str | UnsetType = UNSET
    log_id: str | UnsetType = UNSET
    oldest_seq: int | UnsetType = UNSET
    job_id: JobId | UnsetType = UNSET
    state: DeliveryState | UnsetType = UNSET
    problems: list[SettingFault] | UnsetType = UNSET


class DeliveryBrief(Answered, frozen=True):
    """A delivery as its job tells it. `feedback`: what was heard of it since; left out while that is nothing."""

    id: DeliveryId
    recipient: str
    state: DeliveryState
    thread_id: ThreadId
    message_id: str
    attempts: int
    next_attempt_at: Moment | None
    reason_code: ReasonCode | None
    feedback: Feedback | UnsetType = UNSET


class Job(Answered, frozen=True):
    """A job. `thread_id` and `message_id` are null where the deliveries differ; `expired`: only its tombstone is left.

    `reply_to_ignored`: the answer goes to From, for the Reply-To of the event names another organisation, which nobody vouches for, or too many people.
    """

    id: JobId
    status: JobStatus
    mailbox_id: str
    thread_id: ThreadId | None
    message_id: str | None
    idempotency_key: str
    trace_id: str
    created_at: Moment
    deliveries: list[DeliveryBrief]
    deduplicated: bool | UnsetType = UNSET
    duplicates_dropped: int | UnsetType = UNSET
    queued: int | UnsetType = UNSET
    already: int | UnsetType = UNSET
    expired: bool | UnsetType = UNSET
    reply_to_ignored: bool | UnsetType = UNSET
    priority: str | UnsetType = UNSET
    copies: Copies | UnsetType = UNSET
    conversation_id: str | UnsetType | None = UNSET
    request: dict[str, Any] | UnsetType = UNSET


class JobList(Answered, frozen=True):
    """Jobs, newest first."""

    items: list[Job]
    next_cursor: str | None


class BatchItem(Answered, frozen=True):
    """What one job of a batch would have been answered alone: its HTTP status, and the job or the problem."""

    status: int
    job: Job | UnsetType = UNSET
    problem: Problem | UnsetType = UNSET


class BatchAnswer(Answered, frozen=True):
    """One result for each job, in order."""

    results: list[BatchItem]


class CancelledDelivery(Answered, frozen=True):
    """What became of the cancel for one delivery."""

    id: DeliveryId
    recipient: str
    cancel: CancelAnswer


class CancelAnswerList(Answered, frozen=True):
    """All deliveries of the job."""

    deliveries: list[CancelledDelivery]


class History(Answered, frozen=True):
    """One transition; `from` is null at acceptance."""

    before: DeliveryState | None = field(name="from")
    after: DeliveryState = field(name="to")
    at: Moment
    reason_code: ReasonCode | None
    reply_code: int | None
    enhanced_status: str | None
    reply_text: str | None
    attempt: int | None
    by: str


class Delivery(Answered, frozen=True):
    """A delivery as it stands. `history`, `reply_to` and `return_path` only where it was asked for by id.

    `reply_to`: where its answers go; empty = to the mailbox's address. `return_path`: where reports about it go; null =
    to the mailbox's address. `subject` is null where the job gave none, as answers need not.
    """

    id: DeliveryId
    job_id: JobId
    trace_id: str
    mailbox_id: str
    recipient: str
    domain: str
    priority: str
    state: DeliveryState
    hold_reason: HoldReason | None
    reason_code: ReasonCode | None
    next_attempt_at: Moment | None
    not_after: Moment | None
    thread_id: ThreadId
    message_id: str
    attempts: int
    series_attempts: int
    deferrals: int
    crashes: int
    unanswered_marks: int
    resends: int
    stage: Stage | None
    marked_at: Moment | None
    reply_code: int | None
    enhanced_status: str | None
    reply_text: str | None
    relay_message_id: str | None
    feedback: Feedback
    settled_by: str | None
    settled_at: Moment | None
    has_attachments: bool
    created_at: Moment
    subject: str | None
    reply_to: list[str] | UnsetType = UNSET
    return_path: str | UnsetType | None = UNSET
    history: list[History] | UnsetType = UNSET


class DeliveryList(Answered, frozen=True):
    """Deliveries, newest first, without history."""

    items: list[Delivery]
    next_cursor: str | None


class Gate(Answered, frozen=True):
    """One gate: what it measured, against what, and when it opens by itself."""

    name: str
    verdict: GateVerdict
    value: int | str | None
    threshold: int | str | None
    until_at: Moment | None


class Explanation(Answered, frozen=True):
    """Every gate in order, as the loop itself asks them; `blocked_by` is the first that says no."""

    delivery_id: DeliveryId
    state: DeliveryState
    blocked_by: str | None
    earliest_at: Moment | None
    gates: list[Gate]


class Hold(Answered, frozen=True):
    """So many deliveries of a mailbox are held for this reason."""

    mailbox_id: str
    hold_reason: str
    deliveries: int


class Holds(Answered, frozen=True):
    """All of them, one for each mailbox and reason."""

    items: list[Hold]
    next_cursor: None


class BulkAnswer(Answered, frozen=True):
    """How many deliveries the filter met, and on how many of them it was done."""

    matched: int
    done: int


class Suppression(Answered, frozen=True):
    """An address that is not written to; `mailbox_id` null = from no mailbox."""

    mailbox_id: str | None
    address: str
    reason: str
    by: str
    created_at: Moment


class SuppressionList(Answered, frozen=True):
    """Suppressed addresses."""

    items: list[Suppression]
    next_cursor: str | None


class Staged(Answered, frozen=True):
    """A staged upload."""

    ref: AttachmentRef
    size_bytes: int
    sha256: str
    content_type: str
    filename: str


class CheckLine(Answered, frozen=True):
    """One step of a check, and what to do where it failed."""

    step: str
    result: CheckVerdict
    detail: str
    fix: str


class Check(Answered, frozen=True):
    """A mailbox's way out, step by step; nothing was sent."""

    mailbox_id: str
    ok: bool
    checks: list[CheckLine]
