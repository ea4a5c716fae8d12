"""The running daemon in figures, as the API sees it: depth, wait and outcomes, and whether all is well."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from postroom import __version__
from postroom.core.world import RelayState
from postroom.ops.depth import Depth
from postroom.ops.logwords import Scope
from postroom.ops.metrics import Picture, StoreFigures, metrics_text
from postroom.ops.signals import Signals
from postroom.ports.errors import StorageFull, StoreError
from postroom.ports.host import Clock
from postroom.ports.loop import Readiness, Stats
from postroom.service.way import Way
from postroom.store.sqlite.outbox import Outbox


_STORE_ANSWERS_S: Final = 5.0


class SignalsView:
    """Implements ports.loop.Signals."""

    def __init__(
        self,
        outbox: Outbox,
        depth: Depth,
        signals: Signals,
        way: Way,
        clock: Clock,
    ) -> None:
        self._outbox = outbox
        self._depth = depth
        self._signals = signals
        self._way = way
        self._clock = clock
        self._started_at = clock.now()

    async def stats(self) -> Stats:
        """Depth, wait and outcomes as of now."""
        now = self._clock.now()
        return Stats(
            at=now,
            started_at=self._started_at,
            in_flight=self._way.under_way,
            slots=self._way.host.slots,
            depth=self._depth.counts(),
            oldest_due=await self._outbox.reader.oldest_due(now),
            outcomes=self._signals.words(),
            loop_lag_max=self._signals.loop_lag_max,
        )

    async def metrics_text(self) -> str:
        """The same and more for Prometheus."""
        now = self._clock.now()
        self._signals.breakers.clear()  # of what is not in the settings any more nothing is told
        for world in self._way.worlds.values():
            mailbox, relay = world.mailbox, world.relay
            self._signals.breaker_stands(Scope.MAILBOX, mailbox.mailbox.id, mailbox.breaker)
            self._signals.breaker_stands(Scope.RELAY, relay.relay.id, relay.breaker)
        mono = self._clock.monotonic()
        writer = self._outbox.database.stats()
        picture = Picture(
            at=now,
            version=__version__,
            in_flight=self._way.under_way,
            slots=self._way.host.slots,
            depth=self._depth.counts(),
            oldest_due=await self._outbox.reader.oldest_due(now),
            connections={id_: pool.connections for id_, pool in self._way.pools.items()},
            slowed=_count_slowed([world.relay for world in self._way.worlds.values()], mono),
            store=StoreFigures(
                commits=writer.commits,
                units=writer.units,
                busy=timedelta(microseconds=writer.busy),
                waiting=writer.waiting,
            ),
        )
        return metrics_text(self._signals, picture)

    async def readiness(self) -> Readiness:
        """Whether the store answers and has room for jobs: recovery is done before anybody can ask."""
        try:
            async with asyncio.timeout(_STORE_ANSWERS_S):
                await self._outbox.database.probe()
            self._outbox.space.check()
        except StorageFull:
            return Readiness(is_ready=False, detail="the disk is full: nothing new is accepted")
        except (StoreError, TimeoutError):
            return Readiness(is_ready=False, detail="the store does not answer")
        return Readiness(is_ready=True, detail="")


def _count_slowed(relays: Iterable[RelayState], mono: int) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for relay in relays:
        found[relay.relay.id, "relay"] = int(relay.total.slowed(mono) is not None)
        found[relay.relay.id, "domain"] = len(relay.slow_domains(mono))
    return found
