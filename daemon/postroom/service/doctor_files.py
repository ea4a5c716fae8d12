"""What `postroom doctor` looks at on this machine: SQLite, the state directory, disk, socket, clock, backup."""

import os
import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

from postroom.core.instant import SECOND, Instant, format_instant, micros
from postroom.ops.archive import DATABASE, KEY_FILE
from postroom.ports.errors import PostroomError, StateRefused
from postroom.service.archiving import find_last
from postroom.service.findings import Finding, fail, fine, warn
from postroom.store.sqlite.inspecting import find_newest
from postroom.store.sqlite.outbox import MIN_FREE_BYTES
from postroom.store.sqlite.space import files_kept, kept_free
from postroom.store.sqlite.state_dir import LOCK, check_file_system, check_placed, find_owner
from postroom.store.sqlite.version import has_wal_reset_fault, is_too_old, version


_OTHERS: Final = 0o077
_OTHERS_WRITE: Final = 0o022
_EVERYBODY_WRITES: Final = 0o002
_FEW_INODES: Final = 10_000  # a spool of so many attachments
_PRIVATE: Final = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", KEY_FILE, LOCK, "spool")
_WEEK: Final = timedelta(days=7)  # as far as core.clockdoubt believes a clock
_CONFIRM: Final = "Compare it with another clock; if it is right: postroom doctor --confirm-clock"


def look_at_sqlite() -> list[Finding]:
    """Whether the store can be opened with it, and what it is known for."""
    if is_too_old():
        return [fail("sqlite", f"{version()} is too old", "Use 3.37 or later.")]
    if has_wal_reset_fault():
        told = f"{version()}: two programs that write to one file at once may damage it (mended in 3.51.3)"
        fix = "Nothing: Postroom writes by one connection. Never write to postroom.db with another program."
        return [warn("sqlite", told, fix)]
    return [fine("sqlite", version())]


def look_at_state(state_dir: Path) -> list[Finding]:
    """Whether the state directory is there, private, whole and of the right owner."""
    try:
        held = state_dir.stat()
    except FileNotFoundError:
        return [
            warn(
                "state_dir",
                f"{state_dir} is not there yet",
                "The daemon makes it; or restore a backup.",
            )
        ]
    except OSError as error:
        return [
            fail(
                "state_dir",
                f"{state_dir}: {error.strerror}",
                "Run this as root or the daemon's user.",
            )
        ]
    if not os.access(state_dir, os.R_OK | os.X_OK):
        fix = "Run this as root or the daemon's user."
        return [warn("state_dir", f"{state_dir} can not be looked into by this user", fix)]
    found = [*_open_to_others(state_dir, held), *_of_others(state_dir, held)]
    try:
        check_placed(state_dir)
    except StateRefused as refused:
        found.append(fail("state_dir", str(refused), "postroom restore FILE --replace"))
    return found or [fine("state_dir", f"{state_dir} is private")]


def look_at_file_system(state_dir: Path) -> list[Finding]:
    """Whether what is written there is there after a power cut."""
    try:
        told = check_file_system(state_dir, accept_any=False)
    except StateRefused as refused:
        return [fail("file_system", str(refused), "Move state_dir to a local disk.")]
    if told is not None:
        return [warn("file_system", told, "Move state_dir to a local disk.")]
    return [fine("file_system", "local")]


def look_at_disk(state_dir: Path) -> list[Finding]:
    """Whether there is room for mail."""
    room = os.statvfs(_nearest(state_dir))
    free, total = room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize
    told = f"{free:,} bytes free of {total:,}"
    found = [fine("disk", told)]
    kept = kept_free(MIN_FREE_BYTES, total)
    if free < kept:
        fix = f"Make room: below {kept:,} nothing new is accepted (507)."
        found = [fail("disk", told, fix)]
    elif free < kept + 3 * MIN_FREE_BYTES:
        found = [warn("disk", told, "Make room soon, also for the copy that a backup makes.")]
    return [*found, *_inodes(room.f_favail, room.f_files)]


def look_at_socket(path: Path, *, is_up: bool, state_dir: Path) -> list[Finding]:
    """Whether callers reach a daemon; where not, whether one is at work without them."""
    found = list(_folder_of(path))
    if is_up:
        return [*found, fine("socket", f"a daemon answers at {path}")]
    owner = find_owner(state_dir)
    if owner is not None:
        told = f"process {owner} uses {state_dir}, and nobody answers at {path}"
        fix = "See [api] socket, systemctl status postroom.socket, and whether you may open the socket."
        return [*found, fail("socket", told, fix)]
    told = f"no daemon answers at {path}"
    if path.exists():
        told += "; what lies there is of one that ended, or may not be opened by you"
    return [*found, fail("socket", told, "systemctl start postroom, or postroom run.")]


