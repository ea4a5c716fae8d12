"""Leases and conversations as the API sees them, in memory: scripted answers, and what was asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from postroom.core.eventtypes import DEFAULT_TYPES, EventType
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import SECOND, Instant
from postroom.core.job import LeaseClaim
from postroom.core.record import EventRecord, Page, ThreadRecord
from postroom.ports.accepting import AcceptResult, LeaseLost, NewJob
from postroom.ports.arriving import RawFile
from postroom.ports.leasing import (
    Completed,
    CompleteResult,
    ConsumerRecord,
    DeadEvent,
    DeadFor,
    Lease,
    LeaseWish,
    Release,
    Released,
    ThreadView,
    TooManyConsumers,
)
from support.records import NOW


MAIL = EventRecord(
    7, "reply.received", "support", NOW, {"automation": {"kind": "human", "evidence": []}}
)
THREAD = ThreadView(3, 2, "support", "conv_1", {"run": "r"})
LEASE = Lease(
    number=1,
    fence=5,
    thread=THREAD,
    expires_at=Instant(NOW + 60 * SECOND),
    receive_count=1,
    has_more=False,
    events=(MAIL,),
)
CLAIM = LeaseClaim(1, 5)
LEASE_ID = encode_id(Kind.LEASE, 1)
MAIL_ID = encode_id(Kind.EVENT, 7)


@dataclass
class FakeLeases:
    """One lease, which is live for the fence 5; `waiting` is what a poll gets, `answer` what `complete` says."""

    waiting: list[Lease] = field(default_factory=list)
    wishes: list[LeaseWish] = field(default_factory=list)
    did: list[tuple[object, ...]] = field(default_factory=list)
    done: Completed | None = None
    answer: CompleteResult | None = None
    consumers: dict[str, ConsumerRecord] = field(default_factory=dict)
    dead: tuple[DeadEvent, ...] = ()
    fault: Exception | None = None
    is_full: bool = False

    async def acquire(self, wish: LeaseWish) -> tuple[Lease, ...] | TooManyConsumers:
        if self.is_full:
            return TooManyConsumers()
        if self.fault is not None:
            raise self.fault
        self.wishes.append(wish)
        given, self.waiting = self.waiting[: wish.max_threads], self.waiting[wish.max_threads :]
        return tuple(given)

    async def extend(self, claim: LeaseClaim, lease_s: float, at: Instant) -> Lease | LeaseLost:
        self.did.append(("extend", claim, lease_s))
        return LEASE if claim == CLAIM else LeaseLost()

    async def release(self, claim: LeaseClaim, back: Release, at: Instant) -> Released | LeaseLost:
        self.did.append(("release", claim, back))
        return Released(is_repeat=False) if claim == CLAIM else LeaseLost()

    async def check(self, claim: LeaseClaim, at: Instant) -> Completed | LeaseLost | None:
        return self.done if claim == CLAIM else LeaseLost()

    async def complete(
        self,
        claim: LeaseClaim,
        ack: Sequence[int] | None,
        replies: Sequence[NewJob | int],
        at: Instant,
    ) -> CompleteResult:
        self.did.append(("complete", claim, ack, len(replies)))
        if self.answer is not None:
            return self.answer
        jobs = tuple(one if isinstance(one, int) else one.number for one in replies)
        results: tuple[AcceptResult, ...] = ()
        self.done = Completed((7,), jobs, results, is_repeat=True)
        return replace(self.done, is_repeat=False)

    async def find_consumers(self) -> tuple[ConsumerRecord, ...]:
        return tuple(self.consumers.values())

    async def make_consumer(
        self, name: str, types: tuple[EventType, ...] | None, at: Instant, *, from_now: bool
    ) -> ConsumerRecord | TooManyConsumers:
        if self.is_full:
            return TooManyConsumers()
        self.did.append(("make", name, types, from_now))
        made = ConsumerRecord(name, tuple(sorted(types or DEFAULT_TYPES)), at, 0, 0, 0)
        return self.consumers.setdefault(name, made)

    async def drop_consumer(self, name: str, at: Instant) -> bool:
        return self.consumers.pop(name, None) is not None

    async def retry_event(self, seq: int, consumer: str) -> bool | None:
        return None if consumer not in self.consumers else seq == MAIL.seq

    async def find_dead_events(
        self, since: Instant | None, cursor: int | None, limit: int
    ) -> Page[DeadEvent]:
        return Page(self.dead, None)


DEAD = DeadEvent(MAIL, (DeadFor("agents", NOW, 10),))


@dataclass
class FakeConversations:
    """Raw messages by event, threads by number."""

    raw: dict[int, bytes | RawFile] = field(default_factory=dict)
    threads: dict[int, ThreadRecord] = field(default_factory=dict)

    async def find_event_raw(self, seq: int) -> bytes | RawFile | None:
        return self.raw.get(seq)

    async def find_thread(self, number: int, limit: int) -> ThreadRecord | None:
        return self.threads.get(number)
