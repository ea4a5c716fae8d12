"""What systemd asks of a service and gives to it: sd_notify(3), the watchdog, sockets (sd_listen_fds(3)).

Without systemd every call does nothing. Nothing here may fail because of whoever started us.
"""

import os
import socket
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from postroom.core.instant import micros


_FIRST_FD: Final = 3  # SD_LISTEN_FDS_START
_MOST_FDS: Final = 64  # more is not our unit
_STATUS_SHOWN: Final = 200  # characters that `systemctl status` has room for
_LISTEN: Final = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")


@dataclass(frozen=True, slots=True)
class Supervisor:
    """The line to systemd; `address` None = there is none. `watchdog` is how often a sign of life is due at least."""

    address: str | None
    watchdog: timedelta | None

    def ready(self, status: str) -> None:
        """Recovery is done and the socket answers."""
        self._tell("READY=1", _status(status))

    def reloading(self, mono: int) -> None:
        """The settings are read again, since `mono` (CLOCK_MONOTONIC in microseconds); `ready` must follow."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={mono}")

    def stopping(self, status: str) -> None:
        """The drain begins."""
        self._tell("STOPPING=1", _status(status))

    def status(self, status: str) -> None:
        """One line for `systemctl status`."""
        self._tell(_status(status))

    def alive(self) -> None:
        """All is well, until the next one is due."""
        self._tell("WATCHDOG=1")

    def extend(self, by: timedelta) -> None:
        """Start or stop takes longer than planned: `by` more from now."""
        self._tell(f"EXTEND_TIMEOUT_USEC={micros(by)}")

    def _tell(self, *lines: str) -> None:
        if self.address is None:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
                line.settimeout(0)
                line.connect(self.address)
                line.sendall("\n".join(lines).encode())
        except OSError:
            return  # a word that does not get through is no reason to stop


def find_supervisor(environ: Mapping[str, str]) -> Supervisor:
    """Who started us, by NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID."""
    named = environ.get("NOTIFY_SOCKET", "")
    address = {"/": named, "@": "\0" + named[1:]}.get(named[:1])
    return Supervisor(address, _find_watchdog(environ) if address else None)


def take_sockets(environ: MutableMapping[str, str]) -> dict[str, tuple[socket.socket, ...]]:
    """The listening sockets that systemd handed over, by FileDescriptorName=; each only once, not for our children."""
    pid, count, names = (environ.pop(name, "") for name in _LISTEN)
    if pid != str(os.getpid()) or not count.isdecimal() or int(count) > _MOST_FDS:
        return {}
    given: dict[str, tuple[socket.socket, ...]] = {}
    named = names.split(":")
    for place in range(int(count)):
        os.set_inheritable(_FIRST_FD + place, False)  # noqa: FBT003 - the kernel's own signature
        handed = socket.socket(fileno=_FIRST_FD + place)
        handed.settimeout(0)
        name = named[place] if place < len(named) else "unknown"
        given[name] = (*given.get(name, ()), handed)
    return given


def _find_watchdog(environ: Mapping[str, str]) -> timedelta | None:
    due = environ.get("WATCHDOG_USEC", "")
    is_ours = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    if not (is_ours and due.isdecimal() and int(due)):
        return None
    return timedelta(microseconds=int(due))


def _status(text: str) -> str:
    line = "".join(letter if letter.isprintable() else "?" for letter in text[:_STATUS_SHOWN])
    return f"STATUS={line}"
