"""Putting a backup in place: everything is unpacked and proven beside the store before anything of it is moved.

Nothing is ever deleted: what was there is moved into `replaced-TIME`. While files are moved the directory `restoring`
is there, and no daemon starts; until then the store is as it was. The first start then holds what may have gone since
(`store/sqlite/opening`).
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from postroom.core.instant import Instant, format_instant
from postroom.ops.archive import DATABASE, KEY_FILE, Manifest, Readable, unpack
from postroom.ports.errors import StateRefused, StorageFull
from postroom.service.archiving import Archiver, Room, clear_left
from postroom.store.sqlite.inspecting import Copy, inspect_copy
from postroom.store.sqlite.state_dir import (
    LOCK,
    PLACING,
    check_placed,
    locked,
    make_private,
    sync_directory,
)


_UNPACKING: Final = "unpacking"
_REPLACED: Final = "replaced-"
_SPOOL: Final = "spool"
_TRIES: Final = 1000  # to replace a store within one microsecond
# The database comes last and goes first: where it is, everything that it names is.
_PLACED: Final = (_SPOOL, KEY_FILE, DATABASE)


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put in place; `replaced` is where that lies which was there before.

    `is_roots`: the files belong to root, since the directory did.
    """

    manifest: Manifest
    copy: Copy
    replaced: Path | None
    is_roots: bool


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that comes from somewhere; `size_bytes` None = nobody knows how much."""

    stream: Readable
    size_bytes: int | None


def restore(
    backup: Backup, state_dir: Path, at: Instant, *, replaces: bool, room: Room | None = None
) -> Restored:
    """Put a backup in place in a directory that holds no store, or `replaces` what it holds.

    Raises: AlreadyRunning while a daemon runs; StateRefused; BackupDamaged; StorageFull; OSError.
    """
    room = room or Room()
    make_private(state_dir)
    with locked(state_dir):
        held = _find_held(state_dir)
        if held and not replaces:
            message = f"{state_dir} holds a store ({', '.join(held[:3])}): --replace moves it aside"
            raise StateRefused(message)
        _check_room(backup, state_dir, room)
        with _unpacked(state_dir) as folder:
            manifest = unpack(backup.stream, lambda name: _make(folder, name))
            for sha256 in manifest.damaged:
                (folder / _SPOOL / sha256[:2] / sha256).unlink(missing_ok=True)
            copy = inspect_copy(folder / DATABASE)
            _sync_tree(folder)
            owner = _give(folder, state_dir)
            placing = state_dir / PLACING
            shutil.rmtree(placing, ignore_errors=True)
            folder.rename(placing)
            sync_directory(state_dir)
        replaced = _move_aside(state_dir, at) if held else None
        _move_in(state_dir)
        _give(state_dir / LOCK, state_dir)
    return Restored(manifest, copy, replaced, is_roots=os.geteuid() == 0 == owner)


@contextmanager
def standing_backup(
    state_dir: Path, at: Instant, room: Room | None = None
) -> Iterator[tuple[int, Iterator[bytes]]]:
    """A backup of a store that no daemon uses: about how many bytes, and the tar in pieces.

    Raises: AlreadyRunning, StateRefused, StorageFull, StoreUnavailable; OSError.
    """
    if not (state_dir / DATABASE).exists():
        message = f"there is no store in {state_dir}"
        raise StateRefused(message)
    with locked(state_dir):
        check_placed(state_dir)
        clear_left(state_dir)
        archiver = Archiver(state_dir, at, room)
        try:
            yield archiver.open(), archiver.pieces()
        finally:
            archiver.close()


def _find_held(state_dir: Path) -> list[str]:
    """What lies there besides the lock and what earlier restores left."""
    names = sorted(one.name for one in state_dir.iterdir())
    ours = (LOCK, _UNPACKING, PLACING)
    return [one for one in names if one not in ours and not one.startswith(_REPLACED)]


def _check_room(backup: Backup, state_dir: Path, room: Room) -> None:
    if backup.size_bytes is None:
        return
    free = room.disk_free(state_dir)
    if free < backup.size_bytes + room.min_free_bytes:
        message = (
            f"the backup needs {backup.size_bytes:,} bytes in {state_dir}, and {free:,} are free"
        )
        raise StorageFull(message)


@contextmanager
def _unpacked(state_dir: Path) -> Iterator[Path]:
    """A directory of its own beside the store; where it was not put in place, nothing of it stays."""
    folder = state_dir / _UNPACKING
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    (folder / _SPOOL).mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _make(folder: Path, name: str) -> BinaryIO:
    """A new file, 0600; `name` was checked by `ops.archive`."""
    path = folder / name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def _sync_tree(folder: Path) -> None:
    """Make all names durable; the files are."""
    for path, _, _ in os.walk(folder):
        sync_directory(Path(path))


def _give(path: Path, state_dir: Path) -> int:
    """Let the owner of the directory own this too, where root works for him; who that is."""
    owner = state_dir.stat()
    if os.geteuid() == 0:
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
        for folder, folders, files in os.walk(path):
            for name in (*folders, *files):
                one = Path(folder, name)
                os.chown(one, owner.st_uid, owner.st_gid, follow_symlinks=False)
    return owner.st_uid


def _move_aside(state_dir: Path, at: Instant) -> Path:
    name = f"{_REPLACED}{format_instant(at).replace(':', '')}"
    names = (name, *(f"{name}-{number}" for number in range(2, _TRIES)))
    aside = next(path for path in map(state_dir.joinpath, names) if not path.exists())
    aside.mkdir(mode=0o700)
    _give(aside, state_dir)
    held = _find_held(state_dir)
    for name in sorted(held, key=lambda one: (one != DATABASE, one)):
        (state_dir / name).rename(aside / name)
    sync_directory(aside)
    sync_directory(state_dir)
    return aside


def _move_in(state_dir: Path) -> None:
    placing = state_dir / PLACING
    for name in _PLACED:
        if (placing / name).exists():
            (placing / name).rename(state_dir / name)
    sync_directory(state_dir)
    placing.rmdir()
    sync_directory(state_dir)
