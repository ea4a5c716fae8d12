"""The running daemon in figures, as the API sees it: depth, wait and outcomes, and whether all is well.

Nothing here asks the store for more than a few steps in indexes, however much waits: who watches must not be a burden.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from postroom import __version__
from postroom.core.alert import Raised
from postroom.core.breaker import Breaker, BreakerState
from postroom.core.mailbox import LaneShares
from postroom.core.pace import Meter
from postroom.core.world import RelayState, World
from postroom.inbound.listener import Listener
from postroom.ops.depth import Depth
from postroom.ops.inwardsignals import InwardSignals
from postroom.ops.lastminute import LastMinute
from postroom.ops.logwords import Scope
from postroom.ops.metrics import Picture, families, text_of
from postroom.ops.signals import Signals
from postroom.ports.errors import StorageFull, StoreError, StoreUnavailable
from postroom.ports.figures import InboundFigures, OpenBreaker, PaceUse, Stats, StoreFigures
from postroom.ports.host import Clock
from postroom.ports.loop import Readiness
from postroom.service.way import Way
from postroom.store.sqlite.outbox import Outbox
from postroom.store.sqlite.space import Room


_STORE_ANSWERS_S: Final = 5.0
# A relay is shared by mailboxes whose lanes may differ: what of its pace is used is the same for all.
_SHARES: Final = LaneShares()


@dataclass(frozen=True, slots=True)
class Counts:
    """What is counted in memory, and the alerts that stand. `listener` None = mail comes in nowhere."""

    depth: Depth
    signals: Signals
    inward: InwardSignals
    minute: LastMinute
    listener: Listener | None
    alerts: Callable[[], tuple[Raised, ...]]


class SignalsView:
    """Implements ports.loop.Signals."""

    def __init__(self, outbox: Outbox, counts: Counts, way: Way, clock: Clock) -> None:
        self._outbox = outbox
        self._counts = counts
        self._way = way
        self._clock = clock
        self._started_at = clock.now()
        # Of its own: those of the loop may all wait for a name server, when somebody wants to know.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")

    async def stats(self) -> Stats:
        """Depth, wait and outcomes as of now, and what stands behind them."""
        now, mono = self._clock.now(), self._clock.monotonic()
        counts, worlds = self._counts, self._way.worlds
        breakers = dict(_breakers(worlds.values()))
        return Stats(
            at=now,
            started_at=self._started_at,
            in_flight=self._way.under_way,
            slots=self._way.host.slots,
            depth=counts.depth.counts(),
            oldest_due=await self._outbox.reader.oldest_due(now),
            outcomes=counts.signals.words(),
            loop_lag_max=counts.signals.loop_lag_max,
            last_minute=counts.minute.flows(),
            paused={
                box: one.mailbox.paused_by for box, one in worlds.items() if one.mailbox.paused_by
            },
            breakers=tuple(
                _open_breaker(scope, id_, one)
                for (scope, id_), one in breakers.items()
                if not one.is_closed
            ),
            pace=tuple(_paces(worlds, mono)),
            connections={id_: pool.connections for id_, pool in self._way.pools.items()},
            consumers=await self._outbox.leases.find_waiting(now),
            lease_expiries=counts.inward.expiries.total(),
            events_dead=counts.inward.dead.total(),
            inbound=await self._inbound(),
            store=self._store(),
            alerts=counts.alerts(),
        )

    async def metrics_text(self) -> str:
        """The same and more for Prometheus."""
        signals = self._counts.signals
        worlds = self._way.worlds.values()
        signals.breakers.clear()  # of what is not in the settings any more nothing is told
        for (scope, id_), breaker in _breakers(worlds):
            signals.breaker_stands(scope, id_, breaker)
        stats = await self.stats()
        slowed = _count_slowed([world.relay for world in worlds], self._clock.monotonic())
        collected = []
        for metric in families(signals, self._counts.inward, Picture(__version__, stats, slowed)):
            collected.append(metric)
            await self._clock.sleep(0)  # of a thousand mailboxes all take a tenth of a second
        return await asyncio.get_running_loop().run_in_executor(self._thread, text_of, collected)

    async def readiness(self) -> Readiness:
        """Whether the store takes writes and has room for jobs: recovery is done before anybody can ask."""
        try:
            async with asyncio.timeout(_STORE_ANSWERS_S):
                await self._outbox.database.probe_write()
            self._outbox.space.check()
        except StorageFull:
            return Readiness(is_ready=False, detail="the disk is full: nothing new is accepted")
        except (StoreError, TimeoutError):
            return Readiness(is_ready=False, detail="the store takes no writes")
        return Readiness(is_ready=True, detail="")

    async def _inbound(self) -> InboundFigures:
        inward, listener = self._counts.inward, self._counts.listener
        return InboundFigures(
            received=inward.received,
            refused=inward.refusals.total(),
            set_aside=inward.set_aside,
            waiting=inward.waiting,
            oldest_at=await self._outbox.inbox.find_oldest(),
            sessions=None if listener is None else listener.sessions,
        )

    def _store(self) -> StoreFigures:
        writer = self._outbox.database.stats()
        room: Room | None = None
        with suppress(StoreUnavailable):
            room = self._outbox.space.look()
        counted = room if room is not None and room.inodes.total else None
        return StoreFigures(
            commits=writer.commits,
            units=writer.units,
            busy=timedelta(microseconds=writer.busy),
            waiting=writer.waiting,
            wal_bytes=self._outbox.database.wal_bytes(),
            disk_free=None if room is None else room.free,
            disk_kept=None if room is None else room.kept,
            files_free=None if counted is None else counted.inodes.free,
            files_kept=None if counted is None else counted.files_kept,
        )


def _breakers(worlds: Iterable[World]) -> Iterator[tuple[tuple[Scope, str], Breaker]]:
    for world in worlds:
        yield (Scope.RELAY, world.relay.relay.id), world.relay.breaker
        yield (Scope.MAILBOX, world.mailbox.mailbox.id), world.mailbox.breaker


def _open_breaker(scope: Scope, id_: str, breaker: Breaker) -> OpenBreaker:
    probe_at = breaker.probe_at if breaker.state is BreakerState.OPEN else None
    return OpenBreaker(scope, id_, breaker.state, breaker.reason, probe_at)


def _paces(worlds: Mapping[str, World], mono: int) -> Iterator[PaceUse]:
    relays = {one.relay.relay.id: one.relay for one in worlds.values()}
    for id_, relay in relays.items():
        yield from _uses(Scope.RELAY, id_, relay.meter, _SHARES, mono)
    for id_, world in worlds.items():
        box = world.mailbox
        yield from _uses(Scope.MAILBOX, id_, box.meter, box.mailbox.lanes, mono)


def _uses(scope: Scope, id_: str, meter: Meter, shares: LaneShares, mono: int) -> Iterator[PaceUse]:
    for per, bound in meter.bounds(shares, mono).items():
        yield PaceUse(scope, id_, per, bound.used, bound.allowed)


def _count_slowed(relays: Iterable[RelayState], mono: int) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for relay in relays:
        found[relay.relay.id, "relay"] = int(relay.total.slowed(mono) is not None)
        found[relay.relay.id, "domain"] = len(relay.slow_domains(mono))
    return found
