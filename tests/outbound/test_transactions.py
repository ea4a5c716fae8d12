"""The content of a mail and its end: written when the mark says go, left off with the attempt, closed in any case."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from postroom.outbound.pool import Session
from postroom.ports.relay import Dialogue
from support.pooled import ENVELOPE, content, go, make_pool
from support.relay import ScriptedRelay
from support.relay_script import Reply


async def test_the_terminator_leaves_in_the_step_in_which_the_mark_says_go() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        session = await pool.borrow()
        assert isinstance(session, Session)
        written: list[bytes] = []
        transport = session.connection.wire._transport
        asked, said, seen = asyncio.Event(), asyncio.Future[bool](), asyncio.Event()

        class Spy:
            def write(self, data: bytes) -> None:
                written.append(bytes(data))
                transport.write(data)

            def __getattr__(self, name: str) -> object:
                return getattr(transport, name)

        session.connection.wire._transport = Spy()

        async def mark() -> bool:
            asked.set()
            return await said

        def look() -> None:
            assert written[-1] == b".\r\n"
            seen.set()

        async with asyncio.TaskGroup() as group:
            group.create_task(session.transact(ENVELOPE, content, mark, lambda: None))
            await asked.wait()
            assert written[-1] == b"hello\r\n"
            said.set_result(True)
            asyncio.get_running_loop().call_soon(look)
            await seen.wait()
        await pool.close()


async def test_a_cancelled_attempt_drops_the_connection_and_writes_no_terminator() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        session = await pool.borrow()
        asked = asyncio.Event()

        async def mark() -> bool:
            asked.set()
            return await asyncio.get_running_loop().create_future()

        async with asyncio.TaskGroup() as group:
            attempt = group.create_task(session.transact(ENVELOPE, content, mark, lambda: None))
            await asked.wait()
            attempt.cancel()
        pool.give_back(session, is_reusable=False)
        await relay.until(lambda: not relay.connections[0].is_open)
        assert relay.connections[0].received.endswith(b"hello\r\n")
        assert relay.copies("b@b.example") == 0
        await pool.close()


async def test_a_refusal_in_the_middle_closes_the_source_of_the_content() -> None:
    was_closed = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"hello\r\n" * 1000
        finally:
            was_closed.set()

    source = endless()
    async with ScriptedRelay() as relay:
        relay.on("body", Reply("552 5.3.4 too big"), after_bytes=100_000)
        pool = make_pool(relay)
        session = await pool.borrow()
        ended = await session.transact(ENVELOPE, lambda: source, go, lambda: None)
        assert isinstance(ended, Dialogue)
        assert ended.reply is not None
        assert ended.reply.code == 552
        assert was_closed.is_set()
        pool.give_back(session, is_reusable=ended.is_reusable)
        await pool.close()


async def test_content_that_fails_drops_the_connection_and_closes_its_source() -> None:
    was_closed = asyncio.Event()

    async def broken() -> AsyncIterator[bytes]:
        try:
            yield b"hello\r\n"
            msg = "the file is gone"
            raise OSError(msg)
        finally:
            was_closed.set()

    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        session = await pool.borrow()
        with pytest.raises(OSError, match="the file is gone"):
            await session.transact(ENVELOPE, broken, go, lambda: None)
        pool.give_back(session, is_reusable=False)
        await relay.until(lambda: not relay.connections[0].is_open)
        assert was_closed.is_set()
        assert relay.copies("b@b.example") == 0
        await pool.close()
