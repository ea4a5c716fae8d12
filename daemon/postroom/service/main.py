"""`postroom run`: from settings to an exit code (sysexits)."""

import asyncio
import gc
import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from postroom.config.loading import load
from postroom.config.settings import Settings
from postroom.ops.chronicle import Chronicle
from postroom.ops.decisions import Decisions
from postroom.ops.host import SystemClock, SystemEntropy
from postroom.ops.librarylog import lead_library_logs
from postroom.ops.logbook import Logbook
from postroom.ops.supervisor import find_supervisor, take_sockets
from postroom.ops.throttle import Throttle
from postroom.ports.errors import (
    AlreadyRunning,
    ConfigError,
    PostroomError,
    StateRefused,
    StoreBroken,
    StoreError,
)
from postroom.service.daemon import SIGNALS, Daemon
from postroom.service.tools import Tools
from postroom.store.sqlite.opening import OpeningRules


_EXITS: Final[tuple[tuple[type[PostroomError], int], ...]] = (
    (AlreadyRunning, os.EX_TEMPFAIL),
    (StateRefused, os.EX_CONFIG),
    (ConfigError, os.EX_CONFIG),
    (StoreBroken, os.EX_IOERR),
    (StoreError, os.EX_IOERR),
)
# New objects before those are looked for that hold each other: a batch has as many in hand, and nearly none stays.
_YOUNG: Final = 10_000


def run(
    config: Path,
    *,
    accept_machine: bool = False,
    accept_file_system: bool = False,
    accept_lost_keys: bool = False,
    fit: Callable[[Tools], Tools] | None = None,
) -> int:
    """Run the daemon until it is told to stop; its exit code.

    `accept_machine`: the store may come from another machine; `accept_file_system`: it may lie on a network or FUSE
    one; `accept_lost_keys`: a key of reply addresses may be missing. `fit` is for whoever watches the daemon from inside
    its process: it may put something of its own in the place of a tool.

    Raises: ConfigError when the settings are wrong: nothing was started.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until the daemon listens to them
    try:
        settings = load(config)
        tools = _tools(config, settings, accepts_lost_keys=accept_lost_keys)
        tools = fit(tools) if fit is not None else tools
        rules = OpeningRules(accept_machine=accept_machine, accept_file_system=accept_file_system)
        return _serve(Daemon(settings, tools, rules), tools)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(daemon: Daemon, tools: Tools) -> int:
    _calm_collector()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(daemon.serve())
    except PostroomError as error:
        return _exit_code([error], tools.chronicle)
    except BaseExceptionGroup as group:
        ours, others = group.split(PostroomError)
        if others is not None or ours is None:
            raise
        return _exit_code(_leaves(ours), tools.chronicle)
    return os.EX_OK


def _calm_collector() -> None:
    """Code and settings stay for good: what they are made of is not gone through again and again."""
    gc.freeze()
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])


def _tools(config: Path, settings: Settings, *, accepts_lost_keys: bool) -> Tools:
    clock = SystemClock()
    sockets = take_sockets(os.environ)
    book = Logbook(
        sys.stderr, clock, settings.daemon.log_level, settings.daemon.log_format, os.environ
    )
    chronicle = Chronicle(book, Throttle(clock))
    lead_library_logs(chronicle)
    return Tools(
        clock=clock,
        entropy=SystemEntropy(),
        decisions=Decisions(book, Throttle(clock)),
        chronicle=chronicle,
        supervisor=find_supervisor(os.environ),
        sockets=sockets.get("api", ()),
        read_settings=partial(load, config),
        smtp_sockets=sockets.get("smtp", ()),
        accepts_lost_keys=accepts_lost_keys,
    )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The loop of uvloop where it is installed (the extra `uvloop`), else asyncio's own."""
    if importlib.util.find_spec("uvloop") is None:
        return None
    import uvloop  # noqa: PLC0415 - an extra

    return uvloop.new_event_loop


def _exit_code(errors: Sequence[BaseException], chronicle: Chronicle) -> int:
    """The code of the first kind in the table that happened; every one of them is told."""
    for error in errors:
        chronicle.failed(error)
    for kind, code in _EXITS:
        if any(isinstance(error, kind) for error in errors):
            return code
    return os.EX_SOFTWARE


def _leaves(group: BaseExceptionGroup[PostroomError]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
