"""What the outbox tells: read-only pictures of stored rows, in the words of the contract."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from postroom.core.delivery import DeliveryState, Feedback, HoldReason
from postroom.core.instant import Instant
from postroom.core.job import Copies
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.reply import Stage
from postroom.core.velocity import HoldScope


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One transition. `before` is None at acceptance; `attempt` is the attempt's number or None."""

    before: DeliveryState | None
    after: DeliveryState
    at: Instant
    reason_code: ReasonCode | None
    reply_code: int | None
    enhanced_status: str | None
    reply_text: str | None
    attempt: int | None
    by: str


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """One delivery as it stands. `due_at` is None once it is settled; `history` is empty unless it was asked for.

    `recipient` is where it goes; `recipient_key` that of whom the caller named, another one where a mailbox diverts.
    `trace_id` and `subject` are None where it is read as part of its job, which has them. `reply_to` are the addresses
    in its Reply-To and `return_path` its reverse-path, None = the mailbox's address; both are read with the history.
    `no_resend`: why its mailbox's policy left it in doubt. `is_cancel_asked`: somebody took it back too late.
    """

    number: int
    job_number: int
    mailbox_id: str
    recipient: str
    recipient_key: str
    domain: str
    lane: Lane
    state: DeliveryState
    hold_reason: HoldReason | None
    reason_code: ReasonCode | None
    due_at: Instant | None
    not_after: Instant | None
    thread_number: int
    message_id: str
    attempts: int
    series_attempts: int
    deferrals: int
    crashes: int
    doubts: int
    stage: Stage | None
    marked_at: Instant | None
    reply_code: int | None
    enhanced_status: str | None
    reply_text: str | None
    relay_message_id: str | None
    settled_by: str | None
    has_attachments: bool
    created_at: Instant
    history: tuple[HistoryRow, ...] = ()
    trace_id: str | None = None
    feedback: Feedback = Feedback.NONE
    resends: int = 0
    no_resend: ReasonCode | None = None
    is_cancel_asked: bool = False
    settled_at: Instant | None = None
    subject: str | None = None
    reply_to: tuple[str, ...] = ()
    return_path: str | None = None


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job with its deliveries, in the order they were accepted. `spec` is the request without text and html."""

    number: int
    mailbox_id: str
    created_at: Instant
    trace_id: str
    idempotency_key: str
    conversation_id: str | None
    lane: Lane
    copies: Copies
    spec: dict[str, object]
    deliveries: tuple[DeliveryRecord, ...]
    is_expired: bool = False
    final_status: str | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """The message of one delivery: `date_at` is None before its first attempt; `body_number` names its body."""

    date_at: Instant | None
    head: bytes
    body_number: int


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One fact in the log. `data` is the event's own JSON object."""

    seq: int
    type: str
    mailbox_id: str
    created_at: Instant
    data: dict[str, object]


@dataclass(frozen=True, slots=True)
class Retries:
    """So many deliveries of a lane wait for their next try after this reason; the first of them is due at `next_at`."""

    mailbox_id: str
    lane: Lane
    reason_code: ReasonCode | None
    deliveries: int
    next_at: Instant


@dataclass(frozen=True, slots=True)
class HoldRecord:
    """What a loop holds: by which event it was found, and how. `name` is the address or domain, None for the thread."""

    scope: HoldScope
    name: str | None
    evidence: str
    event_seq: int
    held_at: Instant


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """A conversation: the latest of our deliveries in it, and of what happened in it.

    `is_whole`: there are no earlier ones. `holds` is what holds it, or deliveries in it.
    """

    number: int
    version: int
    mailbox_id: str
    conversation_id: str | None
    metadata: dict[str, str]
    created_at: Instant
    deliveries: tuple[DeliveryRecord, ...]
    events: tuple[EventRecord, ...]
    is_whole: bool
    holds: tuple[HoldRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class StagedRecord:
    """One staged upload."""

    ref: str
    sha256: str
    size_bytes: int
    filename: str
    content_type: str
    created_at: Instant


@dataclass(frozen=True, slots=True)
class SuppressionRecord:
    """One address that a mailbox does not write to."""

    mailbox_id: str
    address: str
    reason: str
    by: str
    created_at: Instant


@dataclass(frozen=True, slots=True)
class MailboxRecord:
    """What the store knows of a mailbox beside its settings: who paused it, why and when."""

    mailbox_id: str
    paused_by: str | None
    paused_reason: str | None
    paused_at: Instant | None
    removed_at: Instant | None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows, and the number to go on from; None = that was all."""

    items: tuple[T, ...]
    next_cursor: int | None
