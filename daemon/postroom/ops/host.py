"""The host: its clocks and its chance, and its name. The one place that may ask for time and randomness."""

import asyncio
import os
import secrets
import socket
import time
from collections import deque
from collections.abc import Awaitable
from typing import Final

from postroom.core.instant import Instant


_NANOS: Final = 1_000  # nanoseconds in a microsecond
_PIECE: Final = 16  # bytes: a trace; a Message-ID takes 13
_PIECES: Final = 64
_FRACTION_BITS: Final = 53  # as many as a float holds


class SystemClock:
    """ports.Clock as the machine has it."""

    def now(self) -> Instant:
        """The wall clock."""
        return Instant(time.time_ns() // _NANOS)

    def monotonic(self) -> int:
        """Microseconds since the machine started, without the time it slept."""
        return time.monotonic_ns() // _NANOS

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait on the loop."""
        return asyncio.sleep(seconds)


class SystemEntropy:
    """ports.Entropy from the kernel, which is asked for many pieces at once: each question costs a thread its turn."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        os.register_at_fork(after_in_child=self._pieces.clear)

    def token(self, bits: int) -> int:
        """An unguessable number below 2**bits."""
        if bits > 8 * _PIECE:
            return secrets.randbits(bits)
        return int.from_bytes(self._take()) >> (8 * _PIECE - bits)

    def fraction(self) -> float:
        """A number in [0, 1)."""
        return secrets.randbits(_FRACTION_BITS) / (1 << _FRACTION_BITS)

    def _take(self) -> bytes:
        """A piece that nobody else got, also in another thread."""
        while True:
            try:
                return self._pieces.popleft()
            except IndexError:
                block = os.urandom(_PIECES * _PIECE)
                self._pieces.extend(block[at : at + _PIECE] for at in range(0, len(block), _PIECE))


def time_slept() -> int:
    """The microseconds that the machine has slept since it started: the monotonic clock does not count them."""
    awake = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - awake) // _NANOS


def find_host_name() -> str:
    """What we call ourselves in EHLO: this host's name where it is a domain, else an address literal (RFC 5321 §4.1.3)."""
    name = find_machine_name()
    return name if "." in name else "[127.0.0.1]"


def find_machine_name() -> str:
    """What people call this machine."""
    return socket.gethostname()
