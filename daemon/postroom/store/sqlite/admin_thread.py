"""What people do to conversations: the unit that ends what a loop holds there."""

import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.instant import Instant
from postroom.ports.desk import Actor
from postroom.store.sqlite.hold_end import free
from postroom.store.sqlite.holds import find_holds
from postroom.store.sqlite.unit import UnitResult


_THREAD: Final = "SELECT 1 FROM thread WHERE number = ?"


@dataclass(frozen=True, slots=True)
class ResumingThread:
    """A unit that frees a thread, and whatever else holds deliveries in it."""

    number: int
    actor: Actor
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[bool]:
        """Whether there is such a thread."""
        if conn.execute(_THREAD, (self.number,)).fetchone() is None:
            return UnitResult(value=False)
        events = [row["event"] for row in find_holds(conn, self.number)]
        return UnitResult(value=True, changes=free(conn, events, self.at, self.actor.by))
