"""How late the loop wakes while there is work: finer than the heartbeat, and nothing at all while the daemon is idle.

Work is what commits: mail that was accepted, sent, received or read, leases, outcomes. Known limit: what holds the loop
up for less than the distance of two looks may be measured shorter by as much.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from postroom.core.instant import SECOND, micros
from postroom.ports.changes import Change
from postroom.ports.host import Clock


_STEP: Final = timedelta(milliseconds=10)  # 100 looks a second take some 0.3 % of a core
_GOES_ON: Final = timedelta(
    seconds=10
)  # after a commit: as long as reading a received mail may take


class LoopWatch:
    """Looks while work goes on; an Observer. `on_lag` hears how late each look was."""

    def __init__(self, clock: Clock, on_lag: Callable[[timedelta], None]) -> None:
        self._clock = clock
        self._on_lag = on_lag
        self._until = 0
        self._bell = asyncio.Event()

    def committed(self, _changes: Sequence[Change]) -> None:
        """There is work."""
        self._until = self._clock.monotonic() + micros(_GOES_ON)
        self._bell.set()

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self._bell.wait()
            self._bell.clear()
            begun = self._clock.monotonic()
            while begun < self._until:
                await self._clock.sleep(micros(_STEP) / SECOND)
                now = self._clock.monotonic()
                self._on_lag(timedelta(microseconds=max(0, now - begun - micros(_STEP))))
                begun = now
