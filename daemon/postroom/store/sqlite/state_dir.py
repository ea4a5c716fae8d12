"""The state directory: private, on a file system that SQLite can trust, and owned by one daemon at a time.

Known limits: the kind of file system is read from /proc/self/mountinfo; where there is none, it is not checked.
"""

import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from postroom.ports.errors import AlreadyRunning, StateRefused


FILE_NAME: Final = "postroom.db"
LOCK: Final = "lock"
PLACING: Final = "restoring"  # there while a restore puts files in place

_OTHERS: Final = 0o077
_MOUNTS: Final = Path("/proc/self/mountinfo")
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")

# WAL needs shared memory that all openers really share, and a sync that really syncs.
_UNTRUSTED: Final = frozenset(
    (
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs", "lustre"),
        *("ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb3", "smbfs", "vboxsf", "virtiofs"),
        "vmhgfs",
    )
)
_PASSING: Final = {
    "overlay": "what is on an overlay file system usually ends with its container",
    "tmpfs": "what is on a tmpfs ends with the machine's next stop",
    "ramfs": "what is on a ramfs ends with the machine's next stop",
}


def make_private(state_dir: Path) -> None:
    """Make the directory if there is none, durably; whichever it was, it is 0700 afterwards.

    Raises: StateRefused when it can not be, or is somebody else's: `/`, `/tmp` or a home must not become 0700.
    """
    try:
        _make_folders(state_dir)
        if _is_shared(state_dir):
            message = (
                f"state_dir {state_dir} is open to others and holds things that are not ours. Name a folder of its own,"
                " or chmod 700 it if it is."
            )
            raise StateRefused(message)
        state_dir.chmod(0o700)
    except OSError as error:
        message = f"state_dir {state_dir} can not be made private: {error.strerror}. Give it to the daemon's user."
        raise StateRefused(message) from error


def _make_folders(folder: Path) -> None:
    """A name is on the disk when the folder that has it was synced."""
    if folder.is_dir():
        return
    _make_folders(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_directory(folder.parent)


def check_placed(state_dir: Path) -> None:
    """Return unless a restore was cut off while it put files in place.

    Raises: StateRefused.
    """
    if (state_dir / PLACING).exists():
        message = (
            f"a restore into {state_dir} did not come to its end: run it again with --replace;"
            " what was there before is kept in replaced-*"
        )
        raise StateRefused(message)


def wal_of(path: Path) -> Path:
    """Where SQLite keeps the write-ahead log of the database at `path`."""
    return path.with_name(path.name + "-wal")


def _is_shared(directory: Path) -> bool:
    if not stat.S_IMODE(directory.stat().st_mode) & _OTHERS:
        return False
    names = {one.name for one in directory.iterdir()}
    return bool(names) and names.isdisjoint((LOCK, FILE_NAME))


def make_file(path: Path) -> None:
    """Make an empty file 0600, durably in its directory; one that is there becomes 0600.

    SQLite gives its log and shared memory the mode of the file, so there is no moment in which others can read them.

    Raises: StateRefused when there is a log without the file that it belongs to: SQLite would empty it.
    """
    if _size(wal_of(path)) and not _size(path):
        message = (
            f"{path} is gone, and its log {wal_of(path).name} is there: put the file back, or move the log away"
            " to begin with nothing"
        )
        raise StateRefused(message)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        sync_directory(path.parent)
    path.chmod(0o600)


def _size(path: Path) -> int:
    """0 also where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def locked(state_dir: Path) -> Iterator[None]:
    """Own the directory until the end of the block; the kernel gives it back even when the process is killed.

    Raises: AlreadyRunning.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(state_dir / LOCK, flags, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
            message = f"another postroom (process {owner or 'unknown'}) uses {state_dir}"
            raise AlreadyRunning(message) from error
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(fd)


def find_owner(state_dir: Path) -> str | None:
    """Which process owns the directory now; None = nobody, or the lock can not be read."""
    try:
        fd = os.open(state_dir / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return os.pread(fd, 20, 0).decode("ascii", "replace").strip() or "unknown"
    finally:
        os.close(fd)
    return None


def check_file_system(state_dir: Path, *, accept_any: bool) -> str | None:
    """A warning about where the directory lies, or None.

    Raises: StateRefused when it lies on a network or FUSE file system and that was not accepted.
    """
    kind = _file_system(state_dir)
    if kind in _UNTRUSTED or kind.startswith("fuse"):
        told = f"state_dir {state_dir} is on {kind}, which can lose or damage what is written there"
        if not accept_any:
            message = f"{told}: move it to a local disk, or start with --accept-file-system"
            raise StateRefused(message)
        return told
    passing = _PASSING.get(kind)
    return passing and f"state_dir {state_dir}: {passing}"


def _file_system(directory: Path) -> str:
    """The type of the file system, '' where that is unknown: the last mount on the longest path wins."""
    try:
        lines = _MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    wanted = directory.resolve()
    best, kind = -1, ""
    for line in lines:
        fields, _, source = line.partition(" - ")
        mount = Path(_ESCAPED.sub(_unescape, fields.split(" ")[4]))
        if len(mount.parts) >= best and wanted.is_relative_to(mount):
            best, kind = len(mount.parts), source.partition(" ")[0]
    return kind


def _unescape(found: re.Match[str]) -> str:
    return chr(int(found[1], 8))
