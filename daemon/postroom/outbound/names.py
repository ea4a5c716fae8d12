"""Asks the system for the addresses of a relay. It may take as long as name servers are silent, and nothing else waits for it.

Names have threads of their own, one for each name that is asked for at the time; an address asks nobody. A name whose
turn comes when nobody waits for it any more is not asked for. Known limits: where more names are silent than there are
threads, the next one waits behind them; the end of the process waits for what the system is just asking.
"""

import asyncio
import errno
import os
import socket
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from postroom.core.mailbox import Relay
from postroom.core.reply import Stage
from postroom.ports.errors import RelayFault


Address = tuple[
    socket.AddressFamily, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]
]

# Relays whose names are asked for at once; threads come into being as they are needed.
_THREADS: Final = 16


@dataclass(slots=True, eq=False)
class _Question:
    """A name that is asked for. `told` comes to everybody who waits for it, `waiting` is how many do."""

    host: str
    port: int
    waiting: int
    told: Future[tuple[Address, ...]] = field(default_factory=Future)

    def ask(self) -> tuple[Address, ...]:
        """Ask the system, if anybody still waits. Raises: OSError, UnicodeError."""
        if not self.waiting:
            raise _not_now()
        return _ask(self.host, self.port)


class _Names:
    """What is asked for now."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="names")
        self._asked: dict[tuple[str, int], _Question] = {}

    async def find(self, host: str, port: int) -> tuple[Address, ...]:
        try:
            return _ask(host, port, socket.AI_NUMERICHOST)
        except socket.gaierror:  # it is a name
            question = self._join(host, port)
        try:
            return await asyncio.wrap_future(question.told)
        finally:
            question.waiting -= 1

    def _join(self, host: str, port: int) -> _Question:
        """One more waits for what is asked for everybody who wants this name now."""
        question = self._asked.get((host, port))
        if question is not None:
            question.waiting += 1
            return question
        question = self._asked[host, port] = _Question(host, port, waiting=1)
        question.told.set_running_or_notify_cancel()  # who gives up takes it from nobody else
        try:
            self._threads.submit(self._answer, question)
        except RuntimeError as error:  # no thread can be had for now
            self._asked.pop((host, port), None)
            raise _not_now() from error
        return question

    def _answer(self, question: _Question) -> None:
        place = question.host, question.port
        try:
            found = question.ask()
        except Exception as error:  # noqa: BLE001 - whoever asks is told, whatever it is
            self._asked.pop(place, None)
            question.told.set_exception(error)
        else:
            self._asked.pop(place, None)
            question.told.set_result(found)


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


def _not_now() -> OSError:
    return OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
