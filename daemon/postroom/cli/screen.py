"""A terminal as one screen that is drawn anew: plain ANSI, no more than every terminal has understood for decades.

What is drawn is harmless text already (`cli.paper`); it is cut to the size that the terminal has right now. The terminal
is as it was before when the block ends, however it ends. Known limit: not where the process is killed or stopped (^Z).
"""

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from postroom.cli.paper import cut


ENTER: Final = "\x1b[?1049h\x1b[?25l"  # the other screen, no cursor
LEAVE: Final = "\x1b[?25h\x1b[?1049l"

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
    """Take the terminal until the end of the block."""
    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)
    bell, ring = os.pipe()
    os.set_blocking(ring, False)
    rung = signal.set_wakeup_fd(ring)
    resized = signal.signal(signal.SIGWINCH, lambda _number, _frame: None)
    try:
        tty.setcbreak(stdin)
        _write(ENTER)
        yield Screen(bell)
    finally:
        _write(LEAVE)
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, resized)
        signal.set_wakeup_fd(rung)
        os.close(bell)
        os.close(ring)


def is_terminal() -> bool:
    """Whether a person can look and type."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _size() -> os.terminal_size:
    found = os.get_terminal_size(sys.stdout.fileno())
    return found if found.columns and found.lines else _SMALLEST


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode(sys.stdout.encoding or "utf-8", "replace"))
    sys.stdout.buffer.flush()
