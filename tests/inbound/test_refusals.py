"""What the listener refuses is counted, by words of a closed list."""

import pytest

from postroom.inbound.limits import Limits
from postroom.inbound.words import Reply
from support.listening import BOX, listening


HELLO = "EHLO client.example.net"
MAIL = "MAIL FROM:<ann@example.net>"


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        ([HELLO, MAIL, f"RCPT TO:<{BOX.address}>", "RSET"], []),
        ([HELLO, MAIL, f"RCPT TO:<no-{BOX.address}>"], ["unknown"]),
        ([HELLO, MAIL, "RCPT TO:<bob@elsewhere.example>"], ["foreign"]),
        ([MAIL, "VRFY ann", "BLAH"], ["hello_first", "not_offered", "bad_command"]),
        ([HELLO, f"{MAIL} SIZE=99999999999"], ["too_big"]),
    ],
    ids=["nothing", "unknown", "foreign", "commands", "size"],
)
async def test_every_refusal_is_counted_by_its_reply(said: list[str], counted: list[str]) -> None:
    async with listening() as house:
        async with house.client() as client:
            assert house.listener.sessions == 1
            for line in said:
                await client.say(line)
        assert house.refused == counted


async def test_who_is_sent_away_at_the_door_is_counted() -> None:
    limits = Limits(connections=0)
    async with listening(limits) as house, house.client(greeting="421"):
        assert house.refused == ["too_busy"]
        assert house.listener.sessions == 0


async def test_another_protocol_is_counted() -> None:
    async with listening() as house, house.client() as client:
        await client.send(b"GET / HTTP/1.1\r\n")
        assert await client.reader.read() == b""
        assert house.refused == ["another_protocol"]


def test_what_is_no_refusal_has_no_name() -> None:
    assert [one for one in Reply if not one.refusal] == [
        Reply.MAIL_OK,
        Reply.RCPT_OK,
        Reply.BYE,
        Reply.GO_AHEAD,
    ]
