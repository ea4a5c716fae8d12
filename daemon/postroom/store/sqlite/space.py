"""Free space: new jobs are refused while there is still room to write down what becomes of the old ones.

Below `min_free_bytes` nothing is accepted. A ballast file keeps room that SQLite can have when the disk is full all the
same: it is removed the first time that an outcome can not be stored, and made again once there is room.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from postroom.core.instant import SECOND
from postroom.ports.errors import StorageFull
from postroom.ports.host import Clock


BALLAST_BYTES: Final = 16 * 1024 * 1024
_LOOK_EVERY: Final = (
    SECOND  # a look costs a system call, and a second of accepting cannot fill the reserve
)


class Space:
    """What may still be written. `disk_free` says how many bytes are free on the file system of a directory."""

    def __init__(
        self,
        state_dir: Path,
        clock: Clock,
        min_free_bytes: int,
        disk_free: Callable[[Path], int],
    ) -> None:
        self._state_dir = state_dir
        self._clock = clock
        self._min_free_bytes = min_free_bytes
        self._disk_free = disk_free
        self._ballast = state_dir / "ballast"
        self._looked_at: int | None = None
        self._free = 0

    def check(self) -> None:
        """Return when a new job may be stored.

        Raises: StorageFull.
        """
        now = self._clock.monotonic()
        if self._looked_at is None or now - self._looked_at >= _LOOK_EVERY:
            # Threads of the spool look too: what is seen is there before it is called fresh.
            self._free = self._disk_free(self._state_dir)
            self._looked_at = now
        if self._free < self._min_free_bytes:
            message = (
                f"{self._free} bytes are free under {self._state_dir}, {self._min_free_bytes} are"
                " kept for what was accepted before"
            )
            raise StorageFull(message)

    def put_ballast(self) -> None:
        """Lay the ballast down, if it is not there and there is ample room."""
        free = self._disk_free(self._state_dir)
        if self._ballast.exists() or free < self._min_free_bytes + 2 * BALLAST_BYTES:
            return
        with suppress(OSError):
            fd = os.open(self._ballast, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(fd, 0, BALLAST_BYTES)
            finally:
                os.close(fd)

    def drop_ballast(self) -> None:
        """Give its room away, and look at the disk again before the next job."""
        self._looked_at = None
        self._ballast.unlink(missing_ok=True)


def disk_free(directory: Path) -> int:
    """The bytes that an unprivileged process may still write there."""
    stats = os.statvfs(directory)
    return stats.f_bavail * stats.f_frsize
