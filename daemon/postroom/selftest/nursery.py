"""Real daemons that start at once: a process that has imported everything, and forks one for each that is asked for.

`python -m postroom.selftest.nursery` reads JSON lines and answers each with one: {"start": a `Birth`} with the pid of a
new daemon, {"ended": PID} with how that one ended (an exit code, minus a signal) or null while it lives. When its input
ends, so do its daemons. No store is ever open in the process that forks.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from postroom.core.instant import Instant
from postroom.outbound.timeouts import Timeouts
from postroom.ports.host import Clock
from postroom.selftest.watching import Eye, Side, watched
from postroom.service.main import run
from postroom.service.tools import Tools


COMMAND: Final = (sys.executable, "-m", "postroom.selftest.nursery")

# Who started the selftest is no supervisor of what it starts.
_SUPERVISORS: Final = frozenset(
    {
        "CREDENTIALS_DIRECTORY",
        "JOURNAL_STREAM",
        "LISTEN_FDNAMES",
        "LISTEN_FDS",
        "LISTEN_PID",
        "NOTIFY_SOCKET",
        "WATCHDOG_PID",
        "WATCHDOG_USEC",
    }
)
_STDERR: Final = 2
_CLOSED: Final = 256  # descriptors that a fork does not take along
_END_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Birth:
    """A daemon to be made.

    `point` and `side`: where it kills itself once it is `armed` (None = nowhere); `patience_s`: how long a relay may
    take for a reply, but that to the final dot (None = as the RFC says); `slow_s`: when a wait for that one is slow;
    `longest_sleep_s`: no wait of the daemon's own is longer.
    """

    config: str
    log: str
    armed: str = ""
    reached: str = ""
    point: str | None = None
    side: str = Side.BEFORE
    patience_s: float | None = None
    slow_s: float | None = None
    longest_sleep_s: float | None = None


class Nursery:
    """The process, from outside; it may be asked from any thread."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(  # noqa: S603 - our own command line
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if name not in _SUPERVISORS},
            start_new_session=True,  # Ctrl-C is for the selftest, which then ends what it started
        )

    @property
    def pid(self) -> int:
        """The process that makes them."""
        return self._process.pid

    def start(self, birth: Birth) -> int:
        """The pid of a new daemon."""
        return int(self._ask({"start": asdict(birth)}))

    def find_end(self, pid: int) -> int | None:
        """How a daemon ended; None while it lives."""
        found: int | None = self._ask({"ended": pid})
        return found

    def close(self) -> None:
        """End it, and every daemon that still lives."""
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _ask(self, asked: dict[str, Any]) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            problem = "the nursery has no ends to talk through"
            raise OSError(problem)
        with self._lock:
            stdin.write(f"{json.dumps(asked)}\n")
            stdin.flush()
            line = stdout.readline()
        if not line:
            problem = "the process that makes daemons has ended"
            raise OSError(problem)
        return json.loads(line)


class _HastyClock:
    """The daemon's clock, with waits cut short."""

    def __init__(self, clock: Clock, longest_s: float) -> None:
        self._clock = clock
        self._longest_s = longest_s

    def now(self) -> Instant:
        """The wall clock."""
        return self._clock.now()

    def monotonic(self) -> int:
        """Microseconds since an arbitrary moment."""
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait, but not long."""
        return self._clock.sleep(min(seconds, self._longest_s))


def fit(tools: Tools, birth: Birth) -> Tools:
    """A daemon's tools as its birth wants them."""
    limits = Timeouts()
    if birth.patience_s is not None:
        patience = timedelta(seconds=birth.patience_s)
        limits = replace(limits, greeting=patience, command=patience, data=patience, block=patience)
    if birth.slow_s is not None:
        limits = replace(limits, slow=timedelta(seconds=birth.slow_s))
    clock = tools.clock
    if birth.longest_sleep_s is not None:
        clock = _HastyClock(clock, birth.longest_sleep_s)
    opening = tools.open_outbox
    if birth.point is not None:
        eye = Eye(birth.point, Side(birth.side), Path(birth.armed), Path(birth.reached))
        opening = watched(opening, eye)
    return replace(tools, timeouts=limits, clock=clock, open_outbox=opening)


def _live(birth: Birth) -> int:
    log = os.open(birth.log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for fd, to in ((nothing, 0), (log, 1), (log, _STDERR)):
        os.dup2(fd, to)
    os.closerange(_STDERR + 1, _CLOSED)
    return run(Path(birth.config), fit=lambda tools: fit(tools, birth))


def _start(birth: Birth) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = os.EX_SOFTWARE
    try:
        code = _live(birth)
    except BaseException as error:  # noqa: BLE001 - a fork must never go back to its parent's loop
        sys.stderr.write(f"{error!r}\n")
    finally:
        sys.stderr.flush()
        os._exit(code)


def _find_end(pid: int, ended: dict[int, int]) -> int | None:
    if pid not in ended:
        done, status = os.waitpid(pid, os.WNOHANG)
        if not done:
            return None
        ended[pid] = os.waitstatus_to_exitcode(status)
    return ended[pid]


def main() -> None:
    """Serve until the input ends."""
    made: list[int] = []
    ended: dict[int, int] = {}
    try:
        for line in sys.stdin:
            asked = json.loads(line)
            if "start" in asked:
                answer: int | None = _start(Birth(**asked["start"]))
                made.append(answer or 0)
            else:
                answer = _find_end(asked["ended"], ended)
            sys.stdout.write(f"{json.dumps(answer)}\n")
            sys.stdout.flush()
    finally:
        for pid in made:
            if pid not in ended:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
