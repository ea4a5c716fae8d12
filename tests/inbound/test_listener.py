"""Where the listener listens, and what it says when it can not."""

import asyncio
import contextlib
import io
import socket
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from postroom.core.inaddress import AddressBook
from postroom.core.listening import ListenAt, Listening
from postroom.inbound.listener import Listener
from postroom.inbound.parts import Parts
from postroom.ops.chronicle import Chronicle
from postroom.ops.host import SystemClock
from postroom.ops.logbook import Logbook
from postroom.ops.logwords import LogFormat, LogLevel
from postroom.ops.throttle import Throttle
from postroom.ports.errors import AlreadyRunning, ConfigError
from support.inbox import FakeInbox
from support.listening import BOX, SETTINGS


@contextlib.asynccontextmanager
async def _started(
    settings: Listening, sockets: Sequence[socket.socket] = ()
) -> AsyncIterator[Listener]:
    clock = SystemClock()
    book = Logbook(io.StringIO(), clock, LogLevel.ERROR, LogFormat.JSON, {})
    chronicle = Chronicle(book, Throttle(clock))
    inbox = FakeInbox()
    addresses = AddressBook({BOX.id: BOX}, settings.domains, None, [])
    parts = Parts(settings, addresses, inbox, inbox, clock, chronicle, lambda reason: None)
    group = asyncio.TaskGroup()
    async with group:
        listener = Listener(parts, group)
        try:
            await listener.start(sockets)
            yield listener
        finally:
            await listener.close()


async def _greeting(address: str) -> bytes:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        return await asyncio.wait_for(reader.readline(), 5)
    finally:
        writer.close()


async def test_it_listens_on_the_socket_that_systemd_hands_over() -> None:
    handed = socket.create_server(("127.0.0.1", 0))
    handed.setblocking(False)  # noqa: FBT003 - the library's own signature
    async with _started(replace(SETTINGS, listen=()), [handed]) as listener:
        assert await _greeting(listener.addresses[0]) == b"220 mx.example.com ESMTP\r\n"


async def test_it_listens_on_all_addresses_at_once() -> None:
    places = (ListenAt("127.0.0.1", 0), ListenAt("127.0.0.2", 0))
    async with _started(replace(SETTINGS, listen=places)) as listener:
        assert len(listener.addresses) == 2
        for address in listener.addresses:
            assert (await _greeting(address)).startswith(b"220")


async def _refused(settings: Listening) -> BaseException:
    with pytest.raises(ExceptionGroup) as raised:
        async with _started(settings):
            pass
    (error,) = raised.value.exceptions
    return error


async def test_an_address_that_another_program_has_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        places = (ListenAt("127.0.0.1", 0), ListenAt("127.0.0.1", other.getsockname()[1]))
        error = await _refused(replace(SETTINGS, listen=places))
    assert isinstance(error, AlreadyRunning)
    assert "another program" in str(error)


async def test_an_address_of_another_host_is_said() -> None:
    error = await _refused(replace(SETTINGS, listen=(ListenAt("192.0.2.1", 2525),)))
    assert isinstance(error, ConfigError)
    assert "192.0.2.1" in str(error)


async def test_a_listener_without_an_address_is_said() -> None:
    error = await _refused(replace(SETTINGS, listen=()))
    assert isinstance(error, ConfigError)
    assert "postroom-smtp.socket" in str(error)
