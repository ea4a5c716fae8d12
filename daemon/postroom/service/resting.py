"""How a keeper rests: until its time has come, or until somebody tells it that there is more to do."""

import asyncio

from postroom.ports.host import Clock


async def rest(clock: Clock, bell: asyncio.Event, seconds: float) -> None:
    """Return when the bell rings, or so many seconds have passed; the bell has rung then."""
    async with asyncio.TaskGroup() as group:
        alarm = group.create_task(_ring(clock, bell, seconds))
        await bell.wait()
        alarm.cancel()


async def _ring(clock: Clock, bell: asyncio.Event, seconds: float) -> None:
    await clock.sleep(seconds)
    bell.set()
