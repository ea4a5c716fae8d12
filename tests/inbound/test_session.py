"""What a client hears: what it may say, whom it may name, and what never happens."""

import asyncio
import smtplib

import pytest

from postroom.core.token import TokenStatus
from postroom.inbound.limits import Limits
from postroom.inbound.words import Reply
from support.listening import (
    BOX,
    KEY,
    LOST,
    MAIL,
    OTHER,
    SETTINGS,
    SOON,
    House,
    bounce_to,
    listening,
    reply_to,
)


HELLO = "EHLO client.example.net"
FROM = "MAIL FROM:<ann@example.net>"
TO = f"RCPT TO:<{BOX.address}>"
SIZE = SETTINGS.max_message_bytes
SAID = {
    "hello": ("EHLO x", f"250-mx.example.com|250-SIZE {SIZE}|250-8BITMIME|250 SMTPUTF8"),
    "the old hello": ("HELO x", "250 mx.example.com"),
    "hello without a name": ("EHLO", Reply.BAD_ARGUMENT),
    "nothing": ("NOOP whatever", "250 2.0.0 Ok"),
    "reset": ("RSET", "250 2.0.0 Ok"),
    "reset of something": ("RSET x", Reply.BAD_ARGUMENT),
    "mail without hello": (FROM, Reply.HELLO_FIRST),
    "recipient without mail": (TO, Reply.MAIL_FIRST),
    "content without mail": ("DATA", Reply.MAIL_FIRST),
    "content without recipient": (HELLO, FROM, "DATA", Reply.RCPT_FIRST),
    "content with an argument": (HELLO, FROM, TO, "DATA now", Reply.BAD_ARGUMENT),
    "two mails at once": (HELLO, FROM, FROM, Reply.MAIL_TWICE),
    "a sender that is none": (HELLO, "MAIL FROM:ann@example.net", Reply.BAD_ARGUMENT),
    "the null sender": (HELLO, "MAIL FROM:<>", Reply.MAIL_OK),
    "a size that fits": (HELLO, f"{FROM} SIZE={SIZE}", Reply.MAIL_OK),
    "a size that does not": (HELLO, f"{FROM} SIZE={SIZE + 1}", Reply.TOO_BIG),
    "a size that is none": (HELLO, f"{FROM} SIZE=²", Reply.BAD_ARGUMENT),
    "a huge size": (HELLO, f"{FROM} SIZE={'9' * 500}", Reply.BAD_ARGUMENT),
    "8 bits": (HELLO, f"{FROM} BODY=8BITMIME", Reply.MAIL_OK),
    "binary": (HELLO, f"{FROM} BODY=BINARYMIME", Reply.BAD_ARGUMENT),
    "a report wish": (HELLO, f"{FROM} RET=HDRS", Reply.BAD_PARAMETER),
    "a report wish for a recipient": (HELLO, FROM, f"{TO} NOTIFY=NEVER", Reply.BAD_PARAMETER),
    "a login": (HELLO, "AUTH PLAIN AAAA", Reply.NOT_OFFERED),
    "somebody's name": ("VRFY support", Reply.NOT_OFFERED),
    "a list's members": ("EXPN all", Reply.NOT_OFFERED),
    "help": ("HELP", Reply.NOT_OFFERED),
    "no word of ours": ("XYZZY", Reply.BAD_COMMAND),
    "TLS that is not there": ("STARTTLS", Reply.NO_TLS),
    "a long line": ("NOOP " + "x" * 1500, Reply.COMMAND_LONG),
    "an endless line": ("NOOP " + "x" * 5000, Reply.LINE_ENDLESS),
    "a line that never ends": ("NOOP " + "x" * 200_000, Reply.LINE_ENDLESS),
    "an address of the world": (HELLO, "MAIL FROM:<jürgen@example.net> SMTPUTF8", Reply.MAIL_OK),
    "the same unasked": (HELLO, "MAIL FROM:<jürgen@example.net>", Reply.NEEDS_UTF8),
    "the same as recipient": (HELLO, FROM, "RCPT TO:<jürgen@example.com>", Reply.NEEDS_UTF8),
    "utf8 with a value": (HELLO, f"{FROM} SMTPUTF8=yes", Reply.BAD_ARGUMENT),
}  # fmt: skip


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
async def test_what_is_said_is_answered_so(said: tuple[str, ...]) -> None:
    *lines, reply = said
    async with listening() as house, house.client() as client:
        assert await client.say(*lines) == reply


