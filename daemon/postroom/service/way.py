"""The way out as it stands: the host's slots, a world for each mailbox, a pool for each relay."""

from collections.abc import Mapping
from dataclasses import dataclass

from postroom.core.world import Host, World
from postroom.outbound.pool import Pool


@dataclass(frozen=True, slots=True)
class Way:
    """Worlds by mailbox, pools by relay."""

    host: Host
    worlds: Mapping[str, World]
    pools: Mapping[str, Pool]

    @property
    def under_way(self) -> int:
        """Deliveries under way."""
        return self.host.in_slots + self.host.slow

    async def close(self) -> None:
        """Hang up on every relay."""
        for pool in self.pools.values():
            await pool.close()
