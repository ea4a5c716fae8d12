"""Files that a caller names by path: opened beneath one of the mailbox's roots, and nothing else (HAZARDS A7).

Component by component without following a link, so that a link put in the way meanwhile leads nowhere. What is opened
must be a regular file that its caller could read too: owned by the caller's uid, or readable by group or others.
Opening never waits, not even for a pipe. Everything here blocks.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from postroom.ops.spool import PIECE_BYTES
from postroom.outbound.shortage import check_shortage


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a file is not taken, in a sentence; `is_changing`: it was written to while it was read."""

    detail: str
    is_changing: bool = False


_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_WALK: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SHARED: Final = stat.S_IRGRP | stat.S_IROTH
_SUPERUSER: Final = 0

_SAID: Final = {
    errno.ENOENT: "There is no such file.",
    errno.ELOOP: "The path goes through a symbolic link.",
    errno.ENOTDIR: "The path goes through a symbolic link or something that is no directory.",
    errno.EACCES: "The daemon may not read this file.",
    errno.ENXIO: "This is no regular file.",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A path, the roots beneath which it may lie, its most bytes (0 = any), and who asks (None = anyone)."""

    path: str
    roots: Sequence[str]
    limit_bytes: int
    reader_uid: int | None


def read_beneath(
    wanted: Wanted, take: Callable[[bytes], None], is_over: Callable[[], bool]
) -> Unfit | None:
    """Give the whole file to `take`, piece by piece; why not, where it is unfit. `is_over`: nobody waits any more.

    Raises: StoreUnavailable when this host is too short of something to read it.
    """
    found = _find_root(wanted)
    if isinstance(found, Unfit):
        return found
    try:
        with _opened(*found) as number:
            return _find_fault(os.fstat(number), wanted) or _copy(number, wanted, take, is_over)
    except OSError as error:
        check_shortage(error)
        return Unfit(_SAID.get(error.errno or 0, "The file can not be read."))


def _find_root(wanted: Wanted) -> tuple[str, tuple[str, ...]] | Unfit:
    path = PurePosixPath(wanted.path)
    if not path.is_absolute() or ".." in path.parts or "\0" in wanted.path:
        return Unfit("The path must be absolute and without `..`.")
    for root in wanted.roots:
        if path.is_relative_to(root) and path != PurePosixPath(root):
            return root, path.relative_to(root).parts
    return Unfit("The path is not beneath one of the mailbox's attachment_roots.")


@contextmanager
def _opened(root: str, parts: tuple[str, ...]) -> Iterator[int]:
    *directories, name = parts
    number = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in directories:
            below = os.open(part, _WALK, dir_fd=number)
            os.close(number)
            number = below
        below = os.open(name, _READ, dir_fd=number)
        os.close(number)
        number = below
        yield number
    finally:
        os.close(number)


def _find_fault(found: os.stat_result, wanted: Wanted) -> Unfit | None:
    if not stat.S_ISREG(found.st_mode):
        return Unfit("This is no regular file.")
    is_shared = bool(found.st_mode & _SHARED)
    if not is_shared and wanted.reader_uid not in {found.st_uid, _SUPERUSER}:
        return Unfit("The caller may not read this file.")
    if wanted.limit_bytes and found.st_size > wanted.limit_bytes:
        return Unfit(f"The file has {found.st_size} bytes, {wanted.limit_bytes} are allowed.")
    return None


def _copy(
    number: int, wanted: Wanted, take: Callable[[bytes], None], is_over: Callable[[], bool]
) -> Unfit | None:
    before = os.fstat(number)
    left = before.st_size
    while piece := os.read(number, PIECE_BYTES):
        if is_over():
            return Unfit("Reading took too long.")
        left -= len(piece)
        if left < 0:
            break
        take(piece)
    after = os.fstat(number)
    if left or (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        return Unfit("The file was written to while it was read.", is_changing=True)
    return None
