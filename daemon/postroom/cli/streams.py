"""The three standard streams where somebody closed them, as daemons do, or where nobody listens any more."""

import os
import sys
from typing import Final, TextIO


_ENCODING: Final = "utf-8"


def open_closed_output() -> None:
    """Let what is written to a stream that was closed before we began go nowhere; Python has None for it."""
    sys.stdout = sys.stdout or _nowhere("w")
    sys.stderr = sys.stderr or _nowhere("w")


def open_closed_input() -> None:
    """Let one that was closed have nothing to read."""
    sys.stdin = sys.stdin or _nowhere("r")


def silence(stream: TextIO) -> None:
    """Nothing more is written to it, at exit either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _nowhere(mode: str) -> TextIO:
    return open(os.devnull, mode, encoding=_ENCODING)  # type: ignore[return-value] # noqa: PTH123 - open to the end
