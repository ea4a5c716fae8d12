"""A real file system that is small: a tmpfs in a mount namespace of its own, which ends with the nursery that lives in it.

with apart() as nursery:
    disk = small_disk(tmp_path, nursery, size_bytes=72 * MIB, files=400)
    async with house_in(tmp_path, relay.port, nursery) as house:
        await house.start(kept=20 * MIB)
        disk.fill()                     # ENOSPC for whoever writes now
        disk.make_room()

`tmp_path/state` lies on it, as the daemons of this nursery see it. Nothing of it is left on this machine, however the
test ends. Root may make one; others where the kernel lets them have namespaces.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from postroom.selftest.nursery import Nursery
from support.nursery import COMMAND
from support.peers import needs_peer


MIB = 1 << 20
MOUNTS = ("--mount",)
USERS_TOO = ("--user", "--mount")  # who is not root may be root in there
MAPPED = {MOUNTS: (), USERS_TOO: ("--map-root-user",)}
_LOOKS = 2_000
KEPT_IDS = {MOUNTS: (), USERS_TOO: ("--preserve-credentials",)}


@dataclass(frozen=True)
class SmallDisk:
    """The disk; `seen` is where it lies for us."""

    seen: Path

    @property
    def free_bytes(self) -> int:
        stats = os.statvfs(self.seen)
        return stats.f_bavail * stats.f_frsize

    @property
    def free_files(self) -> int:
        return os.statvfs(self.seen).f_favail

    def fill(self, leave_bytes: int = 0) -> None:
        """Let somebody else take what is free."""
        with (self.seen / "filler").open("ab") as filler:
            while (much := self.free_bytes - leave_bytes) > 0:
                with suppress(OSError):  # the daemon was faster
                    os.posix_fallocate(filler.fileno(), os.fstat(filler.fileno()).st_size, much)

    def fill_files(self, leave: int = 0) -> None:
        """Let somebody else make as many files as can be made."""
        (self.seen / "others").mkdir(exist_ok=True)
        while (many := self.free_files - leave) > 0:
            for _ in range(many):
                os.close(tempfile.mkstemp(dir=self.seen / "others")[0])

    def make_room(self) -> None:
        """They clear up."""
        (self.seen / "filler").unlink(missing_ok=True)
        for one in (self.seen / "others").glob("*"):
            one.unlink()


@contextmanager
def apart() -> Iterator[Nursery]:
    """A nursery in a namespace of its own; where none can be had, the test is skipped."""
    kind = _kind()
    nursery = Nursery(("unshare", *kind, *MAPPED[kind], *COMMAND))
    try:
        _await_apart(nursery.pid)
        yield nursery
    finally:
        nursery.close()


def small_disk(folder: Path, nursery: Nursery, *, size_bytes: int, files: int) -> SmallDisk:
    """One of this size, on which so many files may lie."""
    state, kind = folder / "state", _kind()
    state.mkdir(mode=0o700)
    options = f"size={size_bytes},nr_inodes={files},mode=0700"
    enter = ("nsenter", "--target", str(nursery.pid), *kind, *KEPT_IDS[kind])
    subprocess.run([*enter, *_mount(options, str(state))], check=True)
    return SmallDisk(Path(f"/proc/{nursery.pid}/root") / state.relative_to("/"))


@cache
def _kind() -> tuple[str, ...]:
    """What has to be one's own to mount something."""
    needs_peer("unshare")
    with tempfile.TemporaryDirectory() as folder:
        for kind, mapped in MAPPED.items():
            words = ["unshare", *kind, *mapped, *_mount("size=1m", folder)]
            if subprocess.run(words, check=False, capture_output=True).returncode == 0:
                return kind
    pytest.skip("the kernel lets nobody here mount a file system")


def _await_apart(pid: int) -> None:
    """Return when it is; what is mounted for it before that is mounted for everybody."""
    for _ in range(_LOOKS):
        if Path(f"/proc/{pid}/exe").readlink().name != "unshare":
            return
        time.sleep(0.01)
    pytest.fail("no namespace was made")


def _mount(options: str, folder: str) -> tuple[str, ...]:
    return ("mount", "-t", "tmpfs", "-o", options, "tmpfs", folder)
