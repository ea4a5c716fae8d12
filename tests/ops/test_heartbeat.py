"""The watchdog is fed only while the loop wakes in time and the store answers."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from postroom.ops.heartbeat import Heartbeat
from postroom.ops.supervisor import Supervisor
from support.ops_clock import LateClock


class CountingSupervisor(Supervisor):
    """Counts signs of life."""

    beats = 0

    def alive(self) -> None:
        type(self).beats += 1


async def _yes() -> bool:
    return True


async def _beat(
    clock: LateClock,
    is_well: Callable[[], Awaitable[bool]] = _yes,
    watchdog: timedelta | None = timedelta(seconds=30),
) -> tuple[int, list[float], list[str]]:
    """Signs of life, lags in seconds and reasons of those withheld, until the clock's lags are used up."""
    lags: list[float] = []
    withheld: list[str] = []
    CountingSupervisor.beats = 0
    heart = Heartbeat(
        clock,
        CountingSupervisor(None, watchdog),
        is_well=is_well,
        on_lag=lambda lag: lags.append(lag.total_seconds()),
        on_withheld=lambda reason, lag: withheld.append(reason),
    )
    task = asyncio.get_running_loop().create_task(heart.run())
    async with asyncio.timeout(5):
        await clock.is_over.wait()
    task.cancel()
    return CountingSupervisor.beats, lags, withheld


async def test_a_well_daemon_beats_twice_in_an_interval() -> None:
    clock = LateClock(0, 0.25)
    assert await _beat(clock) == (2, [0, 0.25], [])
    assert clock.slept == [15, 15]


async def test_without_a_watchdog_it_looks_every_half_minute() -> None:
    clock = LateClock(0, 0)
    await _beat(clock, watchdog=None)
    assert clock.slept == [60, 60]


async def test_a_loop_that_woke_too_late_is_looked_at_again_soon() -> None:
    clock = LateClock(1.5, 0)
    assert await _beat(clock) == (1, [1.5, 0], ["the loop wakes too late"])
    assert clock.slept == [15, 1]


async def test_a_store_that_says_no_gets_no_sign_of_life() -> None:
    async def no() -> bool:
        return False

    assert await _beat(LateClock(0), no) == (0, [0], ["the store does not answer"])


async def test_a_store_that_never_answers_gets_no_sign_of_life() -> None:
    async def never() -> bool:
        await asyncio.Event().wait()
        return True

    reasons: list[str] = []
    withheld = asyncio.Event()

    def note(reason: str, lag: timedelta) -> None:
        reasons.append(reason)
        withheld.set()

    heart = Heartbeat(
        LateClock(0),
        Supervisor(None, timedelta(milliseconds=20)),
        is_well=never,
        on_lag=lambda lag: None,
        on_withheld=note,
    )
    task = asyncio.get_running_loop().create_task(heart.run())
    async with asyncio.timeout(5):
        await withheld.wait()
    task.cancel()
    assert reasons == ["the store does not answer"]
