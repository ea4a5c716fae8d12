"""The listener on every loop that the daemon may run on: transports of uvloop are none of asyncio's classes."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from postroom.inbound.limits import Limits
from postroom.inbound.words import Reply
from support.listening import PATIENCE, listening


LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]
A_MOMENT = 0.2  # seconds


async def idle_at_a_stop() -> None:
    async with listening() as house, house.client() as client:
        await client.say("EHLO client.example.net")
        await house.listener.drain(PATIENCE)
        assert await client.hear() == Reply.STOPPING
        assert await client.hear() == ""


async def idle_when_all_is_closed() -> None:
    async with listening() as house, house.client() as client:
        await client.say("EHLO client.example.net")
        await house.listener.close()
        assert await client.hear() == ""


async def longer_than_a_session_may_last() -> None:
    async with listening(Limits(session_s=A_MOMENT)) as house, house.client() as client:
        await client.say("EHLO client.example.net")
        assert await client.hear() == ""


@pytest.mark.parametrize("new_loop", LOOPS, ids=["asyncio", "uvloop"])
@pytest.mark.parametrize(
    "story", [idle_at_a_stop, idle_when_all_is_closed, longer_than_a_session_may_last]
)
def test_a_client_who_stays_is_hung_up_on(
    story: Callable[[], Awaitable[None]], new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE / 2):
            await story()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(bounded())