FOUND = {
    "a mailbox": ("support@example.com", Reply.RCPT_OK),
    "in capitals": ("SUPPORT@EXAMPLE.COM", Reply.RCPT_OK),
    "another one": ("sales@example.com", Reply.RCPT_OK),
    "a tag": ("support+anything@example.com", Reply.RCPT_OK),
    "nobody": ("nobody@example.com", Reply.UNKNOWN),
    "nobody with a tag": ("nobody+support@example.com", Reply.UNKNOWN),
    "a reply token": (reply_to(), Reply.RCPT_OK),
    "in capitals, too": (reply_to().upper(), Reply.RCPT_OK),
    "a return path": (bounce_to(), Reply.RCPT_OK),
    "a token of another number": (f"{reply_to()[:14]}b{reply_to()[15:]}", Reply.UNKNOWN),
    "a reply token as return path": (reply_to().replace("r-", "b-", 1), Reply.UNKNOWN),
    "a token made up": (f"r-{'a' * 29}@reply.example.com", Reply.UNKNOWN),
    "a token cut short": (f"{reply_to()[:20]}@reply.example.com", Reply.UNKNOWN),
    "no token": ("r-hello@reply.example.com", Reply.UNKNOWN),
    "postmaster": ("postmaster@reply.example.com", Reply.RCPT_OK),
    "the bare postmaster": ("Postmaster", Reply.RCPT_OK),
    "abuse": ("Abuse@example.com", Reply.RCPT_OK),
    "a stranger": ("ann@elsewhere.example", Reply.FOREIGN),
    "through us": ("ann%elsewhere.example@example.com", Reply.UNKNOWN),
    "quoted through us": ('"ann@elsewhere.example"@example.com', Reply.BAD_ADDRESS),
    "an old route through us": ("@example.com:ann@elsewhere.example", Reply.FOREIGN),
    "postmaster of a stranger": ("postmaster@elsewhere.example", Reply.FOREIGN),
    "an address of ours by number": ("support@[127.0.0.1]", Reply.BAD_ADDRESS),
    "no domain": ("support", Reply.BAD_ADDRESS),
    "nothing": ("", Reply.BAD_ARGUMENT),
}  # fmt: skip


@pytest.mark.parametrize(("recipient", "reply"), FOUND.values(), ids=FOUND)
async def test_a_recipient_is_judged_when_it_is_named(recipient: str, reply: Reply) -> None:
    async with listening() as house, house.client() as client:
        assert await client.say(HELLO, FROM, f"RCPT TO:<{recipient}>") == reply


async def test_the_number_behind_a_token_comes_with_the_mail() -> None:
    async with listening() as house, house.client() as client:
        assert await client.give(MAIL, reply_to(42), reply_to(43).upper(), BOX.address)
    (arrival,) = house.inbox.arrivals
    assert [one.token and one.token.number for one in arrival.recipients] == [42, 43, None]
    assert {one.mailbox_id for one in arrival.recipients} == {BOX.id}


async def test_an_expired_token_still_comes_in_and_is_known_as_such() -> None:
    old = reply_to(9, type(SOON)(1_700_000_000_000_000))
    async with listening() as house, house.client() as client:
        assert (await client.give(MAIL, old)).startswith("250")
    token = house.inbox.arrivals[0].recipients[0].token
    assert token is not None
    assert token.status is TokenStatus.EXPIRED


async def test_a_token_of_a_lost_key_is_put_off_and_never_refused_for_good() -> None:
    lost = BOX.reply_address
    assert lost is not None
    letter = "abcdefghijklmnopqrstuvwxyz234567"[LOST.id]
    assert LOST.id != KEY.id
    address = lost.replace("{token}", letter + "a" * 28)
    async with listening(lost_key_ids=frozenset({LOST.id})) as house, house.client() as client:
        assert await client.say(HELLO, FROM, f"RCPT TO:<{address}>") == Reply.KEY_LOST
        assert (await client.say(f"RCPT TO:<{reply_to()}>")) == Reply.RCPT_OK


async def test_the_same_recipient_twice_is_one() -> None:
    async with listening() as house, house.client() as client:
        await client.give(MAIL, BOX.address, BOX.address.upper(), OTHER.address)
    assert [one.mailbox_id for one in house.inbox.arrivals[0].recipients] == ["support", "sales"]


