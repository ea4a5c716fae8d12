"""What is under way: one task for each attempt, from its start in the store to its outcome in the store.

A relay's answer is never given up: if the store can not take it, it stays here and is tried until it is stored;
meanwhile no new mark is made (`outbound/backlog`). While the store keeps up, connection and slot are free as soon as
the dialogue is over, so that the next start shares a commit with this outcome.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from postroom.core.delivery import WAITING, DeliveryState
from postroom.core.instant import SECOND, Instant, Moment
from postroom.core.world import Reservation, World
from postroom.outbound.attempt import Attempts
from postroom.outbound.judge import Judge
from postroom.ports.account import Account
from postroom.ports.errors import RelayFault, StoreBroken, StoreError
from postroom.ports.host import Clock
from postroom.ports.looping import Bucket, MarkStopped, Outcome, Start, Started, WaitingRow
from postroom.ports.outbox import LoopStore
from postroom.ports.relay import RelayPool


STORE_AGAIN_S: Final = 0.5
INBOUND_LONG: Final = (
    30 * SECOND
)  # reading a mail takes seconds; after this somebody should look (CONTRACT §3)
LONG_AFTER_SLOW_S: Final = 30.0  # 30 s + this = the 60 s of the doubt storm (CONTRACT §2)

Landed = Callable[[WaitingRow, Instant | None], None]


@dataclass(frozen=True, slots=True)
class _Place:
    """What an attempt holds from its start on; `buckets` are the stored minutes in which it counts.

    New settings change none of it: it ends at the relay that it was started for.
    """

    world: World
    held: Reservation
    pool: RelayPool
    buckets: tuple[Bucket, ...]


class Flights:
    """Every attempt under way. `moved` is set when one of them gives something free before it ends."""

    def __init__(
        self,
        store: LoopStore,
        attempts: Attempts,
        pools: Mapping[str, RelayPool],
        judge: Judge,
        account: Account,
        clock: Clock,
    ) -> None:
        self._store = store
        self._attempts = attempts
        self._pools = pools
        self._judge = judge
        self._backlog = attempts.backlog
        self._account = account
        self._clock = clock
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._watches: dict[int, asyncio.Task[None]] = {}
        self._places: dict[int, _Place] = {}
        self._passed: dict[int, Instant] = {}
        self.taken: set[int] = set()
        self.moved = asyncio.Event()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is under way."""
        return not self.taken

    def pass_by(self, rows: Iterable[WaitingRow]) -> None:
        """A feed has read these and goes on behind those that are under way; when they land it comes back to where they lay."""
        for row in rows:
            if row.number in self.taken:
                before = self._passed.get(row.number, row.due_at)
                self._passed[row.number] = min(before, row.due_at)

    def resumed(self, mailbox_id: str) -> None:
        """A person set a mailbox free: what was held against it is forgotten."""
        self._judge.resumed(mailbox_id)

    def interrupt(self) -> None:
        """Give up every dialogue; the outcomes are still stored."""
        # One step of the loop later: what was launched in this one has begun by then, and frees its place.
        asyncio.get_running_loop().call_soon(self._give_up)

    def launch(
        self,
        group: asyncio.TaskGroup,
        world: World,
        row: WaitingRow,
        held: Reservation,
        landed: Landed,
    ) -> None:
        """Begin an attempt at a row that `admit` let go.

        `landed` is told when its place is free (None), and when it is over: from when on the row waits again, or None.
        That is the instant in the store, by which the row is found again: one that was put back keeps its place.
        """
        self.taken.add(row.number)
        pool = self._pools[world.relay.relay.id]
        place = _Place(world, held, pool, _buckets(world, held))
        self._places[row.number] = place
        self._tasks[row.number] = group.create_task(self._fly(group, place, row, landed))

    def _give_up(self) -> None:
        for number, task in self._tasks.items():
            if not self._backlog.has(number):  # else its dialogue is over
                task.cancel()

    async def _fly(
        self, group: asyncio.TaskGroup, place: _Place, row: WaitingRow, landed: Landed
    ) -> None:
        due_at = None
        try:
            started = await self._begin(place, row)
            if started is None:
                due_at = row.due_at
            else:
                due_at = await self._attempt(group, row, started, landed)
        finally:
            self.taken.discard(row.number)
            self._tasks.pop(row.number, None)
            self._free(row.number, reached_mail=False)
            passed = self._passed.pop(row.number, row.due_at)
            if due_at is not None and passed < row.due_at:  # moved, by a clock that has gone back
                due_at = min(due_at, passed)
            landed(row, due_at)

    def _free(self, number: int, *, reached_mail: bool) -> None:
        """The dialogue is over: another one may take its place."""
        place = self._places.pop(number, None)
        if place is None:
            return
        watch = self._watches.pop(number, None)
        if watch is not None:
            watch.cancel()
        self._judge.landed(place.world, number)
        place.world.release(place.held, reached_mail=reached_mail)

    async def _begin(self, place: _Place, row: WaitingRow) -> Started | None:
        """The started delivery, or None when it waits no more or the store did not answer."""
        world = place.world
        now = Moment(self._clock.now(), self._clock.monotonic())
        try:
            started = await self._store.start(
                Start(
                    number=row.number,
                    relay_id=world.relay.relay.id,
                    at=now.at,
                    buckets=place.buckets,
                    pace_at=_pace_at(world, now),
                )
            )
        except StoreBroken:
            raise
        except StoreError as problem:
            self._account.store_refused(problem)
            await self._clock.sleep(STORE_AGAIN_S)
            return None
        if isinstance(started, MarkStopped):
            if started.since is not None and now.at - started.since >= INBOUND_LONG:
                self._account.inbound_waits(row, started.since)
            return None
        if started is not None:
            self._account.started(started, row, now.at)
        return started

    async def _attempt(
        self,
        group: asyncio.TaskGroup,
        row: WaitingRow,
        started: Started,
        landed: Landed,
    ) -> Instant | None:
        """From when on the row may be due again (None = it is settled or held)."""
        began = self._clock.monotonic()
        place = self._places[row.number]
        world, held = place.world, place.held

        def on_slow() -> None:
            world.leave_slots(held)
            self.moved.set()
            self._watches[row.number] = group.create_task(self._watch(place, row.number))

        relay_id = world.relay.relay.id
        mailbox = world.mailbox.mailbox
        ended = await self._attempts.run(started, mailbox, place.pool, on_slow)
        if ended.stopped is not None:
            self._free(row.number, reached_mail=True)
            self._account.stopped(started, ended.stopped)
            return row.due_at if ended.stopped.state in WAITING else None
        if ended.fault is not None:
            self._account.relay_faulted(relay_id, RelayFault(ended.stage, ended.fault, ended.reply))
        give_back = () if ended.reached_mail else place.buckets
        outcome = self._judge.outcome(world, held, started, ended, give_back)
        if self._backlog.is_clear:  # else whoever came now would only wait for its mark
            self._free(row.number, reached_mail=ended.reached_mail)
            landed(row, None)
        state = await self._keep(outcome)
        self._free(row.number, reached_mail=ended.reached_mail)
        took = timedelta(microseconds=self._clock.monotonic() - began)
        self._account.ended(started, outcome, state, took)
        return _due_at(row, outcome, state)

    async def _keep(self, outcome: Outcome) -> DeliveryState:
        """Store an outcome, however long that takes; the state that it came to."""
        self._backlog.begin(outcome.number)
        try:
            while True:
                try:
                    return await self._store.finish(outcome)
                except StoreBroken:
                    raise
                except StoreError as problem:
                    self._backlog.refused(outcome.number)
                    self._account.store_refused(problem)
                    await self._clock.sleep(STORE_AGAIN_S)
        finally:
            self._backlog.end(outcome.number)

    async def _watch(self, place: _Place, number: int) -> None:
        """Tell the storm guard that a final reply is awaited for more than a minute, unless the mailbox became another."""
        await self._clock.sleep(LONG_AFTER_SLOW_S)
        world = place.world
        if world.is_about_mailbox(place.held) and self._judge.waits_long(world, number):
            await self._keep_breaker(world)

    async def _keep_breaker(self, world: World) -> None:
        """Store it now: what waits may wait for minutes, and a restart must not begin the storm anew."""
        mailbox = world.mailbox
        try:
            await self._store.keep_breaker(mailbox.mailbox.id, mailbox.breaker)
        except StoreBroken:
            raise
        except StoreError as problem:
            self._account.store_refused(problem)


