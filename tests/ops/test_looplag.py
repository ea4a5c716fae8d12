"""How late the loop wakes is looked at while there is work, and only then."""

import asyncio
from datetime import timedelta

from postroom.ops.looplag import LoopWatch
from support.clock import FakeClock, settle


async def test_every_look_says_how_late_it_was_and_an_idle_daemon_looks_no_more() -> None:
    clock = FakeClock()
    lags: list[timedelta] = []
    watch = LoopWatch(clock, lags.append)
    task = asyncio.get_running_loop().create_task(watch.run())
    await settle()
    clock.advance(3600)
    await settle()
    assert lags == []
    watch.committed([])
    for seconds in (0.01, 0.25, 0.01):
        await settle()
        clock.advance(seconds)
    await settle()
    assert [lag.total_seconds() for lag in lags] == [0, 0.24, 0]
    clock.advance(10)
    await settle()
    seen = len(lags)
    clock.advance(3600)
    await settle()
    assert len(lags) == seen
    watch.committed([])
    await settle()
    clock.advance(0.01)
    await settle()
    assert len(lags) == seen + 1
    task.cancel()
