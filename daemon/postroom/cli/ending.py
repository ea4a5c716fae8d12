"""What ends a long verb: every signal that says stop, as Ctrl-C does; none of them interrupts the tidying up."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final


_KINDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_end_it() -> Iterator[None]:
    """Within the block the first of them raises KeyboardInterrupt; from then on all of them are ignored."""
    before = {kind: signal.signal(kind, _interrupt) for kind in _KINDS}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for kind in _KINDS:
        signal.signal(kind, signal.SIG_IGN)
    raise KeyboardInterrupt
