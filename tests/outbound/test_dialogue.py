"""The order of content, mark and terminator, with a transport that takes what the test lets it take."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from postroom.outbound.commands import Offer
from postroom.outbound.dialogue import Connection, transact
from postroom.outbound.timeouts import Timeouts
from postroom.outbound.wire import Wire
from postroom.ports.relay import Dialogue, Envelope
from support.clock import settle
from support.transport import FakeTransport


class Attempt:
    """A transaction under way, with a mark that the test makes."""

    def __init__(self, content: bytes) -> None:
        self.transport = FakeTransport()
        self.wire = Wire(self.transport)  # type: ignore[arg-type]
        self.mark = asyncio.get_running_loop().create_future()
        self.is_asked = False
        self._content = content

    async def open(self, group: asyncio.TaskGroup) -> asyncio.Task[Dialogue]:
        """Run as far as the relay's word that the content may come leads."""
        running = group.create_task(self.run())
        await settle()
        self.wire.data_received(b"250 ok\r\n250 ok\r\n354 go\r\n")
        await settle()
        return running

    async def run(self) -> Dialogue:
        connection = Connection(self.wire, Offer(has_pipelining=True))
        envelope = Envelope("a@a.example", "b@b.example", "", len(self._content))
        ended = await transact(
            connection, Timeouts(), envelope, self._pieces, self._mark, lambda: None
        )
        assert isinstance(ended, Dialogue)
        return ended

    async def _pieces(self) -> AsyncIterator[bytes]:
        yield self._content

    async def _mark(self) -> bool:
        self.is_asked = True
        return await self.mark


BIG, SMALL = b"x" * 70 + b"\r\n", b"hello\r\n"


@pytest.mark.parametrize("lines", [1000, 2000, 5000])
async def test_the_mark_of_a_big_mail_waits_until_all_of_it_has_left(lines: int) -> None:
    attempt = Attempt(BIG * lines)
    transport = attempt.transport
    async with asyncio.TaskGroup() as group:
        running = await attempt.open(group)
        while not transport.written.endswith(BIG * 2) or transport.written.count(BIG) < lines:
            transport.take(transport.waiting)
            await settle()
        assert not attempt.is_asked
        transport.take(transport.waiting - 2)
        await settle()
        assert not attempt.is_asked
        transport.take(2)
        await settle()
        assert attempt.is_asked
        attempt.mark.set_result(True)
        await settle()
        assert transport.written.endswith(b"\r\n.\r\n")
        attempt.wire.data_received(b"250 ok\r\n")
        assert (await running).is_dotted


async def test_the_mark_of_a_small_mail_does_not_wait() -> None:
    attempt = Attempt(SMALL)
    async with asyncio.TaskGroup() as group:
        running = await attempt.open(group)
        assert attempt.is_asked
        assert attempt.transport.waiting > len(SMALL)
        attempt.mark.set_result(True)
        await settle()
        attempt.wire.data_received(b"250 ok\r\n")
        assert (await running).is_reusable


async def test_a_refusal_while_the_mark_is_made_is_the_outcome() -> None:
    attempt = Attempt(SMALL)
    async with asyncio.TaskGroup() as group:
        running = await attempt.open(group)
        attempt.wire.data_received(b"451 4.3.0 out of disk\r\n")
        await settle()
        attempt.mark.set_result(True)
        ended = await running
    assert ended.reply is not None
    assert (ended.reply.code, ended.is_marked, ended.is_dotted) == (451, True, False)
    assert attempt.transport.written.endswith(SMALL)
    assert attempt.transport.is_aborted


async def test_a_transport_that_is_closing_gets_no_terminator() -> None:
    attempt = Attempt(SMALL)
    async with asyncio.TaskGroup() as group:
        running = await attempt.open(group)
        attempt.transport.is_aborted = True  # a write failed; the protocol is told a step later
        attempt.mark.set_result(True)
        ended = await running
    assert ended.fault == "connection lost"
    assert (ended.is_marked, ended.is_dotted) == (True, False)
    assert attempt.transport.written.endswith(SMALL)
