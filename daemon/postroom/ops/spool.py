"""The content-addressed spool: a file lies under its SHA-256, whole and durable before anyone may name it.

write temp → fsync → rename → fsync directory (HAZARDS §1.1). What is put in again only gets a new time, so a file that
somebody is about to name looks young, and `unlink` leaves it. Everything here blocks: it is called from threads of
`ops.threads`. Known limits: one process owns the directory.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from errno import EBADF, EDQUOT, ENOSPC
from pathlib import Path
from tempfile import mkstemp
from threading import Lock
from typing import Final, Self

from postroom.core.instant import micros
from postroom.ports.errors import StorageFull, StoreUnavailable
from postroom.ports.host import Clock


PIECE_BYTES: Final = 256 * 1024

_TEMPORARY: Final = "tmp"
_YOUNG: Final = timedelta(hours=1)  # a job that is to name a file does so within its 60 s
_NANOS: Final = 1000
_DIGEST_CHARACTERS: Final = 64
_HEX: Final = frozenset("0123456789abcdef")


class Spool:
    """The files under `state_dir/spool`. `check_room` raises StorageFull when new content must not come in."""

    def __init__(self, state_dir: Path, clock: Clock, check_room: Callable[[], None]) -> None:
        self._root = state_dir / "spool"
        self._clock = clock
        self._check_room = check_room
        self._lock = Lock()

    def open(self) -> None:
        """Make the directories, and remove what an earlier process left half-written."""
        with _translated():
            for directory in (self._root, self._root / _TEMPORARY):
                directory.mkdir(mode=0o700, exist_ok=True)
            _sync(self._root.parent)
            for left in (self._root / _TEMPORARY).iterdir():
                left.unlink()

    def incoming(self) -> "Incoming":
        """A file on its way in. Raises StorageFull, StoreUnavailable."""
        self._check_room()
        with _translated():
            number, name = mkstemp(dir=self._root / _TEMPORARY)
        return Incoming(self, number, Path(name))

    def path(self, sha256: str) -> Path:
        """Where a file of this hex SHA-256 lies, or would lie."""
        return self._root / sha256[:2] / sha256

    def has(self, sha256: str) -> bool:
        """Whether it lies there. Raises: StoreUnavailable where that can not be told."""
        with _translated():
            return self.path(sha256).is_file()

    def adopt(self, temporary: Path, sha256: str) -> None:
        """Give a synced temporary file its place, durably; where an equal one lies, that one looks new."""
        path = self.path(sha256)
        now = self._clock.now() * _NANOS
        with self._lock, _translated():
            os.utime(temporary, ns=(now, now))
            if not path.parent.exists():
                path.parent.mkdir(mode=0o700)
                _sync(self._root)
            temporary.replace(path)
        with _translated():
            _sync(path.parent)  # others may go on meanwhile: it is there, and it looks young

    def unlink(self, sha256: str) -> bool:
        """Remove a file that nothing names; whether it is gone. False: an equal one was put there just now."""
        path = self.path(sha256)
        with self._lock, _translated():
            if self._age(path) < micros(_YOUNG):
                return False
            path.unlink(missing_ok=True)
            return True

    def older_than(self, age: timedelta) -> Iterator[str]:
        """The digests of all files that were last put in so long ago: what no row names among them is an orphan.

        What can not be looked at is left where it is, and hides nothing else.
        """
        with suppress(OSError):
            for folder in self._root.glob("??"):
                yield from self._older_in(folder, micros(age))

    def _older_in(self, folder: Path, age: int) -> Iterator[str]:
        with suppress(OSError):
            for path in folder.iterdir():
                name = path.name
                is_ours = len(name) == _DIGEST_CHARACTERS and _HEX.issuperset(name)
                with suppress(OSError):
                    if is_ours and self._age(path) >= age:
                        yield name

    def _age(self, path: Path) -> int:
        """In microseconds; of a file that is not there more than of any other, and never negative."""
        try:
            return max(0, self._clock.now() - path.stat().st_mtime_ns // _NANOS)
        except FileNotFoundError:
            return self._clock.now()


class Incoming:
    """A temporary file that is written, measured and hashed; unless it is kept, nothing of it stays.

    `drop` may come from another thread while a write is under way (its caller is gone): it waits for that.
    """

    def __init__(self, spool: Spool, number: int, temporary: Path) -> None:
        self._spool = spool
        self._number: int | None = number
        self._temporary = temporary
        self._hash = hashlib.sha256()
        self._lock = Lock()
        self.size_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def write(self, *pieces: bytes) -> None:
        """Append. Raises StorageFull, StoreUnavailable."""
        for piece in pieces:
            self._hash.update(piece)
            self.size_bytes += len(piece)
            self._write(memoryview(piece))

    def keep(self) -> str:
        """Put it into the spool, durably, and close it; its hex SHA-256. Raises StorageFull, StoreUnavailable."""
        sha256 = self._hash.hexdigest()
        with self._lock, _translated():
            number = self._open_number()
            os.fsync(number)
            self._spool.adopt(self._temporary, sha256)
            self._number = None
            os.close(number)
        return sha256

    def drop(self) -> None:
        """Close it, and remove what was not kept."""
        with self._lock:
            number, self._number = self._number, None
            if number is not None:
                os.close(number)
                self._temporary.unlink(missing_ok=True)

    def _write(self, rest: memoryview) -> None:
        while rest:
            with self._lock, _translated():
                rest = rest[os.write(self._open_number(), rest) :]

    def _open_number(self) -> int:
        if self._number is None:
            raise OSError(EBADF, "dropped")
        return self._number


@contextmanager
def _translated() -> Iterator[None]:
    """The one place where errors of the spool's file system become ours."""
    try:
        yield
    except OSError as error:
        if error.errno in {ENOSPC, EDQUOT}:
            message = "The disk of the spool is full."
            raise StorageFull(message) from error
        message = f"The spool can not be used: {error.strerror}"
        raise StoreUnavailable(message) from error


def _sync(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)
