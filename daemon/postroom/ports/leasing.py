"""Leases: one agent for each conversation and consumer (CONTRACT §4, §6.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from postroom.core.instant import Instant
from postroom.core.record import EventRecord
from postroom.ports.accepting import AcceptResult, NewJob


@dataclass(frozen=True, slots=True)
class LeaseWish:
    """What a consumer asks for. `types` None = as they are; else they are added to the consumer's."""

    consumer: str
    mailbox_ids: tuple[str, ...]
    types: tuple[str, ...] | None
    max_threads: int
    max_events: int
    lease_s: float
    attempt_id: str | None
    at: Instant


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A thread as a lease or event shows it."""

    number: int
    version: int
    mailbox_id: str
    conversation_id: str | None
    metadata: dict[str, str]


@dataclass(frozen=True, slots=True)
class Lease:
    """An exclusive, expiring right. `has_more`: the thread has further pending events that did not fit."""

    number: int
    fence: int
    thread: ThreadView
    expires_at: Instant
    receive_count: int
    has_more: bool
    events: tuple[EventRecord, ...]


@dataclass(frozen=True, slots=True)
class LeaseLost:
    """The lease is not live, or the fence is not its own."""


@dataclass(frozen=True, slots=True)
class AlreadyReplied:
    """The event was answered by this job."""

    seq: int
    job_number: int


@dataclass(frozen=True, slots=True)
class Completed:
    """Acknowledged; the answer of each reply, in order. `is_repeat`: this is the result of the first call."""

    acked: tuple[int, ...]
    replies: tuple[AcceptResult, ...]
    is_repeat: bool


@dataclass(frozen=True, slots=True)
class ReleasedLease:
    """Given back."""

    is_repeat: bool


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """A consumer: its types, what waits for it, and how much of that is dead."""

    name: str
    types: tuple[str, ...]
    created_at: Instant
    pending: int
    dead: int


class Leases(Protocol):
    """The lease protocol; every method that writes is one transaction."""

    async def acquire(self, wish: LeaseWish) -> tuple[Lease, ...]:
        """Leases on the threads that wait longest; empty when none waits."""
        ...

    async def extend(
        self, number: int, fence: int, lease_s: float, at: Instant
    ) -> Lease | LeaseLost:
        """Keep it longer; it now shows mail that came in meanwhile."""
        ...

    async def release(
        self, number: int, fence: int, delay_s: float, reason: str, at: Instant, *, is_failed: bool
    ) -> ReleasedLease | LeaseLost:
        """Give it back, to be given out again after a delay."""
        ...

    async def complete(
        self,
        number: int,
        fence: int,
        ack: Sequence[int] | None,
        replies: Sequence[NewJob],
        at: Instant,
    ) -> Completed | LeaseLost | AlreadyReplied:
        """Acknowledge (`ack` None = all that was shown) and accept the replies, or nothing of both."""
        ...

    async def find_consumers(self) -> tuple[ConsumerRecord, ...]:
        """Every consumer."""
        ...

    async def make_consumer(
        self, name: str, types: tuple[str, ...] | None, at: Instant, *, from_now: bool
    ) -> ConsumerRecord:
        """Make it, or widen its types."""
        ...

    async def drop_consumer(self, name: str) -> bool:
        """Forget it and what waits for it; whether it was there."""
        ...

    async def retry_event(self, seq: int, consumer: str, at: Instant) -> bool:
        """Make a dead event pending again."""
        ...
