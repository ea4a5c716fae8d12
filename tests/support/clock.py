"""Clocks that a test moves by hand, and chance that is none."""

import asyncio
import heapq

from postroom.core.instant import SECOND, Instant


START = Instant(1_764_572_400 * SECOND)  # 2025-12-01T07:00:00Z


class FakeClock:
    """Wall and monotonic time that stand still until `advance`."""

    def __init__(self, now: Instant = START) -> None:
        self._now = now
        self._monotonic = 1_000 * SECOND
        self._sleepers: list[tuple[int, int, asyncio.Event]] = []
        self._count = 0

    def now(self) -> Instant:
        return self._now

    def monotonic(self) -> int:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        wake = asyncio.Event()
        self._count += 1
        at = self._monotonic + int(seconds * SECOND)
        heapq.heappush(self._sleepers, (at, self._count, wake))
        await wake.wait()

    def advance(self, seconds: float) -> None:
        """Move both clocks on, and wake who slept until then."""
        self._now = Instant(self._now + int(seconds * SECOND))
        self._monotonic += int(seconds * SECOND)
        while self._sleepers and self._sleepers[0][0] <= self._monotonic:
            heapq.heappop(self._sleepers)[2].set()

    def jump(self, seconds: float) -> None:
        """Move the wall clock alone, as NTP or an operator does."""
        self._now = Instant(self._now + int(seconds * SECOND))


class HandClock:
    """Stands still until it is moved; whoever sleeps moves it, and wakes at once."""

    def __init__(self, now: Instant = START) -> None:
        self._now = now
        self._passed = 1_000 * SECOND

    def now(self) -> Instant:
        return self._now

    def monotonic(self) -> int:
        return self._passed

    def move(self, micros: int) -> None:
        self._now = Instant(self._now + micros)
        self._passed += micros

    async def sleep(self, seconds: float) -> None:
        self.move(int(seconds * SECOND))
        await asyncio.sleep(0)


class CountedEntropy:
    """1, 2, 3 …"""

    def __init__(self) -> None:
        self._last = 0

    def token(self, bits: int) -> int:
        self._last += 1
        return self._last

    def fraction(self) -> float:
        return 0.5


async def settle(rounds: int = 60) -> None:
    """Let every task run as far as it can without time moving."""
    for _ in range(rounds):
        await asyncio.sleep(0)


async def breathe() -> None:
    """Let real input and output happen; for loops that wait for a condition, with a bound of their own."""
    await asyncio.sleep(0.002)
