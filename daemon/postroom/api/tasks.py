"""Work that goes on when its caller is gone: a client that hangs up takes back its question, never its job."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar


T = TypeVar("T")


class Kept:
    """Runs work to its end in a task group of the daemon's own, whatever becomes of who waits for it."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group

    async def finish(self, work: Coroutine[object, object, T]) -> T:
        """What the work comes to. Cancelling the caller leaves the work running.

        Raises: what the work raises.
        """
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._group.create_task(_settle(work, answer))
        return await answer

    def leave(self, work: Coroutine[object, object, None]) -> None:
        """Run work that nobody waits for. What it raises ends the daemon: it answers for its own faults."""
        self._group.create_task(work)


async def _settle(work: Coroutine[object, object, T], answer: asyncio.Future[T]) -> None:
    try:
        value = await work
    except Exception as fault:  # noqa: BLE001 (the caller raises it; the group must live on)
        if not answer.done():
            answer.set_exception(fault)
    else:
        if not answer.done():
            answer.set_result(value)
