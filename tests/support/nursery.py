"""The shipped maker of daemons (postroom.selftest.nursery), whose daemons are more special here.

A daemon with `kill` = [POINT, SIDE] ends itself with SIGKILL before or after the first COMMIT of a transaction in which the
statement of that point ran: deeper than the shipped one, which knows the ports and not the SQL behind them.
A daemon with `kept` asks the disk that it is on, and keeps so many bytes of it free; others are told that there is room.
"""

import os
import resource
import signal
import sqlite3
import sys
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from postroom.api.parts import Bounds
from postroom.inbound.limits import Limits
from postroom.selftest import nursery
from postroom.service.tools import Tools
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


ROOT = Path(__file__).parents[2]
_PATHS = [str(ROOT / "daemon"), str(ROOT / "tests")]
COMMAND = (
    sys.executable,
    "-c",
    f"import sys; sys.path[:0] = {_PATHS}; from support.nursery import main; main()",
)
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


@dataclass(frozen=True, slots=True)
class Birth(nursery.Birth):
    """`umask`: with which it begins; `descriptors`: how many it may have open at most.

    `bounds` and `limits` are what clients of the API and of the listener are allowed where that differs; times in
    seconds.
    """

    kill: tuple[str, str] | None = None
    boot_id: str | None = None
    umask: int = 0o022
    descriptors: int | None = None
    kept: int | None = None
    bounds: dict[str, float] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)


def _open(birth: Birth, *given: Any) -> Any:
    factory = killer(*birth.kill) if birth.kill else sqlite3.Connection
    *parts, rules = given
    if birth.boot_id:
        rules = replace(rules or OpeningRules(), host=HostIdentity("machine", birth.boot_id))
    room = Setting(GROUND, lambda _: GROUND, lambda _: GROUND, lambda _: Inodes(0, 0))
    setting = room if birth.kept is None else Setting(birth.kept)
    return open_outbox(*parts, rules, replace(setting, factory=factory))


def fit(shipped: Any, tools: Tools, birth: Birth) -> Tools:
    """A daemon's tools, and what its process is allowed."""
    os.umask(birth.umask)
    if birth.descriptors is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (birth.descriptors, birth.descriptors))
    usual = Bounds()
    bounds = {
        name: timedelta(seconds=value) if isinstance(getattr(usual, name), timedelta) else value
        for name, value in birth.bounds.items()
    }
    fitted = replace(
        tools,
        open_outbox=partial(_open, birth),
        bounds=replace(usual, **bounds),
        limits=replace(Limits(), **birth.limits),
    )
    return shipped(fitted, birth)  # type: ignore[no-any-return]


def main() -> None:
    """Serve until the input ends."""
    nursery.Birth = Birth  # type: ignore[misc]
    nursery.fit = partial(fit, nursery.fit)  # type: ignore[assignment]
    nursery.main()
