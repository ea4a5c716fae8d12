"""The heartbeat: measures how late the loop wakes, asks whether all is well, and only then gives a sign of life.

A loop that is stuck, or a store that does not answer, lets systemd's watchdog run out: the daemon is restarted.
Without a watchdog it still measures, seldom enough that an idle daemon stays idle.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from postroom.core.instant import micros
from postroom.ops.supervisor import Supervisor
from postroom.ports.host import Clock


_UNWATCHED: Final = timedelta(seconds=60)
_SOON: Final = timedelta(
    seconds=1
)  # a beat that was withheld is made up for before the watchdog runs out
_TOO_LATE: Final = timedelta(seconds=1)
_BEATS: Final = 2  # in one watchdog interval, as sd_watchdog_enabled(3) advises
_LATE: Final = "the loop wakes too late"
_MUTE: Final = "the store does not answer"


class Heartbeat:
    """Beats until it is cancelled. `is_well` asks the store; `on_lag` and `on_withheld` hear what was found."""

    def __init__(
        self,
        clock: Clock,
        supervisor: Supervisor,
        *,
        is_well: Callable[[], Awaitable[bool]],
        on_lag: Callable[[timedelta], None],
        on_withheld: Callable[[str, timedelta], None],
    ) -> None:
        self._clock = clock
        self._supervisor = supervisor
        self._is_well = is_well
        self._on_lag = on_lag
        self._on_withheld = on_withheld
        due = supervisor.watchdog
        self._interval = due / _BEATS if due else _UNWATCHED

    async def run(self) -> None:
        """Beat for ever."""
        wait = self._interval
        while True:
            wait = self._interval if await self._beat(wait) else min(_SOON, self._interval)

    async def _beat(self, wait: timedelta) -> bool:
        lag = await self._lag_of(wait)
        self._on_lag(lag)
        reason = await self._find_trouble(lag)
        if reason:
            self._on_withheld(reason, lag)
            return False
        self._supervisor.alive()
        return True

    async def _lag_of(self, wait: timedelta) -> timedelta:
        """How much later than `wait` the loop woke."""
        begun = self._clock.monotonic()
        await self._clock.sleep(wait.total_seconds())
        slept = self._clock.monotonic() - begun
        return timedelta(microseconds=max(0, slept - micros(wait)))

    async def _find_trouble(self, lag: timedelta) -> str | None:
        if lag >= _TOO_LATE:
            return _LATE
        try:
            async with asyncio.timeout(self._interval.total_seconds()):
                return None if await self._is_well() else _MUTE
        except TimeoutError:
            return _MUTE
