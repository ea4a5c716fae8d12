"""Bounds of what is received: long lines, large, endless and slow content, loops, and how many wait at once."""

import asyncio
import resource

import pytest

from postroom.inbound.limits import Limits
from postroom.inbound.words import Reply
from support.listening import BOX, MAIL, PATIENCE, Client, House, listening, until


async def test_a_line_of_60_kb_comes_in_and_one_without_end_does_not() -> None:
    async with listening() as house, house.client() as client:
        assert (await client.give(b"x" * 60_000 + b"\r\n")).startswith("250")
        assert await client.give(b"x" * 70_000 + b"\r\n") == Reply.LINE_LONG
        assert await client.give(b"x" * 900_000 + b"\r\n") == Reply.LINE_LONG
        assert (await client.give()).startswith("250")
    assert len(house.inbox.arrivals) == 2


async def test_a_mail_that_is_a_little_too_large_is_refused_at_its_end() -> None:
    async with listening() as house, house.client() as client:
        line = b"x" * 998 + b"\r\n"
        assert await client.give(line * 1_040) == Reply.TOO_BIG
        assert (await client.give(line * 1_000)).startswith("250")
    assert len(house.inbox.raws) == 1


@pytest.mark.parametrize("line", [b"x" * 998 + b"\r\n", b"x" * 1_000], ids=["lines", "no line"])
async def test_content_without_end_is_cut_off_and_takes_no_memory(line: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with listening() as house, house.client() as client:
        await client.begin()
        flood = asyncio.get_running_loop().create_task(_flood(client, line))
        try:
            assert await client.hear() == Reply.TOO_BIG
        finally:
            flood.cancel()
        await asyncio.wait_for(house.listener._is_empty.wait(), PATIENCE)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20_000  # KiB
    assert (house.inbox.arrivals, house.inbox.raws) == ([], {})


async def _flood(client: Client, line: bytes) -> None:
    for _ in range(300):
        await client.send(line * 100)


async def test_a_loop_is_ended_at_its_fifty_first_server() -> None:
    async with listening() as house, house.client() as client:
        assert (await client.give(b"Received: x\r\n" * 50 + MAIL)).startswith("250")
        assert await client.give(b"Received: x\r\n" * 51 + MAIL) == Reply.LOOP


SLOW = {
    "silent": Limits(data_s=0.2),
    "dripping": Limits(data_s=0.2, data_rate=1_000),
    "for ever": Limits(data_s=60, data_rate=1, data_total_s=0.3),
}


@pytest.mark.parametrize("limits", SLOW.values(), ids=SLOW)
async def test_content_that_comes_too_slowly_is_cut_off(limits: Limits) -> None:
    async with listening(limits) as house, house.client() as client:
        await client.begin()
        drip = asyncio.get_running_loop().create_task(_drip(client))
        try:
            assert await client.hear() == Reply.SLOW
            assert await client.hear() == ""
        finally:
            drip.cancel()
    assert house.inbox.asked == 0


async def _drip(client: Client) -> None:
    while True:
        await client.send(b"x\r\n")
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.05)


async def test_who_comes_slowly_but_surely_is_waited_for() -> None:
    async with listening(Limits(data_s=0.2, data_rate=10)) as house, house.client() as client:
        await client.begin()
        await client.send(b"x" * 98 + b"\r\n")  # ten seconds more
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.4)
        await client.send(b".\r\n")
        assert (await client.hear()).startswith("250")


async def test_only_so_many_wait_for_the_store_at_once() -> None:
    async with listening(Limits(storing=2)) as house:
        house.inbox.is_open.clear()
        async with house.client() as a, house.client() as b, house.client() as c:
            for client in (a, b, c):
                await client.begin()
                await client.send(MAIL + b".\r\n")
            await until(lambda: house.listener.under_way == 3)
            await until(lambda: house.inbox.asked == 2)
            house.inbox.is_open.set()
            for client in (a, b, c):
                assert (await client.hear()).startswith("250")
        assert house.inbox.most_at_once == 2


async def test_the_mail_of_many_clients_at_once_is_each_its_own() -> None:
    async def one(house: House, number: int) -> None:
        async with house.client() as client:
            body = b"%d\r\n" % number * 30_000
            assert (await client.give(body, BOX.address)).startswith("250")

    async with listening(Limits(per_address=50)) as house, asyncio.TaskGroup() as group:
        for number in range(10, 20):
            group.create_task(one(house, number))
    contents = sorted(house.inbox.content(n) for n in range(10))
    assert contents == [b"%d\r\n" % number * 30_000 for number in range(10, 20)]
