"""Waiting for a commit, for a while, and never longer than the daemon lives."""

import asyncio


async def wait_for_bell(bell: asyncio.Event, stopping: asyncio.Event, at_most_s: float) -> bool:
    """Return when the bell rings, the daemon stops or the time is over; False = it is over."""
    async with asyncio.TaskGroup() as group:
        waits = [group.create_task(bell.wait()), group.create_task(stopping.wait())]
        try:
            done, _ = await asyncio.wait(
                waits, timeout=at_most_s, return_when=asyncio.FIRST_COMPLETED
            )
            return bool(done)
        finally:
            for one in waits:
                one.cancel()
