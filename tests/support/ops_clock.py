"""A clock for the parts that watch the daemon: time passes by sleeping, and as late as a test wants."""

import asyncio
from collections.abc import Awaitable

from postroom.core.instant import SECOND, Instant


class LateClock:
    """Each sleep takes as long as it was asked to and the next of `lags` (seconds) more; then `is_over` is set and it hangs."""

    def __init__(self, *lags: float, now: int = 1_764_486_000 * SECOND) -> None:
        self._lags = list(lags)
        self._now = now
        self._passed = 0
        self.slept: list[float] = []
        self.is_over = asyncio.Event()

    def now(self) -> Instant:
        return Instant(self._now + self._passed)

    def monotonic(self) -> int:
        return self._passed

    def pass_(self, seconds: float) -> None:
        self._passed += round(seconds * SECOND)

    def sleep(self, seconds: float) -> Awaitable[None]:
        return self._sleep(seconds)

    async def _sleep(self, seconds: float) -> None:
        if not self._lags:
            self.is_over.set()
            await asyncio.Event().wait()
        self.slept.append(seconds)
        self.pass_(seconds + self._lags.pop(0))
