"""What a submitted job came to: values that the API turns into answers, without knowing how they were found.

StoreUnavailable, StorageFull and StoreBroken pass through as exceptions: then nothing was accepted.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from postroom.core.instant import Instant
from postroom.core.job import Job, Problem
from postroom.ports.accepting import AcceptedDelivery, AcceptResult, NewJob


class RefusalKind(StrEnum):
    """What sort of no it is: the job is wrong (422), too much for now (429), someone was first (409), or we can not just now (503)."""

    WRONG = "wrong"
    TOO_MUCH = "too_much"
    CONFLICT = "conflict"
    NOT_NOW = "not_now"


class RefusalCode(StrEnum):
    """The stable word of a refusal (CONTRACT §3, §4)."""

    INVALID_JOB = "invalid_job"
    UNKNOWN_FIELD = "unknown_field"
    UNKNOWN_MAILBOX = "unknown_mailbox"
    UNKNOWN_THREAD = "unknown_thread"
    UNKNOWN_EVENT = "unknown_event"
    RECIPIENT_NOT_ALLOWED = "recipient_not_allowed"
    RECIPIENT_NOT_IN_THREAD = "recipient_not_in_thread"
    REPLY_TARGET = "reply_target"
    ATTACHMENT_REFUSED = "attachment_refused"
    ATTACHMENT_CHANGING = "attachment_changing"
    IDEMPOTENCY_KEY_REUSE = "idempotency_key_reuse"
    JOB_EXPIRED = "job_expired"
    MAILBOX_QUEUE_FULL = "mailbox_queue_full"
    MAILBOX_HOURLY_LIMIT = "mailbox_hourly_limit"
    LEASE_LOST = "lease_lost"
    ALREADY_REPLIED = "already_replied"
    ATTACHMENT_SLOW = "attachment_slow"
    STORE_UNAVAILABLE = "store_unavailable"


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was accepted. `job_number` is the job that holds the key, or the event's answer, where that is why."""

    kind: RefusalKind
    code: RefusalCode
    detail: str
    problems: tuple[Problem, ...] = ()
    retry_after_s: int | None = None
    job_number: int | None = None


@dataclass(frozen=True, slots=True)
class SubmittedDelivery:
    """One delivery of a new job as it was stored."""

    accepted: AcceptedDelivery
    recipient: str
    message_id: str


@dataclass(frozen=True, slots=True)
class Submitted:
    """A new job is stored (202). A merge that made it queued all its recipients, and none was there already.

    `is_merge` says that the answer shows `queued` and `already`; `is_reply_to_ignored` that it goes to From, for Reply-To
    names somebody else.
    """

    number: int
    job: Job
    idempotency_key: str
    trace_id: str
    created_at: Instant
    due_at: Instant
    deliveries: tuple[SubmittedDelivery, ...]
    is_merge: bool
    is_reply_to_ignored: bool = False

    @property
    def thread_number(self) -> int | None:
        """The thread that all deliveries share, or None."""
        first = self.deliveries[0].accepted.thread_number
        same = all(one.accepted.thread_number == first for one in self.deliveries)
        return first if same else None

    @property
    def message_id(self) -> str | None:
        """The Message-ID that all deliveries share, or None."""
        first = self.deliveries[0].message_id
        return first if all(one.message_id == first for one in self.deliveries) else None


@dataclass(frozen=True, slots=True)
class Merged:
    """How many recipients a rerun added, and how many were there."""

    queued: int
    already: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """The key's job was there before: its current state is read by its number.

    `merged` is None for a replay (200); for a merge the answer is 202 when it queued anything, else 200.
    `is_expired`: only a tombstone is left. `duplicates_dropped` is this request's own.
    """

    number: int
    is_expired: bool
    duplicates_dropped: int
    merged: Merged | None = None


SubmitResult = Submitted | Repeated | Refused


@dataclass(frozen=True, slots=True)
class Reserved:
    """Room for so many deliveries of a mailbox, counted in this minute."""

    mailbox_id: str
    count: int
    minute: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A new job that is composed and not stored, and the room that is kept for it until `settle`."""

    new: NewJob
    reserved: Reserved


class Submitter(Protocol):
    """Takes jobs."""

    async def submit(
        self,
        value: object,
        principal_uid: int,
        header_key: str | None = None,
        trace_header: str | None = None,
    ) -> SubmitResult:
        """Take one job, as decoded from JSON; `header_key` is Idempotency-Key, `trace_header` is traceparent.

        Raises: StoreUnavailable, StorageFull, StoreBroken: nothing was accepted.
        """
        ...

    async def prepare(
        self,
        value: object,
        principal_uid: int,
        header_key: str | None = None,
        trace_header: str | None = None,
    ) -> Prepared | Repeated | Refused:
        """The same up to the commit, for who stores it in a transaction with other things; then `settle` must follow.

        Raises: StoreUnavailable, StorageFull, StoreBroken: there is nothing to settle.
        """
        ...

    def settle(self, prepared: Prepared, result: AcceptResult) -> SubmitResult:
        """What the caller is told of what the store made of it."""
        ...

    def abandon(self, prepared: Prepared) -> None:
        """It was not stored."""
        ...