async def test_the_recipients_beyond_the_bound_are_put_off_and_the_others_get_the_mail() -> None:
    async with listening(Limits(recipients=2)) as house, house.client() as client:
        await client.say(HELLO, FROM)
        said = [await client.say(f"RCPT TO:<support+{n}@example.com>") for n in range(4)]
        assert said == [Reply.RCPT_OK] * 2 + [Reply.TOO_MANY_RECIPIENTS] * 2
        assert (await client.say("DATA")).startswith("354")
        await client.send(MAIL + b".\r\n")
        assert (await client.hear()).startswith("250")
    assert len(house.inbox.arrivals[0].recipients) == 2


async def test_a_mail_after_a_mail_begins_anew() -> None:
    async with listening() as house, house.client() as client:
        await client.give(MAIL, BOX.address)
        assert await client.say("DATA") == Reply.MAIL_FIRST
        await client.say("MAIL FROM:<>", f"RCPT TO:<{OTHER.address}>", "RSET")
        assert await client.say(TO) == Reply.MAIL_FIRST
        await client.say("MAIL FROM:<>", f"RCPT TO:<{OTHER.address}>", "DATA")
        await client.send(b".\r\n")
        assert (await client.hear()).startswith("250")
    first, second = house.inbox.arrivals
    assert (first.sender, second.sender) == ("ann@example.net", "")
    assert [one.mailbox_id for one in second.recipients] == ["sales"]


async def test_a_mail_for_many_unknown_and_one_of_ours_is_taken() -> None:
    async with listening() as house, house.client() as client:
        await client.say(HELLO, FROM)
        for n in range(8):
            assert await client.say(f"RCPT TO:<n{n}@example.com>") == Reply.UNKNOWN
        assert await client.say(TO) == Reply.RCPT_OK
        assert (await client.say("DATA")).startswith("354")
        await client.send(MAIL + b".\r\n")
        assert (await client.hear()).startswith("250")
    assert [one.mailbox_id for one in house.inbox.arrivals[0].recipients] == ["support"]


OTHERS = {
    "a browser": b"POST / HTTP/1.1\r\nHost: mx.example.com\r\n\r\nMAIL FROM:<a@b.test>\r\n",
    "http/2": b"PRI * HTTP/2.0\r\n\r\n",
    "TLS without being asked": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
    "nothing at all": b"\r\n",
    "no letters": b"\xff\xfe{}\n",
}


@pytest.mark.parametrize("first", OTHERS.values(), ids=OTHERS)
async def test_who_speaks_another_language_gets_no_answer(first: bytes) -> None:
    async with listening() as house, house.client() as client:
        await client.send(first)
        assert await client.hear() == ""
    assert house.logged("client.refused")[0]["reason"] == "another protocol"


async def test_a_command_with_a_lone_line_feed_is_an_error() -> None:
    async with listening() as house, house.client() as client:
        await client.send(b"EHLO x\nMAIL FROM:<a@b.test>\r\n")
        assert await client.hear() == Reply.BARE_LF
        assert await client.hear() == Reply.HELLO_FIRST
    assert house.logged("client.refused")[0]["reason"] == "bare_newline_command"


async def test_a_fault_of_ours_is_451_without_a_word_of_what_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with listening() as house, house.client() as client:
        await client.say(HELLO, FROM)

        def fail(*_: object) -> None:
            message = "database is locked"
            raise RuntimeError(message)

        monkeypatch.setattr(type(house.listener.parts.book), "find", fail)
        assert await client.say(TO) == Reply.LOCAL_TROUBLE
        monkeypatch.undo()
        assert (await client.give()).startswith("250")
    assert house.logged("request.failed")[0]["detail"] == "database is locked"


def _send(house: House) -> dict[str, tuple[int, bytes]]:
    with smtplib.SMTP("127.0.0.1", house.port, "client.example.net", timeout=10) as client:
        return client.sendmail(
            "ann@example.net", [BOX.address, "x@example.com"], MAIL, ["BODY=8BITMIME"]
        )


async def test_a_client_of_the_standard_library_is_understood() -> None:
    async with listening() as house:
        refused = await asyncio.to_thread(_send, house)
    assert refused == {"x@example.com": (550, Reply.UNKNOWN[4:].encode())}
    assert house.inbox.content() == MAIL


async def test_nothing_of_a_client_stays_when_it_is_gone() -> None:
    async with listening() as house:
        for last in ("QUIT", "EHLO x", "DATA"):
            async with house.client() as client:
                await client.say(HELLO, FROM, TO, last)
        async with house.client() as client:
            client.reset()
        await asyncio.wait_for(house.listener._is_empty.wait(), 5)
        assert house.listener._door._inside == {}
        assert house.listener.under_way == 0
