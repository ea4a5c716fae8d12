"""Asks the system for the addresses of a relay. It may take as long as name servers are silent, and nothing else waits for it.

Names have threads of their own, one for each name that is asked for at the time; an address asks nobody. Known limits:
where more names are silent than there are threads, the next one waits behind them; the end of the process waits for what
the system still asks.
"""

import asyncio
import errno
import os
import socket
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from postroom.core.mailbox import Relay
from postroom.core.reply import Stage
from postroom.ports.errors import RelayFault


Address = tuple[
    socket.AddressFamily, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]
]
_Told = Future[tuple[Address, ...]]

_THREADS: Final = (
    16  # relays whose names are asked for at once; they come into being as they are needed
)


class _Names:
    """What is asked for now."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="names")
        self._asked: dict[tuple[str, int], _Told] = {}

    async def find(self, host: str, port: int) -> tuple[Address, ...]:
        try:
            return _ask(host, port, socket.AI_NUMERICHOST)
        except socket.gaierror:  # it is a name
            return await asyncio.wrap_future(self._told(host, port))

    def _told(self, host: str, port: int) -> _Told:
        """What will be told to everybody who asks for this name now."""
        told = self._asked.get((host, port))
        if told is None:
            told = self._asked[host, port] = Future()
            told.set_running_or_notify_cancel()  # who gives up takes it from nobody else
            try:
                self._threads.submit(self._answer, told, host, port)
            except RuntimeError as error:  # no thread can be had for now
                del self._asked[host, port]
                raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
        return told

    def _answer(self, told: _Told, host: str, port: int) -> None:
        try:
            found = _ask(host, port)
        except Exception as error:  # noqa: BLE001 - whoever asks is told, whatever it is
            self._asked.pop((host, port), None)
            told.set_exception(error)
        else:
            self._asked.pop((host, port), None)
            told.set_result(found)


_NAMES: Final = _Names()


async def find_addresses(relay: Relay) -> tuple[Address, ...]:
    """Every address of the relay's host, in the order of the system (RFC 6724).

    Raises: RelayFault
    """
    try:
        return await _NAMES.find(relay.host, relay.port)
    except (OSError, UnicodeError) as error:
        text = (error.strerror if isinstance(error, OSError) else None) or "not a host name"
        fault = RelayFault(Stage.CONNECT, f"DNS: {relay.host}: {text}")
    raise fault


def _ask(host: str, port: int, flags: int = 0) -> tuple[Address, ...]:
    """Raises: OSError, UnicodeError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return tuple(dict.fromkeys((family, place) for family, _, _, _, place in found))
