"""What systemd does to a process of our unit before it becomes the daemon, as far as that goes without systemd.

Runs as root in a mount namespace of its own: `Plan(...).words()` is what to start. It makes everything but the state directory read-only and hides the homes, becomes a user without any
capability, takes the filters of the unit, and executes the command with the descriptors and the environment of the plan.
"""

import ctypes
import fcntl
import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from support.peers import APART
from support.seccomp import call_groups, install, read_unit


UNIT = Path(__file__).parents[2] / "systemd" / "postroom.service"
USER = 61_234  # nobody's
START = (
    *(*APART, sys.executable, "-c"),
    f"import sys; sys.path[:0] = [{str(Path(__file__).parents[1])!r}]; from support.confined import main; main()",
)
_DROP_FROM_BOUND, _NO_NEW_PRIVILEGES, _NO_WRITE_AND_EXECUTE = 24, 38, 65
_FIRST_FD = 3


@dataclass(frozen=True)
class Plan:
    """`writable` is the state directory, `needed` what has to be seen below the homes, `sockets` what is handed over."""

    command: list[str]
    writable: str
    needed: list[str]
    environ: dict[str, str]
    sockets: list[int]
    also_denied: list[str]

    def words(self) -> list[str]:
        """What to start."""
        return [*START, json.dumps(asdict(self))]


def main() -> None:
    """Become the command."""
    plan = Plan(**json.loads(sys.argv[1]))
    unit, groups = read_unit(UNIT), call_groups()
    for top in {_closed(Path(one)) for one in plan.needed} - {None}:
        _hide(top, [Path(one) for one in plan.needed if Path(one).is_relative_to(top)])
    _mount("--bind", plan.writable, plan.writable)
    _mount("-o", "remount,bind,ro", "/")
    _mount("-t", "proc", "-o", "hidepid=invisible", "proc", "/proc")
    sockets = [fcntl.fcntl(one, fcntl.F_DUPFD, 64) for one in plan.sockets]
    for place, one in enumerate(sockets):
        os.dup2(one, _FIRST_FD + place)
        os.close(one)
    most = int(unit.all("LimitNOFILE")[0])
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, most))
    _lose_rights()
    os.umask(int(unit.all("UMask")[0], 8))
    environ = {**plan.environ, "LISTEN_PID": str(os.getpid())}
    install(unit, groups, plan.also_denied)
    os.execve(plan.command[0], plan.command, environ)  # noqa: S606 - the point of it


def _closed(path: Path) -> Path | None:
    """The first folder on the way that other users may not pass."""
    ways = [one for one in reversed(path.parents) if not one.stat().st_mode & 0o001]
    return ways[0] if ways else None


def _hide(top: Path, needed: list[Path]) -> None:
    """An empty folder in its place, in which only what is needed is seen."""
    with tempfile.TemporaryDirectory() as held:
        for number, one in enumerate(needed):
            kept = Path(held, str(number))
            kept.mkdir()
            _mount("--bind", str(one), str(kept))
        _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(top))
        for number, one in enumerate(needed):
            one.mkdir(parents=True, exist_ok=True)
            _mount("--move", str(Path(held, str(number))), str(one))


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def _lose_rights() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1):
        libc.prctl(_DROP_FROM_BOUND, capability, 0, 0, 0)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    assert libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    libc.prctl(
        _NO_WRITE_AND_EXECUTE, 1, 0, 0, 0
    )  # kernels before 6.3 do not have it; the filter does the same
