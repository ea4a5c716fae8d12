"""A database with one table of numbers, for tests of the writer alone."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

from postroom.store.sqlite.connection import set_up_writer
from postroom.store.sqlite.database import Database, open_database
from postroom.store.sqlite.unit import UnitResult
from support.clock import HandClock
from support.store_host import Faults


INSERT = "INSERT INTO probe (k) VALUES (?)"


@asynccontextmanager
async def probe_database(
    directory: Path, faults: Faults | None = None, clock: HandClock | None = None
) -> AsyncIterator[Database]:
    factory = sqlite3.Connection if faults is None else faults.factory()
    opened = open_database(directory / "probe.db", clock or HandClock(), _prepare, factory)
    async with opened as database:
        yield database


def _prepare(conn: sqlite3.Connection) -> None:
    set_up_writer(conn)
    conn.execute("CREATE TABLE IF NOT EXISTS probe (k INTEGER PRIMARY KEY) STRICT")


def insert(k: int, then: Callable[[sqlite3.Connection], None] = lambda conn: None):  # type: ignore[no-untyped-def]
    """A unit that stores `k`, and answers with it, unless `then` fails."""

    def unit(conn: sqlite3.Connection) -> UnitResult[int]:
        conn.execute(INSERT, (k,))
        then(conn)
        return UnitResult(k)

    return unit


def stored_in(directory: Path) -> list[int]:
    """What is there after reopening."""
    with closing(sqlite3.connect(directory / "probe.db")) as conn:
        return [k for (k,) in conn.execute("SELECT k FROM probe ORDER BY k")]


async def until(is_so: Callable[[], bool]) -> None:
    """Return when it is so; the loop goes on meanwhile."""
    async with asyncio.timeout(5):
        while not is_so():
            await asyncio.get_running_loop().run_in_executor(None, int)
