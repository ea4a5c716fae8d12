"""The outbox as the roads see it. One method that writes = one transaction, committed when it returns.

A method that writes raises StoreUnavailable, StorageFull or StoreBroken when nothing was stored. A caller's
cancellation never undoes what it asked for.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from postroom.core.breaker import Breaker
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.core.replying import Answered
from postroom.ports.accepting import AcceptResult, KnownKey, NewJob
from postroom.ports.looping import LoopState, MarkStopped, Outcome, Start, Started, WaitingRow


class Intake(Protocol):
    """What acceptance needs."""

    def reserve(self, jobs: int, deliveries: int, threads: int) -> tuple[int, int, int]:
        """The first of so many job, delivery and thread numbers that nobody else gets."""
        ...

    async def find_key(self, mailbox_id: str, key_hash: bytes) -> KnownKey | None:
        """What this key stands for."""
        ...

    async def find_answered(self, seq: int) -> Answered | None:
        """An event with its thread as an answer needs them."""
        ...

    async def find_chain(self, thread_number: int) -> tuple[str, ...]:
        """Message-IDs of a thread, oldest first."""
        ...

    async def find_chains(
        self, mailbox_id: str, conversation_id: str, thread_keys: Sequence[str]
    ) -> Mapping[str, tuple[str, ...]]:
        """The same of each thread of this name that there is, by the key that tells it from the others."""
        ...

    async def has_thread(self, mailbox_id: str, number: int) -> bool:
        """Whether the mailbox has this thread."""
        ...

    async def accept(self, new: NewJob) -> AcceptResult:
        """Store a job, its deliveries, threads, key, body and events; or say what the key stands for."""
        ...


class LoopStore(Protocol):
    """What the delivery loop needs."""

    async def load(self) -> LoopState:
        """Breakers, pauses and pace as they were left."""
        ...

    async def find_waiting(
        self,
        mailbox_id: str,
        lane: Lane,
        *,
        domain: str | None,
        skip: frozenset[str],
        after: tuple[Instant, int] | None,
        limit: int,
    ) -> tuple[WaitingRow, ...]:
        """Waiting rows in the order (due_at, number), of one domain or without those to skip, due or not."""
        ...

    async def find_mailbox_queues(self) -> tuple[tuple[str, Lane], ...]:
        """Every mailbox and lane that has waiting rows."""
        ...

    async def start(self, start: Start) -> Started | MarkStopped | None:
        """Take a waiting row; None when it waits no more, MarkStopped when mail for its thread must be read first."""
        ...

    async def mark(self, number: int, claim: int, at: Instant) -> Instant | MarkStopped:
        """Commit "the final dot is about to go": the moment it was made, or what stops it."""
        ...

    async def finish(self, outcome: Outcome) -> DeliveryState:
        """Record how the attempt ended; the state that it came to."""
        ...

    async def keep_breaker(self, mailbox_id: str, breaker: Breaker) -> None:
        """Remember a mailbox's breaker that moved without an outcome."""
        ...

    async def pull_in(
        self, mailbox_id: str, lane: Lane, now: Instant, latest: Instant, limit: int
    ) -> int:
        """The clock has gone back: retries that are due after `latest` are due then, and what was due before is due now.

        How many; not more than `limit`.
        """
        ...

    async def end_expired(self, now: Instant, limit: int) -> int:
        """Fail waiting rows whose `not_after` or lifetime is over; how many."""
        ...
