"""The host: its clocks and its chance, and what it says of itself. The one place that may ask for time and randomness."""

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Final

from postroom.core.instant import Instant


_NANOS: Final = 1_000  # nanoseconds in a microsecond
_FRACTION_BITS: Final = 53  # as many as a float holds
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_MACHINE_ID: Final = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_MOUNTS: Final = Path("/proc/self/mountinfo")


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
    """ports.Entropy from the kernel."""

    def token(self, bits: int) -> int:
        """An unguessable number below 2**bits."""
        return secrets.randbits(bits)

    def fraction(self) -> float:
        """A number in [0, 1)."""
        return secrets.randbits(_FRACTION_BITS) / (1 << _FRACTION_BITS)


def find_boot_id() -> str | None:
    """What tells this boot of the machine from every other; None where the kernel does not say."""
    return _find_line(_BOOT_ID)


def find_machine_id() -> str | None:
    """What tells this machine from every other; None where it has no machine-id(5)."""
    return next((line for line in map(_find_line, _MACHINE_ID) if line), None)


def find_host_name() -> str:
    """What we call ourselves in EHLO: this host's name where it is a domain, else an address literal (RFC 5321 §4.1.3)."""
    name = socket.gethostname()
    return name if "." in name else "[127.0.0.1]"


def disk_free(path: Path) -> int:
    """The bytes that an ordinary user may still write to the file system of `path`."""
    held = os.statvfs(path)
    return held.f_bavail * held.f_frsize


def find_file_system(path: Path) -> str:
    """The type of the file system that `path` lies on, as mount(8) names it; 'unknown' where /proc does not say."""
    device = path.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    kind = "unknown"
    # The last match wins: it is the mount on top. After " - " come type, source and options, proc(5).
    for line in (_find_text(_MOUNTS) or "").splitlines():
        before, _, after = line.partition(" - ")
        if before.split(" ", 3)[2:3] == [wanted]:
            kind = after.split(" ", 1)[0]
    return kind


def _find_line(path: Path) -> str | None:
    return (_find_text(path) or "").strip() or None


def _find_text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return None
