"""The delivery loop with nothing real around it: an outbox in memory, relays that do what a test says."""

import asyncio
import bisect
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Self

from postroom.core.admit import Wait
from postroom.core.body import Body
from postroom.core.breaker import Breaker
from postroom.core.delivery import WAITING, DeliveryState
from postroom.core.instant import Instant, Moment
from postroom.core.mailbox import Lane, Mailbox, Relay, Tls
from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.core.speed import SpeedMoved
from postroom.core.world import Host
from postroom.outbound.attempt import Attempts
from postroom.outbound.backlog import Backlog
from postroom.outbound.dispatch import Dispatcher
from postroom.outbound.flight import Flights
from postroom.outbound.judge import Judge
from postroom.ports.changes import RowsGone, RowsWaiting
from postroom.ports.errors import RelayFault
from postroom.ports.looping import (
    DomainPause,
    LoopState,
    MarkStopped,
    Outcome,
    Start,
    Started,
    WaitingRow,
)
from postroom.ports.relay import Dialogue, Envelope, Unfit
from postroom.service.worlds import Known
from support.clock import FakeClock, settle


def relay(id_: str = "main", **changes: object) -> Relay:
    """A relay without limits of its own that matter."""
    base = Relay(id_, "relay.test", 25, Tls.NONE, concurrency=1000)
    return replace(base, **changes)  # type: ignore[arg-type]  # a test's own words


def mailbox(id_: str = "box", **changes: object) -> Mailbox:
    """A mailbox without limits that matter."""
    base = Mailbox(id_, f"{id_}@example.com", "", "main", concurrency=1000)
    return replace(base, **changes)  # type: ignore[arg-type]  # a test's own words


def reply(code: int, text: str = "") -> SmtpReply:
    """A reply."""
    return SmtpReply(code, None, text, text.encode())


@dataclass(slots=True)
class Row:
    """A delivery of the fake outbox."""

    waiting: WaitingRow
    claim: int = 0
    attempts: int = 0
    series_attempts: int = 0
    started_at: Instant | None = None
    outcome: Outcome | None = None


