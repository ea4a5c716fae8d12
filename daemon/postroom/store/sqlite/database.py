"""The only door to SQLite: one writing connection, two that read.

Every write is a unit (see `unit`) that commits before its caller is answered (see `writer`); every read is a function
of a read-only connection that runs whole on that connection's thread, so no cursor lives across an await.
Rows come as `sqlite3.Row`. sqlite3's own errors never leave this package.
Only one connection writes and checkpoints: older SQLite corrupts a WAL that two connections reset at once.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import aiosqlite

from postroom.ports.changes import Observer
from postroom.ports.errors import StoreBroken
from postroom.ports.host import Clock
from postroom.store.sqlite.anchor import Anchor
from postroom.store.sqlite.connection import (
    ask,
    ask_to_write,
    checkpoint,
    open_reader,
    open_writer,
    read,
)
from postroom.store.sqlite.group import translated
from postroom.store.sqlite.state_dir import LOCK, wal_of
from postroom.store.sqlite.unit import Unit, WriteLane
from postroom.store.sqlite.writer import Writer, WriterStats


T = TypeVar("T")

_READERS: Final = 2
_CLOSE_S: Final = 10.0  # for what waits, and for each connection: its thread may be in a checkpoint


class Database:
    """One open database file; made by `open_database`."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        writing: aiosqlite.Connection,
        reading: Sequence[aiosqlite.Connection],
    ) -> None:
        self._wal = wal_of(path)
        self._clock = clock
        self._writing = writing
        self._reading = reading
        self._next_reader = 0
        self._is_closed = False
        self._anchor = Anchor((path, self._wal, path.with_name(LOCK)))
        self._writer = Writer(clock, self._hop, self._anchor)

    async def write(self, unit: Unit[T], *, lane: WriteLane, weight: int = 1) -> T:
        """Run a unit in a transaction and return its value once that is committed.

        `weight` is about how many rows it writes. A caller that is cancelled meanwhile changes nothing: the unit runs.

        Raises: StoreUnavailable, StorageFull, StoreBroken; what the unit itself raised. Then nothing was stored.
        """
        return await self._writer.write(unit, lane, weight)

    async def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """The value of `fn`, called with a read-only connection and one snapshot of the store.

        Raises: StoreUnavailable, StoreBroken; what `fn` itself raised.
        """
        self._next_reader = (self._next_reader + 1) % len(self._reading)
        return await _on_thread(self._reading[self._next_reader], partial(read, fn))

    def watch(self, observer: Observer) -> None:
        """Tell this observer of every commit from now on, on the loop's thread, before the callers wake."""
        self._writer.watch(observer)

    async def checkpoint(self) -> None:
        """Bring the WAL into the file and cut it to nothing, if the writer has nothing else to do."""
        if self._writer.is_idle and not self._writer.is_broken:
            await _on_thread(self._writing, checkpoint)

    async def probe(self) -> int:
        """Ask the writing connection a question that costs nothing; how many microseconds the answer took.

        Raises: StoreUnavailable; StoreBroken, also when a file of it was deleted or replaced: nothing is written any more.
        """
        asked_at = self._clock.monotonic()
        lost = await _on_thread(self._writing, self._ask)
        if lost is not None:
            message = f"{lost} was deleted or replaced"
            self._writer.give_up(message)
            raise StoreBroken(message)
        return self._clock.monotonic() - asked_at

    async def probe_write(self) -> None:
        """Return when something could be written now.

        Raises: StoreUnavailable, also when another program has held the lock for a second; StoreBroken as `probe`.
        """
        await self.probe()
        await _on_thread(self._writing, ask_to_write)

    async def wait_broken(self) -> str:
        """Return when nothing can be written any more, and why: the daemon has to end."""
        return await self._writer.wait_broken()

    def stats(self) -> WriterStats:
        """How the writer is doing."""
        return self._writer.stats()

    def wal_bytes(self) -> int:
        """The size of the write-ahead log."""
        try:
            return self._wal.stat().st_size
        except OSError:
            return 0

    async def close(self) -> None:
        """Take no more units, finish those that wait, and close every connection.

        The writer is the last, so that it leaves no WAL behind; it is the first where no sync can be trusted.
        """
        ordered = [] if self._is_closed else [*self._reading, self._writing]
        self._is_closed = True
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await self._writer.drain()
        finally:
            if self._writer.is_broken:
                ordered.reverse()
            await _close_all(ordered)

    def _ask(self, conn: sqlite3.Connection) -> Path | None:
        ask(conn)
        return self._anchor.find_lost()

    def _hop(self, fn: Callable[[sqlite3.Connection], None]) -> None:
        # aiosqlite's own hop, without its future: through that, every group would take a second step of the loop.
        task = partial(fn, self._writing._conn)  # noqa: SLF001
        self._writing._tx.put_nowait((None, task))  # noqa: SLF001


@asynccontextmanager
async def open_database(
    path: Path,
    clock: Clock,
    prepare: Callable[[sqlite3.Connection], None],
    factory: type[sqlite3.Connection] = sqlite3.Connection,
) -> AsyncIterator[Database]:
    """The database at `path`, after `prepare` has run on its writing connection, which `factory` makes.

    Raises: what `prepare` raises; StoreUnavailable, StorageFull, StoreBroken.
    """
    opened: list[aiosqlite.Connection] = []
    try:
        opened.append(await _connect(partial(open_writer, path, factory)))
        await _on_thread(opened[0], prepare)
        for _ in range(_READERS):
            opened.append(await _connect(partial(open_reader, path)))  # noqa: PERF401 - closed if the next one fails
    except BaseException:
        await _close_all(opened)
        raise
    database = Database(path, clock, opened[0], opened[1:])
    try:
        yield database
    finally:
        await database.close()


async def _connect(connector: Callable[[], sqlite3.Connection]) -> aiosqlite.Connection:
    try:
        return await aiosqlite.Connection(connector, iter_chunk_size=64)
    except sqlite3.Error as error:
        raise translated(error) from error


async def _on_thread(connection: aiosqlite.Connection, fn: Callable[[sqlite3.Connection], T]) -> T:
    try:
        done: T = await connection._execute(fn, connection._conn)  # type: ignore[no-untyped-call] # noqa: SLF001
    except sqlite3.Error as error:
        raise translated(error) from error
    return done


async def _close_all(connections: Sequence[aiosqlite.Connection]) -> None:
    """Close them in this order; their threads end even when the caller is cancelled meanwhile."""
    left = deque(connections)
    try:
        while left:
            ended = left.popleft().stop()
            if ended is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_CLOSE_S):
                        await ended
    finally:
        for connection in left:
            connection.stop()
