"""Leases in the running daemon: what is due is ended in time, also when nobody asks."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from postroom.core.instant import SECOND, Instant
from postroom.ops.chronicle import Chronicle
from postroom.ports.changes import Change, LeaseTimed
from postroom.ports.errors import StoreBroken, StoreError
from postroom.ports.host import Clock
from postroom.ports.leasing import Leases


_LONGEST_S: Final = (
    60.0  # between two looks while something is timed: the wall clock may have jumped
)
_AFTER_FAULT_S: Final = 5.0


class LeaseKeeper:
    """Ends leases and delays when they are due, so that whoever polls wakes; an Observer. Sleeps while none is timed."""

    def __init__(self, leases: Leases, clock: Clock, chronicle: Chronicle) -> None:
        self._leases = leases
        self._clock = clock
        self._chronicle = chronicle
        self._due: Instant | None = clock.now()
        self._bell = asyncio.Event()

    def committed(self, changes: Sequence[Change]) -> None:
        """Note when something will be due."""
        for change in changes:
            if isinstance(change, LeaseTimed):
                self._note(change.at)

    async def run(self) -> None:
        """Run until cancelled. Raises: StoreBroken."""
        while True:
            self._bell.clear()
            wait_s = self._wait_s()
            if wait_s is None or wait_s > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._bell.wait()
            else:
                await self._sweep()

    def _wait_s(self) -> float | None:
        if self._due is None:
            return None
        return min((self._due - self._clock.now()) / SECOND, _LONGEST_S)

    async def _sweep(self) -> None:
        self._forget()
        try:
            due = await self._leases.sweep(self._clock.now())
        except StoreBroken:
            raise
        except StoreError as error:
            self._chronicle.store_refused(error)
            due = Instant(self._clock.now() + round(_AFTER_FAULT_S * SECOND))
        if due is not None:
            self._note(due)

    def _note(self, at: Instant) -> None:
        if self._due is None or at < self._due:
            self._due = at
            self._bell.set()

    def _forget(self) -> None:
        """What is committed from here on is told anew."""
        self._due = None
