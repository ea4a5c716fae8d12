"""What loops hold, and what is free again: gone on with until it is done, also after a restart."""

import asyncio
from collections.abc import Sequence
from typing import Final

from postroom.ops.chronicle import Chronicle
from postroom.ports.changes import Change, HoldsBegun
from postroom.ports.errors import StoreBroken, StoreError
from postroom.ports.host import Clock
from postroom.ports.inbox import Inbox


_AFTER_FAULT_S: Final = 5.0


class HoldKeeper:
    """Settles step by step what is more than one step; an Observer. Sleeps while there is none."""

    def __init__(self, inbox: Inbox, clock: Clock, chronicle: Chronicle) -> None:
        self._inbox = inbox
        self._clock = clock
        self._chronicle = chronicle
        self._bell = asyncio.Event()
        self._bell.set()  # for what the last run left

    def committed(self, changes: Sequence[Change]) -> None:
        """Note that something is begun."""
        if any(isinstance(change, HoldsBegun) for change in changes):
            self._bell.set()

    async def run(self) -> None:
        """Run until cancelled. Raises: StoreBroken."""
        while True:
            await self._bell.wait()
            self._bell.clear()
            try:
                while await self._inbox.settle_holds(self._clock.now()):
                    pass
            except StoreBroken:
                raise
            except StoreError as error:
                self._chronicle.store_refused(error)
                self._bell.set()
                await self._clock.sleep(_AFTER_FAULT_S)
