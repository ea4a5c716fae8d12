"""The way out as it stands: the host's slots, a world for each mailbox, a pool for each relay; and how it changes."""

from collections.abc import Callable, Mapping

from postroom.config.settings import Settings
from postroom.core.instant import Moment
from postroom.core.mailbox import Relay
from postroom.core.world import Host, World
from postroom.outbound.pool import Pool
from postroom.ports.looping import LoopState
from postroom.service.live import Live
from postroom.service.worlds import Known


class Way:
    """Worlds by mailbox, pools by relay. `make_pool` makes the connections of a relay, none of them open yet."""

    def __init__(self, host: Host, make_pool: Callable[[Relay], Pool]) -> None:
        self.host = host
        self._make_pool = make_pool
        self._known = Known()
        self._worlds: Live[World] = Live({})
        self._pools: Live[Pool] = Live({})
        self._retired: list[Pool] = []

    @property
    def worlds(self) -> Mapping[str, World]:
        """Those in the settings, now and later."""
        return self._worlds

    @property
    def pools(self) -> Mapping[str, Pool]:
        """Those in the settings, now and later."""
        return self._pools

    @property
    def under_way(self) -> int:
        """Deliveries under way."""
        return self.host.in_slots + self.host.slow

    def switch(self, settings: Settings, stored: LoopState, now: Moment) -> None:
        """Go on with these settings, in one step.

        Attempts under way keep the world and the pool that they began with: a pool whose relay is gone serves them to
        their end, and is left by each connection as it comes back.
        """
        self.host.slots = settings.daemon.slots
        known, relays = self._known, settings.relays
        self._worlds.become(
            known.worlds(settings.mailboxes, relays, stored, self.host, now),
        )
        pools = {}
        for relay_id, relay in relays.items():
            pool = self._pools.get(relay_id)
            if pool is None:
                pool = self._make_pool(relay)
            else:
                pool.switch(relay)
            pools[relay_id] = pool
        gone = [pool for relay_id, pool in self._pools.items() if relay_id not in relays]
        for pool in gone:
            pool.retire()
        self._retired = [pool for pool in (*self._retired, *gone) if pool.connections]
        self._pools.become(pools)

    async def close(self) -> None:
        """Hang up on every relay."""
        for pool in (*self._pools.values(), *self._retired):
            await pool.close()
