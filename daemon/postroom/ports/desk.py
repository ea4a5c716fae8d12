"""The outbox as people and programs see it through the API: questions, and what they change by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from postroom.core.body import Body
from postroom.core.condition import Standing
from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.record import (
    DeliveryRecord,
    EventRecord,
    JobRecord,
    MailboxRecord,
    Page,
    Raw,
    Retries,
    StagedRecord,
    SuppressionRecord,
)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: the uid at the other end of the socket, written into every history row as `uid:N`."""

    uid: int

    @property
    def by(self) -> str:
        """The `by` of a history row."""
        return f"uid:{self.uid}"


class CancelAnswer(StrEnum):
    """What became of a cancel, for one delivery."""

    CANCELLED = "cancelled"
    TOO_LATE = "too_late"
    UNCERTAIN = "uncertain"


class Verdict(StrEnum):
    """How a person settles doubt."""

    SENT = "sent"
    RESEND = "resend"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Cancelled:
    """One delivery of a cancelled job."""

    number: int
    recipient: str
    answer: CancelAnswer


@dataclass(frozen=True, slots=True)
class WrongState:
    """The delivery is not in a state from which this can be done; `detail` says what could be done instead."""

    state: DeliveryState
    detail: str


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Which deliveries; None = any.

    At most one of state, reason_code, domain and hold_reason, alone or with mailbox_id.
    """

    mailbox_id: str | None = None
    state: DeliveryState | None = None
    reason_code: ReasonCode | None = None
    domain: str | None = None
    since: Instant | None = None
    hold_reason: HoldReason | None = None


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs; None = any. At most one beside mailbox_id and since."""

    mailbox_id: str | None = None
    status: str | None = None
    thread_number: int | None = None
    recipient: str | None = None
    trace_id: str | None = None
    conversation_id: str | None = None
    idempotency_key: str | None = None
    since: Instant | None = None


@dataclass(frozen=True, slots=True)
class BulkResult:
    """How many deliveries the filter met, and how many of them were acted on."""

    matched: int
    done: int


@dataclass(frozen=True, slots=True)
class Hold:
    """So many deliveries of a mailbox are held for this reason."""

    mailbox_id: str
    hold_reason: HoldReason
    deliveries: int


class Reader(Protocol):
    """Questions; none of them waits for the writer."""

    async def find_job(self, number: int) -> JobRecord | None:
        """A job with its deliveries, or its tombstone."""
        ...

    async def find_jobs(self, by: JobFilter, cursor: int | None, limit: int) -> Page[JobRecord]:
        """Newest first."""
        ...

    async def find_delivery(self, number: int) -> DeliveryRecord | None:
        """A delivery with its history."""
        ...

    async def find_standing(self, number: int) -> Standing | None:
        """The precondition of a delivery as it stands; None where it has none, or it was judged."""
        ...

    async def find_deliveries(
        self, by: DeliveryFilter, cursor: int | None, limit: int
    ) -> Page[DeliveryRecord]:
        """Newest first, without history."""
        ...

    async def find_holds(self) -> tuple[Hold, ...]:
        """How many deliveries are held, by mailbox and reason."""
        ...

    async def find_retries(self, mailbox_id: str) -> tuple[Retries, ...]:
        """Why deliveries of a mailbox are tried again, by lane, of its oldest 1,000; the most frequent first."""
        ...

    async def find_dead(
        self, since: Instant | None, cursor: int | None, limit: int
    ) -> Page[DeliveryRecord]:
        """What ended unsent or in doubt, newest first; `since` is when it ended."""
        ...

    async def find_raw(self, number: int) -> Raw | None:
        """The message of a delivery; None when it was removed by retention."""
        ...

    async def find_body(self, body_number: int) -> Body | None:
        """A body."""
        ...

    async def find_events(self, after: int, limit: int) -> tuple[EventRecord, ...]:
        """Events with seq > `after`, in order."""
        ...

    async def event_span(self) -> tuple[str, int, int]:
        """log_id, the oldest seq still there and the newest ever given (both 0 in an empty log)."""
        ...

    async def find_suppressions(
        self, mailbox_id: str | None, cursor: int | None, limit: int
    ) -> Page[SuppressionRecord]:
        """Suppressed addresses."""
        ...

    async def find_mailboxes(self) -> tuple[MailboxRecord, ...]:
        """What the store knows of every mailbox it ever had."""
        ...

    async def find_staged(self, ref: str) -> StagedRecord | None:
        """A staged upload."""
        ...

    async def oldest_due(self, now: Instant) -> Mapping[tuple[str, Lane], Instant]:
        """The earliest due_at <= now of each mailbox and lane that has one."""
        ...

    async def count_by_state(self) -> Mapping[tuple[str, Lane, DeliveryState], int]:
        """Deliveries by mailbox, lane and state; a scan, for start-up only."""
        ...

    async def count_accepted(self, since: Instant) -> Mapping[str, tuple[tuple[Instant, int], ...]]:
        """Deliveries accepted since then by mailbox and minute, oldest first; for start-up only."""
        ...


