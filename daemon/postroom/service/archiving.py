"""One backup of a state directory, from the copy of its database to the last byte of the tar.

The copy is made first, in a directory of its own that is gone afterwards; the files of the spool that it names follow.
Everything here blocks and belongs to one thread.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from postroom import __version__
from postroom.core.instant import Instant, format_instant, parse_instant
from postroom.ops.archive import DATABASE, KEY_FILE, Origin, Source, pack
from postroom.store.sqlite.copying import DatabaseCopy
from postroom.store.sqlite.outbox import MIN_FREE_BYTES
from postroom.store.sqlite.space import disk_free
from postroom.store.sqlite.state_dir import sync_directory


LAST: Final = "last_backup"

_PREFIX: Final = "backup-"
_HEADS: Final = 1024  # of a tar, for each file


@dataclass(frozen=True, slots=True)
class Room:
    """How much must stay free, and what is."""

    min_free_bytes: int = MIN_FREE_BYTES
    disk_free: Callable[[Path], int] = disk_free


class Archiver:
    """Makes one backup."""

    def __init__(self, state_dir: Path, at: Instant, room: Room | None = None) -> None:
        self._state_dir = state_dir
        self._at = at
        self._room = room or Room()
        self._folder = Path(mkdtemp(prefix=_PREFIX, dir=state_dir))
        self._copy = DatabaseCopy(state_dir / DATABASE, self._folder / DATABASE)
        self._source: Source | None = None

    def open(self) -> int:
        """Copy the database; about how many bytes the tar will have.

        Raises: StorageFull, StoreUnavailable.
        """
        copied = self._copy.make(self._room.min_free_bytes, self._room.disk_free)
        at = format_instant(self._at)
        self._source = Source(
            origin=Origin(__version__, copied.schema, at, copied.instance_id),
            database=self._folder / DATABASE,
            token_key=self._state_dir / KEY_FILE,
            spool=self._copy.files(),
            path_of=lambda sha256: self._state_dir / "spool" / sha256[:2] / sha256,
        )
        return copied.size_bytes + copied.files_bytes + _HEADS * (copied.files + 3)

    def pieces(self) -> Iterator[bytes]:
        """The tar. When the last piece was taken, it is noted when a backup was made."""
        if self._source is not None:
            yield from pack(self._source)
            _note(self._state_dir, self._at)

    def interrupt(self) -> None:
        """Stop copying, from any thread."""
        self._copy.interrupt()

    def close(self) -> None:
        """Leave nothing behind."""
        self._copy.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def clear_left(state_dir: Path) -> None:
    """Remove copies that a crash left behind; to be called while nobody makes a backup."""
    for left in state_dir.glob(f"{_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)


def find_last(state_dir: Path) -> Instant | None:
    """When the last backup was handed over; None where that is not known."""
    try:
        return parse_instant(json.loads((state_dir / LAST).read_text("utf-8"))["at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _note(state_dir: Path, at: Instant) -> None:
    """Durable or not at all; that it can not be noted is no fault of the backup."""
    draft = state_dir / f"{LAST}.new"
    with suppress(OSError):
        owner = state_dir.stat()
        draft.write_text(json.dumps({"at": format_instant(at)}), "utf-8")
        draft.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(draft, owner.st_uid, owner.st_gid)
        draft.replace(state_dir / LAST)
        sync_directory(state_dir)
