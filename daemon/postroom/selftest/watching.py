"""Commit points by the names of the ports, and an eye on them from inside a daemon's process.

A commit point is a method of a port that writes: one transaction, committed when it returns. They are derived from the
protocols that `Outbox` is made of, so that a new method is one without anybody's doing; what begins as a question does
is none. `outbox.recover` is the commit of opening. The daemon knows nothing of this: the store is wrapped where it is
opened (`service.tools.Tools.open_outbox`).
"""

import inspect
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol, cast, get_type_hints

from postroom.core.instant import Instant
from postroom.ports.host import Clock, Entropy
from postroom.service.tools import OpenOutbox
from postroom.store.sqlite.opening import OpeningRules
from postroom.store.sqlite.outbox import Outbox


RECOVER: Final = "outbox.recover"

_QUESTIONS: Final = ("find_", "has_", "is_", "count_", "check", "load", "oldest_due", "event_span")


class Side(StrEnum):
    """Of a commit."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Eye:
    """Kills its own process at one side of a commit point, once the file `armed` is there; `reached` says that it did."""

    point: str
    side: Side
    armed: Path
    reached: Path

    def see(self, point: str, side: Side) -> None:
        """Called on both sides of every commit point."""
        if (point, side) == (self.point, self.side) and self.armed.exists():
            self.reached.write_text(f"{point} {side}\n", "ascii")
            os.kill(os.getpid(), signal.SIGKILL)


def find_points() -> tuple[str, ...]:
    """Every commit point as `port.method`, in the order of the ports."""
    found = [
        f"{field}.{name}"
        for field, port in _ports().items()
        for name, method in inspect.getmembers(port, inspect.iscoroutinefunction)
        if not name.startswith(_QUESTIONS)
    ]
    return (*found, RECOVER)


def watched(opening: OpenOutbox, eye: Eye) -> OpenOutbox:
    """The same store with the eye on it."""

    @asynccontextmanager
    async def opened(
        state_dir: Path,
        clock: Clock,
        entropy: Entropy,
        has_spool_file: Callable[[str], bool],
        rules: OpeningRules | None,
    ) -> AsyncIterator[Outbox]:
        looking = _OpeningClock(clock, eye)
        async with opening(state_dir, looking, entropy, has_spool_file, rules) as outbox:
            looking.is_opening = False
            eye.see(RECOVER, Side.AFTER)
            ports = {
                field: cast("Any", _WatchedPort(field, getattr(outbox, field), eye))
                for field in _ports()
            }
            yield replace(outbox, **ports)

    return opened


class _WatchedPort:
    """One port; what is no commit point is as it was."""

    def __init__(self, field: str, port: object, eye: Eye) -> None:
        self._field = field
        self._port = port
        self._eye = eye

    def __getattr__(self, name: str) -> object:
        found = getattr(self._port, name)
        is_point = inspect.iscoroutinefunction(found) and not name.startswith(_QUESTIONS)
        return self._watched(f"{self._field}.{name}", found) if is_point else found

    def _watched(
        self, point: str, method: Callable[..., Awaitable[object]]
    ) -> Callable[..., Awaitable[object]]:
        async def seen(*args: object, **named: object) -> object:
            self._eye.see(point, Side.BEFORE)
            done = await method(*args, **named)
            self._eye.see(point, Side.AFTER)
            return done

        return seen


class _OpeningClock:
    """A clock whose first look, within opening, comes before the commit of recovery."""

    def __init__(self, clock: Clock, eye: Eye) -> None:
        self.is_opening = True
        self._clock = clock
        self._eye = eye

    def now(self) -> Instant:
        """The wall clock."""
        if self.is_opening:
            self._eye.see(RECOVER, Side.BEFORE)
        return self._clock.now()

    def monotonic(self) -> int:
        """Microseconds since an arbitrary moment."""
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait."""
        return self._clock.sleep(seconds)


def _ports() -> dict[str, type]:
    """The protocols of a store by the names that `Outbox` gives them."""
    hints = get_type_hints(Outbox)
    return {
        field: hint for field, hint in hints.items() if Protocol in getattr(hint, "__mro__", ())
    }
