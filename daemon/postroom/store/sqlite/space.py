"""Free space: new jobs are refused while there is still room to write down what becomes of the old ones.

Below `kept_free` nothing is accepted: 256 MiB, on larger disks a twentieth, since others fill those as well, at most
2 GiB; nor with fewer than `files_kept` new files left, where a file system counts them. A ballast file keeps room that
SQLite can have when the disk is full all the same: it is removed the first time that an outcome can not be stored, and
made again once there is room.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postroom.core.instant import SECOND
from postroom.ports.errors import StorageFull, StoreUnavailable
from postroom.ports.host import Clock


BALLAST_BYTES: Final = 16 * 1024 * 1024

_SHARE: Final = 20
_MOST_KEPT: Final = 2 * 1024 * 1024 * 1024  # what the reserve is for does not grow with the disk
_MOST_FILES_KEPT: Final = 1_000  # log, copies, and what is being read in at once: each makes a few
_LOOK_EVERY: Final = (
    SECOND  # a look costs a system call, and a second of accepting cannot fill the reserve
)


@dataclass(frozen=True, slots=True)
class Inodes:
    """How many files a file system may have, and how many of them are left to be made. No total: it does not count them."""

    free: int
    total: int


@dataclass(frozen=True, slots=True)
class Room:
    """What is free, in bytes, and how much of it is kept for what was accepted before; the same of files."""

    free: int
    kept: int
    inodes: Inodes

    @property
    def files_kept(self) -> int:
        """How many files can still be made when nothing more is accepted; 0 where none are counted."""
        return files_kept(self.inodes.total)


class Space:
    """What may still be written, by what `disk` says of the file system of a directory."""

    def __init__(self, state_dir: Path, clock: Clock, min_free_bytes: int, disk: "Disk") -> None:
        self._state_dir = state_dir
        self._clock = clock
        self._min_free_bytes = min_free_bytes
        self._disk = disk
        self._ballast = state_dir / "ballast"
        self._looked_at: int | None = None
        self._room = Room(0, 0, Inodes(0, 0))

    def check(self) -> None:
        """Return when a new job may be stored.

        Raises: StorageFull, StoreUnavailable.
        """
        now = self._clock.monotonic()
        if self._looked_at is None or now - self._looked_at >= _LOOK_EVERY:
            # Threads of the spool look too: what is seen is there before it is called fresh.
            self._room = self.look()
            self._looked_at = now
        room = self._room
        if room.free < room.kept:
            message = (
                f"{room.free} bytes are free under {self._state_dir}, {room.kept} are"
                " kept for what was accepted before"
            )
            raise StorageFull(message)
        if room.inodes.free < room.files_kept:
            message = (
                f"{room.inodes.free} more files can be made under {self._state_dir},"
                f" {room.files_kept} are kept for what was accepted before"
            )
            raise StorageFull(message)

    def look(self) -> Room:
        """What there is now. Raises: StoreUnavailable."""
        try:
            size = self._disk.size(self._state_dir)
            free, inodes = self._disk.free(self._state_dir), self._disk.inodes(self._state_dir)
        except OSError as error:
            message = f"{self._state_dir} can not be looked at: {error.strerror}"
            raise StoreUnavailable(message) from error
        return Room(free, kept_free(self._min_free_bytes, size), inodes)

    def put_ballast(self) -> None:
        """Lay the ballast down, if it is not there and there is ample room."""
        room = self.look()
        if self._ballast.exists() or room.free < room.kept + 2 * BALLAST_BYTES:
            return
        with suppress(OSError):
            fd = os.open(self._ballast, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(fd, 0, BALLAST_BYTES)
            except OSError:  # half a ballast would be taken for one
                self._ballast.unlink()
            finally:
                os.close(fd)

    def drop_ballast(self) -> None:
        """Give its room away, and look at the disk again before the next job."""
        self._looked_at = None
        with suppress(OSError):
            self._ballast.unlink()


def kept_free(min_free_bytes: int, size_bytes: int) -> int:
    """The bytes that stay free on a disk of this size."""
    return max(min_free_bytes, min(size_bytes // _SHARE, _MOST_KEPT))


def files_kept(total: int) -> int:
    """How many files can still be made when nothing more is accepted, on a file system of so many; 0 where none are counted."""
    return min(total // _SHARE, _MOST_FILES_KEPT)


def disk_free(directory: Path) -> int:
    """The bytes that an unprivileged process may still write there."""
    stats = os.statvfs(directory)
    return stats.f_bavail * stats.f_frsize


def disk_size(directory: Path) -> int:
    """The bytes that its file system has."""
    stats = os.statvfs(directory)
    return stats.f_blocks * stats.f_frsize


def disk_inodes(directory: Path) -> Inodes:
    """What its file system counts of files."""
    stats = os.statvfs(directory)
    return Inodes(stats.f_favail, stats.f_files)


@dataclass(frozen=True, slots=True)
class Disk:
    """The questions to a file system, each about that of a directory."""

    free: Callable[[Path], int] = disk_free
    size: Callable[[Path], int] = disk_size
    inodes: Callable[[Path], Inodes] = disk_inodes
