"""The delivery loop with nothing real around it, on a clock that the test moves."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Moment
from postroom.core.mailbox import Mailbox, Relay, Tls
from postroom.core.world import Host, World
from postroom.outbound.attempt import Attempts
from postroom.outbound.backlog import Backlog
from postroom.outbound.dispatch import Dispatcher
from postroom.outbound.flight import Flights
from postroom.outbound.judge import Judge
from postroom.ports.looping import LoopState
from postroom.service.worlds import Known
from support.clock import FakeClock, settle
from support.loop_outbox import FakeOutbox
from support.loop_parts import FakeComposer, FakeEntropy, FakePool, Told


SENDING, PENDING = DeliveryState.SENDING, DeliveryState.PENDING
SENT_STATE, FAILED = DeliveryState.SENT, DeliveryState.FAILED
RETRY = DeliveryState.RETRY_SCHEDULED


def relay(id_: str = "main", **changes: object) -> Relay:
    """A relay without limits of its own that matter."""
    base = Relay(id_, "relay.test", 25, Tls.NONE, concurrency=1000)
    return replace(base, **changes)  # type: ignore[arg-type]  # a test's own words


def mailbox(id_: str = "box", **changes: object) -> Mailbox:
    """A mailbox without limits that matter."""
    base = Mailbox(id_, f"{id_}@example.com", "", "main", concurrency=1000)
    return replace(base, **changes)  # type: ignore[arg-type]  # a test's own words


@dataclass(slots=True)
class Loop:
    """A dispatcher that runs on a fake clock."""

    clock: FakeClock
    store: FakeOutbox
    pools: Mapping[str, FakePool]
    dispatcher: Dispatcher
    flights: Flights
    host: Host
    worlds: Mapping[str, World]
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
    return Loop(clock, store, pools, dispatcher, flights, host, worlds, told)


def states(run: Loop, numbers: list[int]) -> Counter[DeliveryState]:
    """How many of these stand where."""
    return Counter(run.store.state(number) for number in numbers)
