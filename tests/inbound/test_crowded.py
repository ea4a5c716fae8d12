"""All places of the listener are taken: who holds one for nothing gives it up, and nobody else does."""

from dataclasses import replace
from ipaddress import ip_network

import pytest

from postroom.inbound.limits import Limits
from postroom.inbound.words import Reply
from support.clock import breathe
from support.listening import BOX, MAIL, SETTINGS, House, listening


HELLO = "EHLO client.example.net"
FROM = "MAIL FROM:<ann@example.net>"
TO = f"RCPT TO:<{BOX.address}>"
TWO = Limits(connections=2, kept_for_others=0, crowded_s=0.0)
TRUSTED = replace(SETTINGS, trusted_relays=(ip_network("127.0.0.2/32"),))


async def is_heard(house: House) -> None:
    """Somebody new comes in, and its mail is taken."""
    async with house.client() as client:
        assert (await client.give()).startswith("250")


async def test_silent_clients_keep_nobody_out() -> None:
    async with listening(TWO) as house, house.client() as first, house.client() as second:
        await is_heard(house)
        assert await first.hear() == Reply.ROOM_NEEDED
        assert await first.hear() == ""
        assert house.listener.sessions <= 2
        await is_heard(house)
        async with house.client():
            await is_heard(house)
            assert await second.hear() == Reply.ROOM_NEEDED
    told = [line["reason"] for line in house.logged("client.refused")]
    assert set(told) == {Reply.ROOM_NEEDED}


@pytest.mark.parametrize("lines", [[], [HELLO], [HELLO, "NOOP", "RSET"]], ids=len)
async def test_who_has_come_no_nearer_to_a_mail_for_longest_goes_first(lines: list[str]) -> None:
    """However much it says."""
    async with listening(TWO) as house, house.client() as first, house.client() as second:
        await second.say(HELLO, FROM, TO)
        await first.say(*lines)
        await is_heard(house)
        assert await first.hear() == Reply.ROOM_NEEDED
        assert (await second.say("DATA")).startswith("354")


async def test_who_was_heard_a_moment_ago_stays_and_others_are_turned_away() -> None:
    limits = replace(TWO, crowded_s=60.0)
    async with listening(limits) as house, house.client() as first, house.client():
        async with house.client(greeting=Reply.TOO_BUSY) as third:
            assert await third.hear() == ""
        assert (await first.give()).startswith("250")


async def test_content_that_comes_and_an_answer_that_we_owe_are_not_cut_off() -> None:
    limits = replace(TWO, are_neighbours_counted=True, unknown_free=0, tarpit_s=0.5)
    async with listening(limits) as house, house.client() as first, house.client() as second:
        assert (await first.begin()).startswith("354")
        await second.say(HELLO, FROM)
        await second.send(b"RCPT TO:<nobody@example.com>\r\n")
        while any(one.turns.idle_since is not None for one in house.listener._sessions):
            await breathe()
        async with house.client(greeting=Reply.TOO_BUSY):
            pass
        assert await second.hear() == Reply.UNKNOWN
        await first.send(MAIL + b".\r\n")
        assert (await first.hear()).startswith("250")


async def test_our_own_server_takes_no_place_of_strangers() -> None:
    limits = replace(TWO, connections=3, kept_for_others=1, are_neighbours_counted=True)
    async with (
        listening(limits, TRUSTED) as house,
        house.client() as stranger,
        house.client(source="127.0.0.2") as first,
        house.client(source="127.0.0.2"),
        house.client(source="127.0.0.2"),
    ):
        assert await first.hear() == Reply.ROOM_NEEDED
        assert (await stranger.say(HELLO)).startswith("250")


async def test_silent_strangers_do_not_keep_our_own_server_out() -> None:
    limits = replace(TWO, connections=3, kept_for_others=1, are_neighbours_counted=True)
    async with (
        listening(limits, TRUSTED) as house,
        house.client() as first,
        house.client(),
        house.client(),
        house.client(source="127.0.0.2") as ours,
    ):
        assert await first.hear() == Reply.ROOM_NEEDED
        assert (await ours.say(HELLO)).startswith("250")