class Admin(Protocol):
    """What people change by hand."""

    async def cancel_job(
        self, number: int, actor: Actor, at: Instant
    ) -> tuple[Cancelled, ...] | None:
        """Take back what has no mark. None when there is no such job."""
        ...

    async def cancel_deliveries(
        self, by: DeliveryFilter, actor: Actor, at: Instant, *, dry_run: bool, limit: int
    ) -> BulkResult:
        """The same for all deliveries that a filter meets."""
        ...

    async def reschedule_job(
        self, number: int, send_at: Instant, actor: Actor, at: Instant
    ) -> JobRecord | WrongState | None:
        """Move what never was tried and what waits for a retry to another time."""
        ...

    async def retry(
        self, number: int, actor: Actor, at: Instant
    ) -> DeliveryRecord | WrongState | None:
        """Redrive a failed delivery: a new series, same identity and content."""
        ...

    async def retry_deliveries(
        self, by: DeliveryFilter, actor: Actor, at: Instant, *, dry_run: bool, limit: int
    ) -> BulkResult:
        """The same for all that a filter meets."""
        ...

    async def release(
        self, number: int, actor: Actor, at: Instant
    ) -> DeliveryRecord | WrongState | None:
        """Let a held delivery go, when its time comes."""
        ...

    async def release_deliveries(
        self, by: DeliveryFilter, actor: Actor, at: Instant, *, dry_run: bool, limit: int
    ) -> BulkResult:
        """The same for all that a filter meets."""
        ...

    async def resolve(
        self, number: int, verdict: Verdict, actor: Actor, at: Instant
    ) -> DeliveryRecord | WrongState | None:
        """Settle an uncertain delivery by hand."""
        ...

    async def resolve_deliveries(
        self,
        by: DeliveryFilter,
        verdict: Verdict,
        actor: Actor,
        at: Instant,
        *,
        dry_run: bool,
        limit: int,
    ) -> BulkResult:
        """The same for all that a filter meets."""
        ...

    async def pause(self, mailbox_id: str, reason: str, actor: Actor, at: Instant) -> None:
        """An operator's pause; it ends only by `resume`."""
        ...

    async def resume(self, mailbox_id: str, actor: Actor, at: Instant) -> None:
        """End the pause, and close the breaker of the mailbox: the operator says that all is well."""
        ...

    async def resume_thread(self, number: int, actor: Actor, at: Instant) -> bool:
        """End what a loop holds in a thread; whether there is such a thread."""
        ...

    async def suppress(
        self, mailbox_id: str | None, address: str, reason: str, actor: Actor, at: Instant
    ) -> SuppressionRecord:
        """Write to this address no more; mailbox None = from no mailbox ('' in the record)."""
        ...

    async def unsuppress(self, mailbox_id: str | None, address: str) -> bool:
        """Allow it again; whether it was suppressed."""
        ...

    async def stage(self, staged: StagedRecord, principal_uid: int) -> None:
        """Name a file that already lies in the spool."""
        ...

    async def hold_missing_mailboxes(self, configured: frozenset[str], at: Instant) -> None:
        """Hold what waits for mailboxes that are gone (mailbox_removed), free what waits for those that came back."""
        ...

    async def note_mailboxes(self, configured: frozenset[str], at: Instant) -> None:
        """Remember which mailboxes there are. From then on the mark holds what is under way for any other."""
        ...

    async def settle_mailbox(self, mailbox_id: str, at: Instant) -> None:
        """Hold what waits for a mailbox that is noted as gone, free what was held for one that is there."""
        ...
