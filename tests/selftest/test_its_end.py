"""A selftest that is stopped at the worst of moments: while a lock is held for it."""

import sys
import threading
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import pytest

from postroom.selftest import run
from postroom.selftest.house import Ground
from postroom.selftest.row import Row


@dataclass
class Trial:
    """Ends when it is let, or when all is over."""

    name: str
    go_on: threading.Event = field(default_factory=threading.Event)

    def run(self, ground: Ground) -> Row:
        while not self.go_on.is_set():
            if ground.over.wait(0.01):
                break
        return Row(self.name, "so", "so", (), "/nowhere")


def interrupt(frame: FrameType, _what: str, _given: object) -> Any:
    """Raises where a signal might: behind the line that takes a lock, before anything would give it back."""
    if frame.f_code.co_name != "__enter__":
        return None

    def behind(_frame: FrameType, what: str, _given: object) -> Any:
        if what == "return":
            sys.settrace(None)
            raise KeyboardInterrupt
        return behind

    return behind


def test_an_interrupt_that_leaves_a_lock_taken_ends_it_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second, last = Trial("trial 1"), Trial("trial 2"), Trial("trial 3")
    first.go_on.set()
    monkeypatch.setattr(run, "_find_trials", lambda: (first, second, last))
    told: list[str] = []
    ended: list[BaseException] = []

    def tell(row: Row) -> None:
        told.append(row.name)
        second.go_on.set()
        sys.settrace(interrupt)

    def selftest() -> None:
        try:
            run.run(run.Wish(only=("trial",)), tell)
        except KeyboardInterrupt as stopped:
            ended.append(stopped)

    thread = threading.Thread(target=selftest, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert len(ended) == 1
    assert told == ["trial 1"]
