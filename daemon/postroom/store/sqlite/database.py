"""The only door to SQLite: one writing connection, two that read.

Every write is a unit (see `unit`) that commits before its caller is answered; every read is a function of a
read-only connection that runs whole on that connection's thread, so no cursor lives across an await.
Rows come as `sqlite3.Row`. sqlite3's own errors never leave this package.
"""

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from postroom.store.sqlite.unit import Unit, WriteLane


T = TypeVar("T")


class Database:
    """One open database file."""

    async def write(self, unit: Unit[T], *, lane: WriteLane, weight: int = 1) -> T:
        """Run a unit in a transaction and return its value once that is committed.

        `weight` is about how many rows it writes. A caller that is cancelled meanwhile changes nothing: the unit runs.

        Raises: StoreUnavailable, StorageFull, StoreBroken; what the unit itself raised. Then nothing was stored.
        """
        raise NotImplementedError

    async def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """The value of `fn`, called with a read-only connection.

        Raises: StoreUnavailable, StoreBroken; what `fn` itself raised.
        """
        raise NotImplementedError
