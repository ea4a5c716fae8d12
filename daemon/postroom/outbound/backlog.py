"""How many answers of relays are not stored yet, and for how long.

Every new mark adds to what a crash would make uncertain, so marks wait while more than 1,000 outcomes, or one older
than 2 s, are uncommitted, and while the store refuses one.
"""

import asyncio
from typing import Final

from postroom.core.instant import SECOND
from postroom.ports.host import Clock


MOST_UNSTORED: Final = 1_000
LONGEST_UNSTORED: Final = 2 * SECOND


class Backlog:
    """Outcomes on their way into the store, oldest first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[int, int] = {}
        self._refused: set[int] = set()
        self._moved = asyncio.Event()

    @property
    def is_clear(self) -> bool:
        """Whether another mark may be made."""
        if self._refused or len(self._since) >= MOST_UNSTORED:
            return False
        oldest = next(iter(self._since.values()), None)
        return oldest is None or self._clock.monotonic() - oldest < LONGEST_UNSTORED

    def begin(self, number: int) -> None:
        """The outcome of this delivery is known and not stored."""
        self._since[number] = self._clock.monotonic()

    def refused(self, number: int) -> None:
        """The store could not take it; it is going to be tried again."""
        self._refused.add(number)

    def end(self, number: int) -> None:
        """It is stored."""
        self._since.pop(number, None)
        self._refused.discard(number)
        self._moved.set()

    def has(self, number: int) -> bool:
        """Whether the outcome of this delivery is on its way into the store."""
        return number in self._since

    async def clear(self) -> None:
        """Return when another mark may be made."""
        while not self.is_clear:
            self._moved.clear()
            await self._moved.wait()
