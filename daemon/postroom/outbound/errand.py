"""Work at the store that is wanted now and then: once at a time, again where it was wanted meanwhile or the store said no."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from postroom.ports.account import Account
from postroom.ports.errors import StoreBroken, StoreError
from postroom.ports.host import Clock


_AGAIN_S: Final = 1.0  # after the store did not answer


class Errand:
    """The work, and whether it `is_wanted`. `woken` is set when it is over, for whoever wants it again."""

    def __init__(
        self,
        work: Callable[[], Awaitable[None]],
        account: Account,
        clock: Clock,
        woken: asyncio.Event,
    ) -> None:
        self.is_wanted = False
        self._work = work
        self._account = account
        self._clock = clock
        self._woken = woken
        self._is_under_way = False

    def run_in(self, group: asyncio.TaskGroup) -> None:
        """Begin it, if it is wanted and not under way."""
        if self.is_wanted and not self._is_under_way:
            self.is_wanted, self._is_under_way = False, True
            group.create_task(self._run())

    async def _run(self) -> None:
        try:
            await self._work()
        except StoreBroken:
            raise
        except StoreError as problem:
            self._account.store_refused(problem)
            await self._clock.sleep(_AGAIN_S)
            self.is_wanted = True
        finally:
            self._is_under_way = False
            self._woken.set()
