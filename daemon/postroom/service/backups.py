"""Backups of the running daemon, one at a time; while one is made, no file of the spool is doomed (HAZARDS §1.1)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from errno import EDQUOT, ENOSPC
from functools import partial
from pathlib import Path
from typing import TypeVar

from postroom.core.instant import Instant
from postroom.ops.archive import PIECE_BYTES
from postroom.ops.chronicle import Chronicle
from postroom.ports.backups import Backup, BackupUnderWay
from postroom.ports.errors import StorageFull, StoreError, StoreUnavailable
from postroom.ports.host import Clock
from postroom.service.archiving import Archiver, Room, clear_left


T = TypeVar("T")


class DaemonBackups:
    """Implements ports.backups.Backups."""

    def __init__(
        self, state_dir: Path, clock: Clock, chronicle: Chronicle, room: Room | None = None
    ) -> None:
        self._state_dir = state_dir
        self._clock = clock
        self._chronicle = chronicle
        self._room = room
        self._is_busy = False
        clear_left(state_dir)

    @property
    def is_under_way(self) -> bool:
        """Whether the files of the spool are being read: none of them may go."""
        return self._is_busy

    async def begin(self, uid: int) -> Backup | BackupUnderWay:
        """A copy of the database as it is now, and what belongs to it.

        Raises: StorageFull, StoreUnavailable.
        """
        if self._is_busy:
            return BackupUnderWay()
        self._is_busy = True
        began = self._clock.monotonic()
        work = _Work(self._state_dir, self._clock.now(), self._room)
        try:
            expected = await work.run(work.open)
        except BaseException:
            self._end(work)
            raise
        return Backup(expected, self._pieces(work, uid, began), partial(self._end, work))

    async def _pieces(self, work: "_Work", uid: int, began: int) -> AsyncIterator[bytes]:
        size_bytes = 0
        try:
            while piece := await work.run(work.take):
                size_bytes += len(piece)
                yield piece
        except (OSError, StoreError) as error:
            self._chronicle.backup_broken(uid, error)
            raise
        took = timedelta(microseconds=self._clock.monotonic() - began)
        self._chronicle.backup_taken(uid, size_bytes, took)

    def _end(self, work: "_Work") -> None:
        """Files may go again, and the next backup may begin, when its thread is through with this one."""
        loop = asyncio.get_running_loop()

        def free() -> None:
            self._is_busy = False

        def tell(_: Future[None]) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody makes another one
                loop.call_soon_threadsafe(free)

        work.close().add_done_callback(tell)


class _Work:
    """One backup on a thread of its own."""

    def __init__(self, state_dir: Path, at: Instant, room: Room | None) -> None:
        self._make = partial(Archiver, state_dir, at, room)
        self._archiver: Archiver | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="backup")

    async def run(self, step: Callable[[], T]) -> T:
        """Do it on the thread; a caller who goes does not stop it."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, step)

    def open(self) -> int:
        """Begin; about how many bytes come. Raises StorageFull, StoreUnavailable."""
        try:
            self._archiver = self._make()
            expected = self._archiver.open()
            self._pieces = self._archiver.pieces()
        except OSError as error:
            if error.errno in {ENOSPC, EDQUOT}:
                message = "there is no room for a copy of the database"
                raise StorageFull(message) from error
            message = f"a copy of the database can not be made: {error.strerror}"
            raise StoreUnavailable(message) from error
        return expected

    def take(self) -> bytes:
        """The next bytes, gathered so that small files do not cost a hop each; none = it is whole."""
        gathered: list[bytes] = []
        size_bytes = 0
        while size_bytes < PIECE_BYTES and (piece := next(self._pieces, None)) is not None:
            gathered.append(piece)
            size_bytes += len(piece)
        return b"".join(gathered)

    def close(self) -> Future[None]:
        """Stop and clean up, when the step that is under way has ended."""
        if self._archiver is not None:
            self._archiver.interrupt()
        done = self._thread.submit(self._close)
        self._thread.shutdown(wait=False)
        return done

    def _close(self) -> None:
        if self._archiver is not None:
            self._archiver.close()
