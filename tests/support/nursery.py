"""Real daemons that start at once: a process that has imported everything, and forks one for each line it reads.

`python -m support.nursery` reads JSON lines: {"start": CONFIG, "log": FILE, "env": {…}, "kill": [POINT, SIDE] | null,
"boot_id": ID | null, "umask": N, "kept": BYTES} answers the pid; {"wait": PID, "timeout_s": S} answers how it ended (an exit code,
minus a signal, or null). When its input ends, so do its children.

A daemon with `kept` asks the disk that it is on, and keeps so much of it free; others are told that there is room.
A daemon with `kill` ends itself with SIGKILL before or after the first commit of a named point (docs/internals.md).
"""

import json
import os
import select
import signal
import sqlite3
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from postroom.service.main import run
from postroom.store.sqlite import (
    accept_unit,
    inbox_publish,
    inbox_receive,
    lease_acquire,
    lease_complete,
    lease_end,
    loop_finish,
    loop_start,
    opening,
)
from postroom.store.sqlite.opening import HostIdentity, OpeningRules
from postroom.store.sqlite.outbox import Setting, open_outbox
from postroom.store.sqlite.space import Inodes


POINTS = {
    "accept": accept_unit._JOB,
    "start": loop_start._START,
    "mark": loop_start._MARK,
    "finish": loop_finish._FINISH,
    "recover": opening._AT_WORK,
    "receive": inbox_receive._INSERT,
    "publish": inbox_publish._RAISE,
    "close": inbox_receive._CLOSE,
    "lease": lease_acquire._GRANT,
    "extend": lease_acquire._EXTEND,
    "complete": lease_complete._ACK,
    "release": lease_end._END,
}
GROUND = 1 << 20  # of free space: what else is on the disk of a test is nothing to a daemon of it


def killer(point: str, side: str) -> type[sqlite3.Connection]:
    """A connection that kills its process at the first commit of a transaction in which the point's statement ran."""
    wanted = POINTS[point]

    class Killer(sqlite3.Connection):
        is_reached = False

        def execute(self, sql, parameters=(), /):  # type: ignore[no-untyped-def,override]
            self.is_reached |= sql == wanted
            is_due = self.is_reached and sql == "COMMIT"
            if is_due and side == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            done = super().execute(sql, parameters)
            if is_due:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

    return Killer


def _open(asked: dict[str, Any], *given: Any) -> Any:
    factory = killer(*asked["kill"]) if asked.get("kill") else sqlite3.Connection
    *parts, rules = given
    if asked.get("boot_id"):
        rules = replace(rules or OpeningRules(), host=HostIdentity("machine", asked["boot_id"]))
    room = Setting(GROUND, lambda _: GROUND, lambda _: GROUND, lambda _: Inodes(0, 0))
    setting = replace(Setting(asked["kept"]) if "kept" in asked else room, factory=factory)
    return open_outbox(*parts, rules, setting)


def _live(asked: dict[str, Any]) -> int:
    log = os.open(asked["log"], os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for fd, to in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(fd, to)
    os.closerange(3, 64)
    os.umask(asked.get("umask", 0o022))
    os.environ.update(asked.get("env", {}))
    return run(
        Path(asked["start"]), fit=lambda tools: replace(tools, open_outbox=partial(_open, asked))
    )


def _start(asked: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = os.EX_SOFTWARE
    try:
        code = _live(asked)
    except BaseException as error:  # noqa: BLE001 - a fork must never go back to its parent's loop
        sys.stderr.write(f"{error!r}\n")
    finally:
        sys.stderr.flush()
        os._exit(code)


def _wait(pid: int, timeout_s: float) -> int | None:
    fd = os.pidfd_open(pid)
    try:
        if not select.select([fd], [], [], timeout_s)[0]:
            return None
    finally:
        os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    """Serve until the input ends."""
    alive: set[int] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        if "start" in asked:
            answer: int | None = _start(asked)
            alive.add(answer or 0)
        else:
            answer = _wait(asked["wait"], asked["timeout_s"])
            if answer is not None:
                alive.discard(asked["wait"])
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
    for pid in alive:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