def look_at_backup(state_dir: Path, now: Instant) -> list[Finding]:
    """How old the last one is, where that is known."""
    last = find_last(state_dir)
    fix = "postroom backup FILE, every day, and take the file to another machine."
    if last is None:
        return [warn("backup", "none was made of this store", fix)]
    told = f"the last one was made at {format_instant(last)}"
    return [warn("backup", told, fix) if now - last > micros(_WEEK) else fine("backup", told)]


def look_at_clock(state_dir: Path, now: Instant, is_doubted: bool | None) -> list[Finding]:  # noqa: FBT001
    """Whether the clock fits what is in the store; `is_doubted` is what the daemon says, None = it does not run."""
    told = format_instant(now)
    if is_doubted is not None:
        if is_doubted:
            held = "the daemon doubts it: what can not be undone waits for a day"
            return [fail("clock", f"{told}: {held}", _CONFIRM)]
        return [fine("clock", told)]
    path = state_dir / DATABASE
    try:
        newest = find_newest(path) if path.exists() else None
    except PostroomError as error:
        return [warn("clock", f"{told}; the store can not be asked: {error}", "")]
    if newest is not None and abs(now - newest) > micros(_WEEK):
        days = abs(now - newest) // (86_400 * SECOND)
        held = f"it is {days:,} days from the newest instant in the store"
        return [warn("clock", f"{told}: {held}", f"{_CONFIRM}, once the daemon runs")]
    return [fine("clock", told)]


def look_at_settings_files(config: Path) -> list[Finding]:
    """Whether anybody else can change them."""
    beside = config.parent / "mailboxes.d"
    files = [config, *(sorted(beside.glob("*.toml")) if beside.is_dir() else [])]
    found = [
        warn("settings_files", f"others may write to {one}", f"chmod go-w {one}")
        for one in (*files, config.parent)
        if one.exists()
        and one.stat().st_mode & _OTHERS_WRITE
        and not one.stat().st_mode & stat.S_ISVTX
    ]
    return found or [fine("settings_files", f"{len(files)}, for their owner alone to change")]


def look_at_credentials(folder: str | None) -> list[Finding]:
    """Whether the folder of secrets is private."""
    if not folder:
        return []
    held = Path(folder).stat()
    if held.st_mode & _OTHERS and held.st_uid == os.geteuid():
        return [fail("credentials", f"others may look into {folder}", f"chmod 700 {folder}")]
    return [fine("credentials", f"{folder} is private")]


def _open_to_others(state_dir: Path, held: os.stat_result) -> Iterator[Finding]:
    if held.st_mode & _OTHERS:
        fix = f"chmod 700 {state_dir}"
        yield fail("state_dir", f"others may look into {state_dir}", fix)
    for name in _PRIVATE:
        path = state_dir / name
        if path.exists() and path.stat().st_mode & _OTHERS:
            yield fail("state_dir", f"others may open {path}", f"chmod go= {path}")


def _of_others(state_dir: Path, held: os.stat_result) -> Iterator[Finding]:
    for name in _PRIVATE:
        path = state_dir / name
        if path.exists() and path.stat().st_uid != held.st_uid:
            fix = f"chown -R --reference={state_dir} {state_dir}"
            yield fail("state_dir", f"{path} does not belong to the owner of {state_dir}", fix)


def _folder_of(path: Path) -> Iterator[Finding]:
    folder = path.parent
    if not folder.is_dir():
        yield fail(
            "socket", f"{folder} is not there", "Make it for the daemon's user (tmpfiles.d)."
        )
    elif folder.stat().st_mode & _EVERYBODY_WRITES:
        fix = f"chmod o-w {folder}"
        yield fail("socket", f"everybody may put a socket of theirs into {folder}", fix)


def _inodes(free: int, total: int) -> Iterator[Finding]:
    """Nothing where the file system counts none, or has plenty."""
    told, kept = f"{free:,} free of {total:,}", files_kept(total)
    if free < kept:
        fix = f"Remove small files: with fewer than {kept:,} left nothing new is accepted (507)."
        yield fail("inodes", told, fix)
    elif total and free < _FEW_INODES:
        yield warn("inodes", told, "Remove small files: every attachment needs an inode.")


def _nearest(path: Path) -> Path:
    """The path, or the nearest above it that is there."""
    return next(one for one in (path, *path.parents) if one.exists())
