"""XFORWARD: whom a trusted relay has a mail from, for one mail, and from nobody else."""

from dataclasses import replace
from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.inbound.forwarded import Forwarded, read_forwarded
from support.listening import MAIL, SETTINGS, Client, House, listening


TRUSTED = replace(SETTINGS, trusted_relays=(ip_network("127.0.0.0/8"),))
OFFER = "XFORWARD NAME ADDR PORT PROTO HELO SOURCE"
SAYS = "XFORWARD NAME=mx.customer.example ADDR=192.0.2.7 PROTO=ESMTP HELO=mx.customer.example"

SAID: dict[str, tuple[str | None, Forwarded | None]] = {
    "address and name": ("ADDR=192.0.2.7 HELO=mx.test", Forwarded("192.0.2.7", "mx.test")),
    "in small letters": ("addr=192.0.2.7", Forwarded("192.0.2.7", None)),
    "ipv6": ("ADDR=IPV6:2001:DB8::7", Forwarded("2001:db8::7", None)),
    "ipv6 in small letters": ("ADDR=ipv6:2001:db8::7", Forwarded("2001:db8::7", None)),
    "ipv6 with a zone": ("ADDR=IPV6:fe80::1%eth0", None),
    "not known": ("ADDR=[UNAVAILABLE] HELO=[TEMPUNAVAIL]", Forwarded(None, None)),
    "empty": ("ADDR= HELO=", Forwarded(None, None)),
    "xtext": ("HELO=a+2Bb+3Dc", Forwarded(None, "a+b=c")),
    "xtext with a line end": ("HELO=a+0D+0Ab", Forwarded(None, "a??b")),
    "xtext that is none": ("HELO=a+b", None),
    "a bare sign of equality": ("HELO=a=b", None),
    "what does not count": ("NAME=x PORT=1 PROTO=SMTP SOURCE=REMOTE", Forwarded(None, None)),
    "a name for an address": ("ADDR=mx.test", None),
    "what we did not offer": ("IDENT=x", None),
    "no value": ("ADDR", None),
    "nothing": (None, None),
    "two blanks": ("ADDR=192.0.2.7  HELO=x", None),
    "too long": (f"HELO={'x' * 256}", None),
    "beyond ascii": ("HELO=ä", None),
}


@pytest.mark.parametrize(("argument", "said"), SAID.values(), ids=SAID.keys())
def test_what_a_relay_says_is_read_or_refused(argument: str | None, said: Forwarded | None) -> None:
    found = read_forwarded(argument)
    assert (found and (found.client_ip, found.helo)) == (said and (said.client_ip, said.helo))


def test_a_second_command_adds_to_the_first() -> None:
    first = read_forwarded("ADDR=192.0.2.7")
    assert first is not None
    assert read_forwarded("HELO=x", first) == Forwarded("192.0.2.7", "x")
    assert read_forwarded("ADDR=[UNAVAILABLE]", first) == Forwarded(None, None)


@given(st.text(max_size=300))
def test_whatever_is_said_is_bounded_and_one_line(text: str) -> None:
    found = read_forwarded(text)
    if found is not None and found.helo is not None:
        assert len(found.helo) <= 255
        assert found.helo.isprintable()


async def handed_in(client: Client, *said: str) -> None:
    words = (*said, "MAIL FROM:<a@example.net>", "RCPT TO:<support@example.com>", "DATA")
    assert (await client.say(*words)).startswith("354")
    await client.send(MAIL + b".\r\n")
    assert (await client.hear()).startswith("250")


def arrived(house: House, place: int) -> tuple[str, str, str | None]:
    one = house.inbox.arrivals[place]
    return one.client_ip, one.helo, one.relay_ip


async def test_the_client_of_the_relay_is_the_client_of_one_mail() -> None:
    async with listening(settings=TRUSTED) as house, house.client() as client:
        assert OFFER in await client.say("EHLO relay.test")
        assert await client.say(SAYS) == "250 2.0.0 Ok"
        await handed_in(client)
        await handed_in(client)
        await handed_in(client, SAYS, "RSET")
        await handed_in(client, SAYS, "EHLO other.test")
        await handed_in(client, "XFORWARD ADDR=[UNAVAILABLE] HELO=x")
        assert arrived(house, 0) == ("192.0.2.7", "mx.customer.example", "127.0.0.1")
        assert arrived(house, 1) == ("127.0.0.1", "relay.test", None)
        assert arrived(house, 2) == ("127.0.0.1", "relay.test", None)
        assert arrived(house, 3) == ("127.0.0.1", "other.test", None)
        assert arrived(house, 4) == ("127.0.0.1", "other.test", None)
        assert all(one.is_trusted for one in house.inbox.arrivals)


async def test_it_is_refused_in_a_mail_and_when_it_is_wrong() -> None:
    async with listening(settings=TRUSTED) as house, house.client() as client:
        await client.say("EHLO relay.test")
        assert (await client.say("XFORWARD ADDR=nobody")).startswith("501")
        assert (await client.say("XFORWARD")).startswith("501")
        assert (await client.say("MAIL FROM:<a@example.net>", SAYS)).startswith("503")


async def test_a_stranger_can_not_say_who_he_is() -> None:
    async with listening() as house, house.client() as client:
        assert "XFORWARD" not in await client.say("EHLO stranger.test")
        assert (await client.say(SAYS)).startswith("502")
        await handed_in(client)
        assert arrived(house, 0) == ("127.0.0.1", "stranger.test", None)
