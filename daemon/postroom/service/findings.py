"""What `postroom doctor` says: lines, each with a verdict and what to do; and checks that can not hang it.

A check runs in a thread of its own and is given up when its time is over: a file system that is gone answers never.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from itertools import islice
from threading import Thread
from typing import Final

from postroom.core.words import shown


_AT_ONCE: Final = 16
_TOLD: Final = 300  # characters of an error that nobody expected


class Verdict(StrEnum):
    """How it is: only `fail` keeps mail from going or coming."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how it is, what was seen, what to do ('' where there is nothing)."""

    check: str
    verdict: Verdict
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at, and how long that may take."""

    name: str
    look: Callable[[], Sequence[Finding]]
    patience: timedelta = timedelta(seconds=10)


def fine(check: str, detail: str) -> Finding:
    """All is well."""
    return Finding(check, Verdict.OK, detail)


def warn(check: str, detail: str, fix: str) -> Finding:
    """Somebody should look at it."""
    return Finding(check, Verdict.WARN, detail, fix)


def fail(check: str, detail: str, fix: str) -> Finding:
    """It does not work so."""
    return Finding(check, Verdict.FAIL, detail, fix)


def run_checks(checks: Iterable[Check]) -> tuple[Finding, ...]:
    """What they find, in their order; some run at once."""
    found: list[Finding] = []
    waiting = iter(checks)
    while some := list(islice(waiting, _AT_ONCE)):
        running = [_Running(one) for one in some]
        for one in running:
            found += one.found()
    return tuple(found)


class _Running:
    def __init__(self, check: Check) -> None:
        self._check = check
        self._found: Sequence[Finding] | None = None
        self._thread = Thread(target=self._look, name=f"doctor {check.name}", daemon=True)
        self._thread.start()

    def found(self) -> Iterator[Finding]:
        name, patience_s = self._check.name, self._check.patience.total_seconds()
        self._thread.join(patience_s)
        if self._found is None:
            fix = (
                "See what it waits for: a file system, a name server, a host that does not answer."
            )
            yield fail(name, f"no answer within {patience_s:.0f} s", fix)
            return
        yield from self._found

    def _look(self) -> None:
        try:
            self._found = self._check.look()
        except Exception as error:  # noqa: BLE001 - one line that can not be told must not cost all the others
            fix = "Please report it."
            told = shown(f"{type(error).__name__}: {error}", _TOLD)
            self._found = (fail(self._check.name, told, fix),)