def _due_at(row: WaitingRow, outcome: Outcome, state: DeliveryState) -> Instant | None:
    """From when on a row may be due that was moved by somebody else while it was under way, or by its outcome.

    Its feed has passed over it meanwhile, and looks again from this instant on. Only an outcome makes a retry of it; who
    moves it in time leaves it pending.
    """
    if state not in WAITING:
        return None
    return row.due_at if state is DeliveryState.PENDING else outcome.due_at


def _buckets(world: World, held: Reservation) -> tuple[Bucket, ...]:
    """The stored minutes in which this start counts: only where a bound looks back at them."""
    mailbox, relay = world.mailbox, world.relay
    found = []
    if mailbox.meter.has_windows:
        found.append(Bucket(f"m:{mailbox.mailbox.id}", held.minute, held.lane))
    if relay.meter.has_windows:
        found.append(Bucket(f"r:{relay.relay.id}", held.minute, held.lane))
    return tuple(found)


def _pace_at(world: World, now: Moment) -> tuple[tuple[str, Instant], ...]:
    """Where the pace per second stands, so that a restart gives no second burst."""
    found = []
    if world.mailbox.meter.second is not None:
        tat = world.mailbox.meter.second.tat
        found.append((f"m:{world.mailbox.mailbox.id}", now.when(tat)))
    if world.relay.meter.second is not None:
        found.append((f"r:{world.relay.relay.id}", now.when(world.relay.meter.second.tat)))
    return tuple(found)
