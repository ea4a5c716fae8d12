"""The unit that goes on with what loops began to hold or to free."""

import sqlite3
from dataclasses import dataclass

from postroom.core.instant import Instant
from postroom.store.sqlite.hold_begin import hold_more
from postroom.store.sqlite.hold_end import free_more
from postroom.store.sqlite.unit import UnitResult


@dataclass(frozen=True, slots=True)
class SettlingHolds:
    """One step: of holding first, so that what is freed meanwhile is not held again."""

    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[bool]:
        """Whether there was something to do."""
        changes = hold_more(conn, self.at)
        if changes is None:
            changes = free_more(conn, self.at)
        return UnitResult(changes is not None, changes or ())
