"""Who errs, guesses, keeps silent or comes too often: a client's bounds, and when it has to go."""

import asyncio
from dataclasses import replace
from ipaddress import ip_network

import pytest

from postroom.inbound.limits import Limits
from postroom.inbound.words import Reply
from support.listening import BOX, MAIL, SETTINGS, Client, listening


HELLO = "EHLO client.example.net"
FROM = "MAIL FROM:<ann@example.net>"
TO = f"RCPT TO:<{BOX.address}>"


async def test_after_five_errors_the_client_has_to_go() -> None:
    async with listening() as house, house.client() as client:
        said = [await client.say("XYZZY") for _ in range(5)]
        assert said == [Reply.BAD_COMMAND] * 4 + [Reply.TOO_MANY_ERRORS]
        assert await client.hear() == ""


async def test_foreign_recipients_count_as_errors() -> None:
    async with listening() as house, house.client() as client:
        await client.say(HELLO, FROM)
        said = [await client.say(f"RCPT TO:<n{n}@example.org>") for n in range(5)]
        assert said == [Reply.FOREIGN] * 4 + [Reply.TOO_MANY_ERRORS]


async def test_who_only_says_nothing_has_to_go() -> None:
    async with listening(Limits(calls={"NOOP": 3})) as house, house.client() as client:
        for _ in range(3):
            await client.say("NOOP")
        assert await client.say("NOOP") == Reply.TOO_MANY_COMMANDS
        assert await client.hear() == ""


async def test_a_relay_that_has_many_mails_for_us_may_go_on() -> None:
    async with listening(Limits(calls_other=2)) as house, house.client() as client:
        for _ in range(5):
            assert (await client.give()).startswith("250")


async def test_a_trusted_relay_may_err_and_ask() -> None:
    trusted = replace(SETTINGS, trusted_relays=(ip_network("127.0.0.0/8"),))
    limits = Limits(
        are_neighbours_counted=True,
        errors=2,
        unknown_free=0,
        tarpit_s=60,
        per_minute=1,
        per_address=1,
    )
    async with listening(limits, trusted) as house, house.client(), house.client() as client:
        await client.say(HELLO, FROM)
        for n in range(5):
            assert await client.say(f"RCPT TO:<n{n}@example.com>") == Reply.UNKNOWN
        assert await client.say(TO) == Reply.RCPT_OK
        assert (await client.say("DATA")).startswith("354")
        await client.send(MAIL + b".\r\n")
        assert (await client.hear()).startswith("250")
    assert house.inbox.arrivals[0].is_trusted


async def test_who_guesses_addresses_gets_slow_answers() -> None:
    limits = Limits(are_neighbours_counted=True, unknown_free=1, tarpit_s=0.2, errors=9)
    async with listening(limits) as house, house.client() as client:
        await client.say(HELLO, FROM)
        loop = asyncio.get_running_loop()
        took = []
        for n in range(3):
            began = loop.time()
            assert await client.say(f"RCPT TO:<n{n}@example.com>") == Reply.UNKNOWN
            took.append(loop.time() - began)
        assert took[0] < 0.2 <= min(took[1:])


async def test_who_says_nothing_for_too_long_has_to_go() -> None:
    async with listening(Limits(command_s=0.1)) as house, house.client() as client:
        assert await client.hear() == Reply.IDLE
        assert await client.hear() == ""


async def test_who_drips_a_command_has_to_go() -> None:
    async with listening(Limits(command_s=0.3)) as house, house.client() as client:
        drip = asyncio.get_running_loop().create_task(_drip(client))
        try:
            assert await client.hear() == Reply.IDLE
        finally:
            drip.cancel()


async def _drip(client: Client) -> None:
    while True:
        await client.send(b"N")
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.1)


async def test_who_never_reads_is_gone_in_the_end() -> None:
    limits = Limits(command_s=0.3, calls={"EHLO": 1_000_000})
    async with listening(limits) as house, house.client() as client:
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        with pytest.raises((ConnectionError, TimeoutError)):  # noqa: PT012
            for _ in range(2_000):
                client.writer.write(b"EHLO x\r\n" * 1_000)
                await asyncio.wait_for(client.writer.drain(), 3)
        await asyncio.wait_for(house.listener._is_empty.wait(), 8)


async def test_more_connections_than_allowed_are_turned_away_and_cost_nothing() -> None:
    async with (
        listening(Limits(are_neighbours_counted=True, per_address=2)) as house,
        house.client(),
        house.client() as second,
    ):
        async with house.client(greeting="421 4.7.0") as third:
            assert await third.hear() == ""
        await second.say("QUIT")
        await second.hear()
        async with house.client() as fourth:
            assert (await fourth.say(HELLO)).startswith("250")


async def test_a_peer_that_comes_too_often_is_turned_away() -> None:
    async with listening(Limits(are_neighbours_counted=True, per_minute=2)) as house:
        for greeting in ("220", "220", "421 4.7.0"):
            async with house.client(greeting=greeting) as client:
                await client.say("QUIT")
    assert house.logged("client.refused")[0]["reason"] == Reply.TOO_FAST
