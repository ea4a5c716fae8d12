"""A terminal as one screen that is drawn anew: plain ANSI, no more than every terminal has understood for decades.

What is drawn is harmless text already (`cli.paper`); it is cut to the size that the terminal has right now. The terminal
is as it was before when the block ends, however it ends, and while it is stopped (^Z). Known limit: not at SIGKILL,
SIGSTOP and SIGQUIT.
"""

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from postroom.cli.paper import cut


ENTER: Final = "\x1b[?1049h\x1b[?25l"  # the other screen, no cursor
LEAVE: Final = "\x1b[?25h\x1b[?1049l"

_ENDS: Final = (signal.SIGTERM, signal.SIGHUP)
_HOME: Final = "\x1b[H"
_TO_LINE_END: Final = "\x1b[K"
_TO_SCREEN_END: Final = "\x1b[J"
_SMALLEST: Final = os.terminal_size((20, 4))  # of one that does not know its size


@dataclass(frozen=True, slots=True)
class Screen:
    """The terminal at stdin and stdout. `_bell` is readable when its size changed."""

    _bell: int

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines, as many and as much of each as there is room for; the last says how many more there are."""
        columns, rows = _size()
        shown = list(lines)
        if len(shown) > rows:
            shown[rows - 1 :] = [f"... {len(shown) - rows + 1} more lines"]
        text = f"{_TO_LINE_END}\n".join(cut(line, columns) for line in shown)
        _write(f"{_HOME}{text}{_TO_LINE_END}{_TO_SCREEN_END}")

    def wait_key(self, seconds: float) -> str:
        """The key that is pressed within this time; empty when none is, or the size has changed. End of input is q."""
        stdin = sys.stdin.fileno()
        ready, _, _ = select.select([stdin, self._bell], [], [], max(0.0, seconds))
        if self._bell in ready:
            os.read(self._bell, 4_096)
            return ""
        if stdin in ready:
            return os.read(stdin, 1).decode("ascii", "replace") or "q"
        return ""


@contextmanager
def full_screen() -> Iterator[Screen]:
    """Take the terminal until the end of the block; the process ends here where a signal ends it."""
    terminal = _Terminal(termios.tcgetattr(sys.stdin.fileno()))
    bell, ring = os.pipe()
    os.set_blocking(ring, False)
    rung = signal.set_wakeup_fd(ring)
    handlers = {
        signal.SIGWINCH: lambda _number, _frame: None,
        signal.SIGTSTP: terminal.step_aside,
        **dict.fromkeys(_ENDS, _end),
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    ended_by = None
    try:
        terminal.take()
        yield Screen(bell)
    except _Ended as ended:
        ended_by = ended.number
    finally:
        for number in _ENDS:
            signal.signal(number, signal.SIG_IGN)
        with suppress(OSError, termios.error):  # a terminal that is gone needs nothing back
            terminal.give_back()
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(rung)
        os.close(bell)
        os.close(ring)
    if ended_by is not None:
        signal.signal(ended_by, signal.SIG_DFL)
        os.kill(os.getpid(), ended_by)


def is_terminal() -> bool:
    """Whether a person can look and type."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _size() -> os.terminal_size:
    found = os.get_terminal_size(sys.stdout.fileno())
    return found if found.columns and found.lines else _SMALLEST


def _write(text: str) -> None:
    """Past the buffers: a signal may write while we do."""
    left = text.encode(sys.stdout.encoding or "utf-8", "replace")
    while left:
        left = left[os.write(sys.stdout.fileno(), left) :]


@dataclass(frozen=True, slots=True)
class _Terminal:
    """Ours, or as it was before."""

    _before: list[Any]

    def take(self) -> None:
        tty.setcbreak(sys.stdin.fileno())
        _write(ENTER)

    def give_back(self) -> None:
        _write(LEAVE)
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)

    def step_aside(self, number: int, _frame: object) -> None:
        """^Z: stop as every program does, and go on where we were."""
        self.give_back()
        ours = signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, ours)
        self.take()


class _Ended(BaseException):
    """A signal asks for the end. No Exception, as KeyboardInterrupt is none."""

    def __init__(self, number: int) -> None:
        self.number = number


def _end(number: int, _frame: object) -> None:
    raise _Ended(number)
