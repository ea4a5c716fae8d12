"""Retention over a real store, at a day of a test's own."""

import sqlite3

from postroom.core.instant import Instant
from postroom.core.retention import Retention
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.retention import SqliteRetention, Taken
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.desk_store import DAY, NOW


NOTHING = Taken(0, 0, 0, 0, 0)


class Spool:
    """A spool that remembers what was removed; `busy` files are just being put there."""

    def __init__(self, *busy: str) -> None:
        self.busy = set(busy)
        self.removed: list[str] = []

    async def unlink(self, sha256: str) -> bool:
        if sha256 in self.busy:
            return False
        self.removed.append(sha256)
        return True


def retention(opened: Database, spool: Spool | None = None) -> SqliteRetention:
    return SqliteRetention(opened, Retention(), (spool or Spool()).unlink, lambda: True)


async def sql(opened: Database, statement: str, *values: object) -> list[tuple[object, ...]]:
    def unit(conn: sqlite3.Connection) -> UnitResult[list[tuple[object, ...]]]:
        return UnitResult([tuple(row) for row in conn.execute(statement, values)])

    return await opened.write(unit, lane=WriteLane.REST)


def after(days: float) -> Instant:
    return Instant(NOW + int(days * DAY))
