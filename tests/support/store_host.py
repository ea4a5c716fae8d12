"""The store's tests: an outbox that is opened over a disk that fails when it is told to."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
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

            def executemany(self, sql, parameters, /):  # type: ignore[no-untyped-def,override]
                faults.statements.append(sql)
                faults.before(self, sql)
                done = super().executemany(sql, parameters)
                faults.after(self, sql)
                return done

        return Faulty


class FailingDisk:
    """Fails once, at the n-th statement after `arm(n)`, in one of FAULTS' ways; `fired` is the statement that failed.

    With `times` the writes behind it fail as well, so many in all.
    """

    def __init__(self, kind: str, times: int = 1) -> None:
        self.faults = Faults(self._before, self._after)
        self._times = times
        self._left = 0
        self.fired: str | None = None
        self.count = 0
        self._fault = FAULTS[kind]
        self._at = 0

    def arm(self, nth: int) -> None:
        """Count anew."""
        self.fired, self.count, self._at = None, 0, nth

    def _before(self, conn: sqlite3.Connection, sql: str) -> None:
        self.count += 1
        if self.count == self._at and not self._fault.is_after:
            self._fail(conn, sql)
        elif self._left and sql.split(maxsplit=1)[0] in (
            "INSERT",
            "UPDATE",
            "DELETE",
            "COMMIT",
        ):
            self._left -= 1
            self._raise(conn)

    def _after(self, conn: sqlite3.Connection, sql: str) -> None:
        if self.count == self._at and self._fault.is_after:
            self._fail(conn, sql)

    def _fail(self, conn: sqlite3.Connection, sql: str) -> None:
        self._at, self.fired, self._left = 0, sql, self._times - 1
        self._raise(conn)

    def _raise(self, conn: sqlite3.Connection) -> None:
        if self._fault.takes_all and conn.in_transaction:
            super(type(conn), conn).execute("ROLLBACK")
        raise sqlite_error(self._fault.code, self._fault.said)


@dataclass(frozen=True)
class Fault:
    """An error of SQLite: `takes_all`: the whole transaction is gone with it; `is_after`: the statement did its work."""

    code: int
    said: str
    takes_all: bool = False
    is_after: bool = False


FAULTS = {
    "I/O error": Fault(sqlite3.SQLITE_IOERR_WRITE, "disk I/O error", takes_all=True),
    "I/O error behind it": Fault(sqlite3.SQLITE_IOERR_FSYNC, "disk I/O error", is_after=True),
    "full": Fault(sqlite3.SQLITE_FULL, "database or disk is full", takes_all=True),
    "busy": Fault(sqlite3.SQLITE_BUSY, "database is locked"),
    "no memory": Fault(sqlite3.SQLITE_NOMEM, "out of memory", takes_all=True),
}


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


@asynccontextmanager
async def outbox_at(state_dir: Path, disk: FailingDisk | None = None) -> AsyncIterator[Outbox]:
    """The outbox that lies in this directory, on a host with room, opened over a disk that may fail."""
    factory = sqlite3.Connection if disk is None else disk.faults.factory()
    setting = Setting(min_free_bytes=1 << 40, disk_free=lambda _: 1 << 40, factory=factory)
    has_file = frozenset[str]().__contains__
    opened = open_outbox(state_dir, HandClock(NOON), CountedEntropy(), has_file, None, setting)
    async with opened as outbox:
        yield outbox


def rows_in(directory: Path, sql: str, *given: object) -> list[tuple[object, ...]]:
    """What another program sees in the file."""
    conn = sqlite3.connect(directory / "state" / "postroom.db")
    try:
        return [tuple(row) for row in conn.execute(sql, given)]
    finally:
        conn.close()


def change(tmp_path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(tmp_path / "state" / "postroom.db")) as conn:
        for statement in statements:
            conn.execute(statement)
        conn.commit()


async def open_once(tmp_path: Path, **more: object) -> None:
    async with outbox_in(tmp_path, **more):  # type: ignore[arg-type]
        pass
