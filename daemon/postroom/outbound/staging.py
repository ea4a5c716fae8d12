"""The door for files: staged uploads, files by path, large texts; all of them into the spool before any row names them.

Reading and writing happen in threads of their own, so that plain jobs never wait for them. 60 s are enough for all
files of a job, or nothing is kept. What a refused job leaves in the spool is removed by age.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import BinaryIO, Final, TypeVar

from postroom.core.filename import harmless_name
from postroom.core.ids import REF_BITS, attachment_ref
from postroom.core.job import PathAttachment
from postroom.core.record import StagedRecord
from postroom.ops.spool import PIECE_BYTES, Spool
from postroom.ops.threads import FileThreads
from postroom.outbound.beneath import Unfit, Wanted, read_beneath
from postroom.ports.desk import Admin, Reader
from postroom.ports.errors import StoreUnavailable
from postroom.ports.host import Clock, Entropy
from postroom.ports.staging import FileRefused, FilesSlow, KeptFile
from postroom.ports.uploads import Upload, UploadTooLarge


T = TypeVar("T")

CHANGING: Final = "attachment_changing"

_ALL_FILES: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class StagingParts:
    """What staging needs. `all_files` is the time that the files of one job may take."""

    spool: Spool
    threads: FileThreads
    reader: Reader
    admin: Admin
    clock: Clock
    entropy: Entropy
    all_files: timedelta = _ALL_FILES


class SpoolStaging:
    """Staging and Uploads over the spool."""

    def __init__(self, parts: StagingParts) -> None:
        self._parts = parts

    async def find_staged(self, ref: str) -> StagedRecord | None:
        """The staged upload that this public reference names."""
        return await self._parts.reader.find_staged(ref)

    async def keep_files(
        self,
        files: Sequence[PathAttachment],
        *,
        roots: Sequence[str],
        limit_bytes: int,
        reader_uid: int | None = None,
    ) -> tuple[KeptFile | FileRefused, ...] | FilesSlow:
        """Copy or pin each file, in order."""

        def keep_all(is_over: Callable[[], bool]) -> tuple[KeptFile | FileRefused, ...]:
            wanted = (Wanted(one.path, roots, limit_bytes, reader_uid) for one in files)
            return tuple(
                self._pin(one, is_over) if asked.pin else self._copy(one, is_over)
                for asked, one in zip(files, wanted, strict=True)
            )

        return await self._in_time(keep_all)

    async def digest_files(
        self,
        files: Sequence[PathAttachment],
        *,
        roots: Sequence[str],
        limit_bytes: int,
        reader_uid: int | None = None,
    ) -> tuple[str | None, ...] | FilesSlow:
        """The hex SHA-256 of each file as it is now, None where `keep_files` would refuse it; nothing is kept."""

        def digest_all(is_over: Callable[[], bool]) -> tuple[str | None, ...]:
            wanted = (Wanted(one.path, roots, limit_bytes, reader_uid) for one in files)
            found = (self._pin(one, is_over) for one in wanted)
            return tuple(one.sha256 if isinstance(one, KeptFile) else None for one in found)

        return await self._in_time(digest_all)

    async def keep_bytes(self, content: bytes) -> str:
        """Put these bytes into the spool, durably; their hex SHA-256."""

        def keep() -> str:
            with self._parts.spool.incoming() as incoming:
                incoming.write(content)
                return incoming.keep()

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._parts.threads.texts, keep)

    async def stage(
        self, upload: Upload, content: AsyncIterator[bytes]
    ) -> StagedRecord | UploadTooLarge:
        """Keep the content durably and name it. What `content` raises is raised again, and nothing is kept."""
        incoming = self._parts.spool.incoming()
        try:
            async for pieces in _gathered(content):
                await self._in_thread(incoming.write, *pieces)
                if upload.limit_bytes and incoming.size_bytes > upload.limit_bytes:
                    return UploadTooLarge(upload.limit_bytes)
            sha256 = await self._in_thread(incoming.keep)
        finally:  # by a thread, which waits for a write that is under way; a cancelled caller does not
            self._parts.threads.files.submit(incoming.drop)
        now = self._parts.clock.now()
        staged = StagedRecord(
            ref=attachment_ref(now, self._parts.entropy.token(REF_BITS)),
            sha256=sha256,
            size_bytes=incoming.size_bytes,
            filename=upload.filename,
            content_type=upload.content_type,
            created_at=now,
        )
        await self._parts.admin.stage(staged, upload.actor.uid)
        return staged

    async def open_staged(self, staged: StagedRecord) -> AsyncIterator[bytes] | None:
        """Its bytes, in pieces; None when they are gone."""
        return await self.open_file(staged.sha256)

    async def open_file(self, sha256: str) -> AsyncIterator[bytes] | None:
        """The bytes of a file of the spool by its hex digest; None when it is gone."""
        try:
            file = await self._in_thread(_open, self._parts.spool.path(sha256))
        except FileNotFoundError:
            return None

        async def pieces() -> AsyncIterator[bytes]:
            with file:
                while piece := await self._in_thread(file.read, PIECE_BYTES):
                    yield piece

        return pieces()

    async def remove(self, sha256: str) -> bool:
        """Remove a file of the spool that nothing names; False when an equal one was put there just now."""
        return await self._in_thread(self._parts.spool.unlink, sha256)

    async def find_missing(self, digests: Sequence[str]) -> tuple[str, ...]:
        """Those of these hex SHA-256 under which no file lies that can be looked at."""
        return await self._in_thread(lambda: tuple(one for one in digests if not self._has(one)))

    async def find_older(self, age: timedelta) -> tuple[str, ...]:
        """The digests of files that lie in the spool for so long; orphans are those that no row names."""
        return await self._in_thread(lambda: tuple(self._parts.spool.older_than(age)))

    def _has(self, sha256: str) -> bool:
        try:
            return self._parts.spool.has(sha256)
        except StoreUnavailable:
            return False

    def _copy(self, wanted: Wanted, is_over: Callable[[], bool]) -> KeptFile | FileRefused:
        with self._parts.spool.incoming() as incoming:
            unfit = read_beneath(wanted, incoming.write, is_over)
            if unfit is not None:
                return _refused(unfit)
            return KeptFile(incoming.keep(), incoming.size_bytes, harmless_name(wanted.path))

    def _pin(self, wanted: Wanted, is_over: Callable[[], bool]) -> KeptFile | FileRefused:
        digest, size_bytes = hashlib.sha256(), 0

        def take(piece: bytes) -> None:
            nonlocal size_bytes
            digest.update(piece)
            size_bytes += len(piece)

        unfit = read_beneath(wanted, take, is_over)
        if unfit is not None:
            return _refused(unfit)
        name = harmless_name(wanted.path)
        return KeptFile(digest.hexdigest(), size_bytes, name, pinned_path=wanted.path)

    async def _in_time(self, work: Callable[[Callable[[], bool]], T]) -> T | FilesSlow:
        """What the work comes to, unless it takes too long: then it stops at its next piece."""
        over = Event()
        try:
            async with asyncio.timeout(self._parts.all_files.total_seconds()):
                return await self._in_thread(work, over.is_set)
        except TimeoutError:
            return FilesSlow()
        finally:
            over.set()

    def _in_thread(self, work: Callable[..., T], *given: object) -> Awaitable[T]:
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._parts.threads.files, work, *given)


async def _gathered(content: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """The same pieces, some at a time, so that small ones do not cost a thread's hop each."""
    pieces: list[bytes] = []
    size_bytes = 0
    async for piece in content:
        pieces.append(piece)
        size_bytes += len(piece)
        if size_bytes >= PIECE_BYTES:
            yield pieces
            pieces, size_bytes = [], 0
    if pieces:
        yield pieces


def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def _refused(unfit: Unfit) -> FileRefused:
    return FileRefused(unfit.detail, CHANGING if unfit.is_changing else None)
