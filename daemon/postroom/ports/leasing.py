"""Leases: one agent for each conversation and consumer (CONTRACT §4, §6.5)."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from postroom.core.eventtypes import EventType
from postroom.core.instant import Instant
from postroom.core.job import LeaseClaim
from postroom.core.record import EventRecord, Page
from postroom.ports.accepting import AcceptResult, LeaseLost, NewJob


@dataclass(frozen=True, slots=True)
class LeaseWish:
    """What a consumer asks for. `types` None = as they are; else they are added to the consumer's."""

    consumer: str
    mailbox_ids: tuple[str, ...]
    types: tuple[EventType, ...] | None
    max_threads: int
    max_events: int
    lease_s: float
    attempt_id: str | None
    at: Instant


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A thread as a lease shows it."""

    number: int
    version: int
    mailbox_id: str
    conversation_id: str | None
    metadata: dict[str, str]


@dataclass(frozen=True, slots=True)
class Lease:
    """An exclusive, expiring right. `has_more`: the thread has further pending events that did not fit.

    `receive_count` says how many leases, this one among them, showed the first of its events.
    """

    number: int
    fence: int
    thread: ThreadView
    expires_at: Instant
    receive_count: int
    has_more: bool
    events: tuple[EventRecord, ...]


@dataclass(frozen=True, slots=True)
class TooManyConsumers:
    """There are as many consumers as there may be, and this is none of them. Nothing was done."""


@dataclass(frozen=True, slots=True)
class Release:
    """How a lease is given back: not to be given out for `delay_s`, and whether that counts as a failure."""

    delay_s: float
    reason: str
    is_failed: bool


@dataclass(frozen=True, slots=True)
class NotShown:
    """These events were to be acknowledged, and the lease does not show them. Nothing was done."""

    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReplyStopped:
    """The reply at this index could not be accepted, for this reason. Nothing was done."""

    index: int
    result: AcceptResult


@dataclass(frozen=True, slots=True)
class Completed:
    """Acknowledged; the job of each reply, in order.

    `results` is what became of each new reply; empty where `is_repeat`: this is what the first call did.
    """

    acked: tuple[int, ...]
    jobs: tuple[int, ...]
    results: tuple[AcceptResult, ...]
    is_repeat: bool


@dataclass(frozen=True, slots=True)
class Released:
    """Given back."""

    is_repeat: bool


CompleteResult = Completed | LeaseLost | NotShown | ReplyStopped


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """A consumer: its types, what waits for it, how much of that is dead, how many threads are leased."""

    name: str
    types: tuple[str, ...]
    created_at: Instant
    pending: int
    dead: int
    leased: int


@dataclass(frozen=True, slots=True)
class WaitingEvents:
    """What waits for a consumer (None = for nobody: its readers are gone), and how many threads it has leased.

    `oldest_at` is since when the oldest of these waits that nobody holds; None where all of them are held, or none waits.
    """

    consumer: str | None
    events: int
    leased: int
    oldest_at: Instant | None


@dataclass(frozen=True, slots=True)
class DeadFor:
    """For whom an event is dead, since when, and how many leases showed it."""

    consumer: str
    dead_at: Instant
    receive_count: int


@dataclass(frozen=True, slots=True)
class DeadEvent:
    """An event that somebody could not handle."""

    event: EventRecord
    dead_for: tuple[DeadFor, ...]


class Leases(Protocol):
    """The lease protocol; every method that writes is one transaction.

    Methods raise StoreUnavailable, StorageFull or StoreBroken: then nothing was done.
    """

    async def acquire(self, wish: LeaseWish) -> tuple[Lease, ...] | TooManyConsumers:
        """Leases on the threads that wait longest, or those of the same attempt; empty when none waits."""
        ...

    async def extend(self, claim: LeaseClaim, lease_s: float, at: Instant) -> Lease | LeaseLost:
        """Keep it for `lease_s` from now; it then shows what came in meanwhile."""
        ...

    async def release(self, claim: LeaseClaim, back: Release, at: Instant) -> Released | LeaseLost:
        """Give it back."""
        ...

    async def check(self, claim: LeaseClaim, at: Instant) -> Completed | LeaseLost | None:
        """What `complete` did before with this lease, or that it can do nothing; None = it is live."""
        ...

    async def complete(
        self,
        claim: LeaseClaim,
        ack: Sequence[int] | None,
        replies: Sequence[NewJob | int],
        at: Instant,
    ) -> CompleteResult:
        """Acknowledge (`ack` None = all that was shown) and accept the replies, or nothing of both.

        A number among the replies is that of a job which was accepted before.
        """
        ...

    async def sweep(self, at: Instant) -> Instant | None:
        """End what is due, or a bite of it; when it is worth while to come again, which may be now."""
        ...

    async def find_consumers(self) -> tuple[ConsumerRecord, ...]:
        """Every consumer."""
        ...

    async def find_waiting(self, now: Instant) -> tuple[WaitingEvents, ...]:
        """How many events wait for each consumer, and for nobody, and since when; cheap, however many there are."""
        ...

    async def make_consumer(
        self, name: str, types: tuple[EventType, ...] | None, at: Instant, *, from_now: bool
    ) -> ConsumerRecord | TooManyConsumers:
        """Make it, or widen its types."""
        ...

    async def drop_consumer(self, name: str, at: Instant) -> bool:
        """Forget it and what waits for it, and end its leases; whether it was there."""
        ...

    async def retry_event(self, seq: int, consumer: str) -> bool | None:
        """Make a dead event pending again; False when it is not dead for this consumer, None when one of them is unknown."""
        ...

    async def find_dead_events(
        self, since: Instant | None, cursor: int | None, limit: int
    ) -> Page[DeadEvent]:
        """Events that are dead for somebody, newest first; `since` is when they died."""
        ...


class Bells(Protocol):
    """Who waits for a commit hears it: the event is set by each that matters; whoever waits clears it before looking."""

    def hear_log(self) -> AbstractContextManager[asyncio.Event]:
        """Rings when the log has grown."""
        ...

    def hear_consumer(self, name: str) -> AbstractContextManager[asyncio.Event]:
        """Rings when something waits for this consumer."""
        ...
