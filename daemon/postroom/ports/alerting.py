"""Alerts as the store keeps them: what is raised, across restarts, and the events that tell of it."""

from typing import Protocol

from postroom.core.alert import Raised
from postroom.core.alertstate import Moves
from postroom.core.instant import Instant


class Alerts(Protocol):
    """What stands."""

    async def find_raised(self) -> tuple[Raised, ...]:
        """Every alert that is raised, the oldest first."""
        ...

    async def move(self, moves: Moves, at: Instant) -> tuple[Raised, ...]:
        """Raise and clear, each with its event, in one transaction; what was raised.

        Raises: StoreUnavailable, StorageFull, StoreBroken: nothing was.
        """
        ...
