"""A store whose commits stand still when a test says so."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from support.store_host import Faults


class SlowCommit:
    """A COMMIT that waits until it is let go."""

    def __init__(self) -> None:
        self.faults = Faults(before=self._hold)
        self.count = 0
        self._is_held = False
        self._reached = threading.Event()
        self._go = threading.Event()

    def _hold(self, conn: sqlite3.Connection, sql: str) -> None:
        if sql == "COMMIT":
            self.count += 1
            if self._is_held:
                self._reached.set()
                assert self._go.wait(5)

    @contextmanager
    def held(self) -> Iterator[None]:
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
            self._go.set()

    async def reached(self) -> None:
        assert await asyncio.get_running_loop().run_in_executor(None, self._reached.wait, 5)