class FakeOutbox:
    """ports.outbox.LoopStore in memory. `stops` says what the mark answers; `failing` counts calls that fail."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.rows: dict[int, Row] = {}
        self.stops: dict[int, MarkStopped] = {}
        self.finish_failures: list[Exception] = []
        self.observer: Dispatcher | None = None
        self.starts: list[int] = []
        self.breakers: dict[str, Breaker] = {}
        self._queues: dict[tuple[str, Lane], list[tuple[Instant, int]]] = {}

    def add(
        self,
        mailbox_id: str,
        lane: Lane = Lane.STANDARD,
        domain: str = "customer.example",
        **more: object,
    ) -> int:
        """A pending delivery, told to the loop."""
        number = len(self.rows) + 1
        base = WaitingRow(
            number=number,
            mailbox_id=mailbox_id,
            lane=lane,
            domain=domain,
            due_at=self.clock.now(),
            state=DeliveryState.PENDING,
            not_after=None,
            has_attachments=False,
            is_suspect=False,
        )
        self.rows[number] = Row(replace(base, **more))  # type: ignore[arg-type]  # a test's own words
        self._enter(self.rows[number].waiting)
        return number

    def state(self, number: int) -> DeliveryState:
        """Where a delivery stands."""
        return self.rows[number].waiting.state

    def _enter(self, row: WaitingRow) -> None:
        bisect.insort(
            self._queues.setdefault((row.mailbox_id, row.lane), []), (row.due_at, row.number)
        )
        if self.observer is not None:
            self.observer.committed([RowsWaiting(row.mailbox_id, row.lane, row.due_at, row.domain)])

    def _leave(self, row: WaitingRow) -> None:
        queue = self._queues[row.mailbox_id, row.lane]
        del queue[bisect.bisect_left(queue, (row.due_at, row.number))]

    async def load(self) -> LoopState:
        return LoopState((), (), (), ())

    async def find_mailbox_queues(self) -> tuple[tuple[str, Lane], ...]:
        return tuple(key for key, queue in self._queues.items() if queue)

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
        queue = self._queues.get((mailbox_id, lane), [])
        found: list[WaitingRow] = []
        start = 0 if after is None else bisect.bisect_right(queue, after)
        for _, number in queue[start:]:
            row = self.rows[number].waiting
            if row.domain in skip or domain not in (None, row.domain):
                continue
            found.append(row)
            if len(found) == limit:
                break
        await settle(1)
        return tuple(found)

    async def start(self, start: Start) -> Started | None:
        await settle(1)
        row = self.rows[start.number]
        if row.waiting.state not in WAITING or row.waiting.due_at > start.at:
            return None
        self._leave(row.waiting)
        row.waiting = replace(row.waiting, state=DeliveryState.SENDING)
        row.claim += 1
        row.started_at = row.started_at or start.at
        self.starts.append(start.number)
        return Started(
            number=start.number,
            claim=row.claim,
            job_number=start.number,
            mailbox_id=row.waiting.mailbox_id,
            trace_id="trace",
            recipient=f"r{start.number}@{row.waiting.domain}",
            domain=row.waiting.domain,
            lane=row.waiting.lane,
            message_id="<m@example.com>",
            head=b"Subject: x\r\n",
            body=Body((b"\r\nx\r\n",), 5),
            date_at=start.at,
            not_after=row.waiting.not_after,
            attempts=row.attempts,
            series_attempts=row.series_attempts,
            series_started_at=row.started_at,
            deferrals=0,
            crashes=0,
            doubts=0,
        )

    async def mark(self, number: int, claim: int, at: Instant) -> Instant | MarkStopped:
        await settle(1)
        stop = self.stops.pop(number, None)
        if stop is None:
            return at
        row = self.rows[number]
        row.waiting = replace(row.waiting, state=stop.state, due_at=at)
        if stop.state in WAITING:
            self._enter(row.waiting)
        return stop

    async def finish(self, outcome: Outcome) -> DeliveryState:
        await settle(1)
        if self.finish_failures:
            raise self.finish_failures.pop()
        row = self.rows[outcome.number]
        row.outcome = outcome
        row.attempts += outcome.counts_attempt
        row.series_attempts += outcome.counts_series
        due_at = outcome.due_at or row.waiting.due_at
        row.waiting = replace(row.waiting, state=outcome.after, due_at=due_at)
        if outcome.after in WAITING:
            self._enter(row.waiting)
        return outcome.after

    async def keep_breaker(self, mailbox_id: str, breaker: Breaker) -> None:
        await settle(1)
        self.breakers[mailbox_id] = breaker

    async def pull_in(
        self, mailbox_id: str, lane: Lane, now: Instant, latest: Instant, limit: int
    ) -> int:
        beyond = [
            row
            for row in self.rows.values()
            if (row.waiting.mailbox_id, row.waiting.lane) == (mailbox_id, lane)
            and row.waiting.state is DeliveryState.RETRY_SCHEDULED
            and row.waiting.due_at > latest
        ]
        for row in beyond:
            self._leave(row.waiting)
            assert self.observer is not None
            self.observer.committed([RowsGone((row.waiting.number,))])
            row.waiting = replace(row.waiting, due_at=latest)
            self._enter(row.waiting)
        return len(beyond)

    async def end_expired(self, now: Instant, limit: int) -> int:
        count = 0
        for row in self.rows.values():
            if row.waiting.state in WAITING and (row.waiting.not_after or now) < now:
                self._leave(row.waiting)
                row.waiting = replace(row.waiting, state=DeliveryState.FAILED)
                count += 1
        return count


SENT = Dialogue(
    stage=Stage.DOT,
    reply=reply(250, "2.0.0 Ok: queued as 4ABC"),
    fault=None,
    reached_mail=True,
    is_marked=True,
    is_dotted=True,
    is_stopped=False,
    is_reusable=True,
)


def refused(stage: Stage, code: int, text: str = "") -> Dialogue:
    """A transaction that was refused at a stage."""
    return replace(
        SENT, stage=stage, reply=reply(code, text), is_marked=False, is_dotted=stage is Stage.DOT
    )


Script = Callable[[Envelope], Dialogue | RelayFault | Awaitable[Dialogue]]


@dataclass(slots=True)
class FakePool:
    """ports.relay.RelayPool: every session does what `script` says of an envelope; what was transacted is recorded."""

    script: Script = lambda envelope: SENT
    envelopes: list[Envelope] = field(default_factory=list)
    is_slow: bool = False
    borrowed: int = 0
    dials: int = 0

    async def borrow(self) -> "FakePool":
        self.dials += 1
        probe = self.script(Envelope("", "", "", 0))
        if isinstance(probe, RelayFault):
            raise probe
        self.borrowed += 1
        return self

    def give_back(self, session: object, *, is_reusable: bool) -> None:
        self.borrowed -= 1

    async def close(self) -> None:
        return

    async def transact(
        self,
        envelope: Envelope,
        content: Callable[[], AsyncIterator[bytes]],
        mark: Callable[[], Awaitable[bool]],
        on_slow: Callable[[], None],
    ) -> Dialogue | Unfit:
        self.envelopes.append(envelope)
        said = self.script(envelope)
        if isinstance(said, RelayFault):
            raise said
        if self.is_slow:
            on_slow()
        answer = said if isinstance(said, Dialogue) else await said
        if answer.is_marked and not await mark():
            return replace(answer, reply=None, is_marked=False, is_dotted=False, is_stopped=True)
        return answer


class FakeComposer:
    """outbound.compose.Composer without files."""

    async def check_pins(self, body: Body) -> ReasonCode | None:
        return None

    def content(
        self, date_line: bytes, head: bytes, body: Body
    ) -> Callable[[], AsyncIterator[bytes]]:
        async def pieces() -> AsyncIterator[bytes]:
            yield date_line + head + b"".join(s for s in body.segments if isinstance(s, bytes))

        return pieces


class FakeEntropy:
    """No chance at all."""

    def token(self, bits: int) -> int:
        return 1 << (bits - 1)

    def fraction(self) -> float:
        return 0.5


@dataclass(slots=True)
class Told:
    """ports.account.Account that remembers."""

    lines: list[tuple[object, ...]] = field(default_factory=list)

    def started(self, started: Started, row: WaitingRow, at: Instant) -> None:
        self.lines.append(("started", started.number, at - row.due_at))

    def stopped(self, started: Started, stopped: MarkStopped) -> None:
        self.lines.append(("stopped", started.number, stopped.reason_code))

    def ended(
        self, started: Started, outcome: Outcome, state: DeliveryState, took: timedelta
    ) -> None:
        self.lines.append(("ended", started.number, state))

    def waited(self, mailbox_id: str, wait: Wait) -> None:
        self.lines.append(("waited", mailbox_id, wait.gate.name))

    def relay_faulted(self, relay_id: str, fault: RelayFault) -> None:
        self.lines.append(("relay_faulted", relay_id, fault.detail))

    def breaker_moved(self, scope: str, id_: str, before: Breaker, after: Breaker) -> None:
        self.lines.append(("breaker", scope, id_, after.state, after.reason))

    def domain_paused(self, pause: DomainPause) -> None:
        self.lines.append(("domain_paused", pause.domain))

    def speed_moved(self, moved: SpeedMoved) -> None:
        self.lines.append(("speed", moved.domain, moved.after and moved.after.share))

    def expired(self, count: int) -> None:
        self.lines.append(("expired", count))

    def store_refused(self, error: Exception) -> None:
        self.lines.append(("store_refused", str(error)))


@dataclass(slots=True)
class Loop:
    """A dispatcher that runs on a fake clock."""

    clock: FakeClock
    store: FakeOutbox
    pools: Mapping[str, FakePool]
    dispatcher: Dispatcher
    flights: Flights
    host: Host
    told: Told
    task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self.task = asyncio.get_running_loop().create_task(self.dispatcher.run())
        await settle()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.task is not None
        self.dispatcher.drain()
        self.dispatcher.interrupt()
        self.clock.advance(3600)
        await self.task

    async def run(self, seconds: float, step: float = 1.0) -> None:
        """Let time pass in steps."""
        for _ in range(round(seconds / step)):
            self.clock.advance(step)
            await settle()


def loop(*mailboxes: Mailbox, relays: tuple[Relay, ...] = (), slots: int = 200) -> Loop:
    """A loop for these mailboxes, not yet running."""
    clock, told = FakeClock(), Told()
    store = FakeOutbox(clock)
    host = Host(slots)
    boxes = {one.id: one for one in mailboxes}
    all_relays = {one.id: one for one in (relays or (relay(),))}
    worlds = Known().worlds(
        boxes, all_relays, LoopState((), (), (), ()), host, Moment(clock.now(), clock.monotonic())
    )
    pools = {id_: FakePool() for id_ in all_relays}
    attempts = Attempts(store, FakeComposer(), Backlog(clock), clock)
    judge = Judge(told, clock, FakeEntropy())
    flights = Flights(store, attempts, pools, judge, told, clock)
    dispatcher = Dispatcher(store, worlds, host, flights, told, clock)
    store.observer = dispatcher
    return Loop(clock, store, pools, dispatcher, flights, host, told)


SENDING, PENDING = DeliveryState.SENDING, DeliveryState.PENDING
SENT_STATE, FAILED = DeliveryState.SENT, DeliveryState.FAILED
RETRY = DeliveryState.RETRY_SCHEDULED


def states(run: Loop, numbers: list[int]) -> Counter[DeliveryState]:
    return Counter(run.store.state(number) for number in numbers)
