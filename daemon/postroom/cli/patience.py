"""Signals that come while a program is being imported wait until somebody can say what they mean.

For the daemon a SIGHUP means "reload", not "end", and a stop is an orderly one; every other verb takes them as ever.
"""

import signal
from typing import Final


_KEPT: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def keep_signals() -> None:
    """Let them wait."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _KEPT)


def heed_signals() -> None:
    """Take those that wait, and those to come."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _KEPT)
