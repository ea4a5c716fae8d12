"""Work that goes on when its caller is gone: a client that hangs up takes back its question, never its job.

Where the daemon ends, nothing begins any more; of work that is cut off nobody knows what it stored, so who waits for it
is hung up on and asks again, under its key.
"""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from postroom.ports.errors import StoreUnavailable


T = TypeVar("T")


class Kept:
    """Runs work to its end in a task group of the daemon's own, whatever becomes of who waits for it."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group

    async def finish(self, work: Coroutine[object, object, T]) -> T:
        """What the work comes to. Cancelling the caller leaves the work running.

        Raises: what the work raises; StoreUnavailable where the daemon ends: the work has not begun.
        """
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        settling = _settle(work, answer)
        if not self._begin(settling):
            work.close()
            message = "the daemon is ending"
            raise StoreUnavailable(message)
        return await answer

    def leave(self, work: Coroutine[object, object, None]) -> None:
        """Run work that nobody waits for; where the daemon ends it is dropped.

        What it raises ends the daemon: it answers for its own faults.
        """
        self._begin(work)

    def _begin(self, work: Coroutine[object, object, None]) -> bool:
        try:
            self._group.create_task(work)
        except RuntimeError:  # a task group that ends takes nothing more
            work.close()
            return False
        return True


async def _settle(work: Coroutine[object, object, T], answer: asyncio.Future[T]) -> None:
    try:
        value = await work
    except Exception as fault:  # noqa: BLE001 (the caller raises it; the group must live on)
        if not answer.done():
            answer.set_exception(fault)
    except asyncio.CancelledError:
        answer.cancel()
        raise
    else:
        if not answer.done():
            answer.set_result(value)
