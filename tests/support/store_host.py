"""The store's tests: an outbox that is opened over a disk that fails when it is told to."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from postroom.core.instant import SECOND, Instant
from postroom.store.sqlite.opening import HostIdentity, OpeningRules
from postroom.store.sqlite.outbox import Outbox, Setting, open_outbox
from support.clock import CountedEntropy, HandClock


NOON = Instant(1_796_040_000 * SECOND)


@dataclass
class Faults:
    """What goes wrong: `before` and `after` are asked for every statement of the writing connection."""

    before: Callable[[sqlite3.Connection, str], None] = lambda conn, sql: None
    after: Callable[[sqlite3.Connection, str], None] = lambda conn, sql: None
    statements: list[str] = field(default_factory=list)

    def factory(self) -> type[sqlite3.Connection]:
        faults = self

        class Faulty(sqlite3.Connection):
            def execute(self, sql, parameters=(), /):  # type: ignore[no-untyped-def,override]
                faults.statements.append(sql)
                faults.before(self, sql)
                done = super().execute(sql, parameters)
                faults.after(self, sql)
                return done

        return Faulty


def sqlite_error(code: int, name: str) -> sqlite3.OperationalError:
    """An error as SQLite raises it."""
    error = sqlite3.OperationalError(name)
    error.sqlite_errorcode = code
    error.sqlite_errorname = name
    return error


HERE = OpeningRules(HostIdentity("machine-1", "boot-1"))


@asynccontextmanager
async def outbox_in(
    directory: Path,
    clock: HandClock | None = None,
    *,
    rules: OpeningRules = HERE,
    faults: Faults | None = None,
    free: Callable[[Path], int] = lambda directory: 1 << 40,
    spool: frozenset[str] = frozenset(),
) -> AsyncIterator[Outbox]:
    """An outbox whose disk has a terabyte free, and no ballast is laid on it."""
    setting = Setting(
        min_free_bytes=1 << 20,
        disk_free=free,
        factory=sqlite3.Connection if faults is None else faults.factory(),
    )
    opened = open_outbox(
        directory / "state",
        clock or HandClock(NOON),
        CountedEntropy(),
        spool.__contains__,
        rules,
        setting,
    )
    async with opened as outbox:
        yield outbox


def rows_in(directory: Path, sql: str, *given: object) -> list[tuple[object, ...]]:
    """What another program sees in the file."""
    conn = sqlite3.connect(directory / "state" / "postroom.db")
    try:
        return [tuple(row) for row in conn.execute(sql, given)]
    finally:
        conn.close()
