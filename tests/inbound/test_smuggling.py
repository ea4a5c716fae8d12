"""One mail stays one, and what is no command is none: every end that others know, every way to put commands where none are due."""

import json
import re

import pytest

from postroom.inbound.words import Reply
from support.listening import BOX
from support.spoken import Spoken, spoken


HELLO = b"EHLO client.example.net\r\n"
ENVELOPE = b"MAIL FROM:<ann@example.net>\r\nRCPT TO:<%s>\r\n" % BOX.address.encode()
SMUGGLED = (
    b"MAIL FROM:<ceo@bank.example>\r\nRCPT TO:<%s>\r\nDATA\r\nFrom: ceo@bank.example\r\n\r\nPay.\r\n"
    % BOX.address.encode()
)
END = b"\r\n.\r\n"
TAKEN = "250 2.0.0 Ok: received as"

ENDS = {
    "LF . LF": b"\n.\n",
    "LF . CRLF": b"\n.\r\n",
    "CRLF . LF": b"\r\n.\n",
    "CR . CR": b"\r.\r",
    "CR . CRLF": b"\r.\r\n",
    "CRLF . CR": b"\r\n.\r",
    "LF . CR": b"\n.\r",
    "CR . LF": b"\r.\n",
    "CR CRLF . CR CRLF": b"\r\r\n.\r\r\n",
    "CRLF . CR CRLF": b"\r\n.\r\r\n",
    "CRLF NUL . CRLF": b"\r\n\0.\r\n",
    "CRLF . NUL CRLF": b"\r\n.\0\r\n",
    "CRLF . blank CRLF": b"\r\n. \r\n",
    "CRLF . . CRLF": b"\r\n..\r\n",
    "CRLF . . LF": b"\r\n..\n",
    "LF . . CRLF": b"\n..\r\n",
    "vertical tab": b"\x0b.\x0b",
    "form feed": b"\x0c.\x0c",
    "next line": b"\xc2\x85.\xc2\x85",
    "line separator": "\u2028.\u2028".encode(),
    "high bits": b"\x8d\x8a.\x8d\x8a",
}  # fmt: skip


async def ways(said: bytes) -> tuple[Spoken, ...]:
    """All at once, in lines, and byte by byte."""
    lines = re.findall(rb"[^\n]*\n|[^\n]+", said)
    cut = [said[at : at + 1] for at in range(len(said))]
    return (await spoken([said]), await spoken(lines), await spoken(cut))


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_what_is_no_end_lets_no_second_mail_in(end: bytes) -> None:
    said = (
        HELLO + ENVELOPE + b"DATA\r\nSubject: s\r\n\r\nwords" + end + SMUGGLED + END + b"QUIT\r\n"
    )
    for one in await ways(said):
        assert [line for line in one.heard if line.startswith(TAKEN)] == [f"{TAKEN} 1"]
        (content,) = one.arrivals
        assert b"MAIL FROM:<ceo@bank.example>" in content
        assert not re.search(rb"\r(?!\n)|(?<!\r)\n", content)
        assert one.heard[-1] == Reply.BYE


async def test_two_mails_in_one_write_are_two() -> None:
    said = HELLO + (ENVELOPE + b"DATA\r\nwords" + END) * 2
    for one in await ways(said):
        assert one.arrivals == [b"words\r\n"] * 2


async def test_what_follows_the_end_is_commands_and_nothing_else() -> None:
    said = HELLO + ENVELOPE + b"DATA\r\nwords" + END + b"Subject: s\r\n\r\nPay.\r\n.\r\n"
    for one in await ways(said):
        assert one.arrivals == [b"words\r\n"]
        behind = one.heard[one.heard.index(f"{TAKEN} 1") + 1 :]
        assert behind == [Reply.BAD_COMMAND]  # an empty line is no language of ours


CHUNKS = {
    "BDAT": b"BDAT 10 LAST\r\nMAIL FROM:",
    "BDAT of nothing": b"BDAT 0 LAST\r\n",
    "BDAT without an end": b"BDAT 99999999999999999999\r\n",
    "BDAT behind DATA": b"DATA\r\nBDAT 3 LAST\r\nabc",
}


@pytest.mark.parametrize("said", CHUNKS.values(), ids=CHUNKS)
async def test_chunks_are_not_offered_and_bring_nothing_in(said: bytes) -> None:
    for one in await ways(HELLO + ENVELOPE + said):
        assert one.arrivals == []
        assert "CHUNKING" not in "".join(one.heard)


# What is said, and what is heard of it.
COMMANDS: dict[str, tuple[bytes, list[str]]] = {
    "a lone CR in a command": (b"NOOP a\rRSET\r\n", [Reply.BARE_LF]),
    "a lone CR before its end": (b"NOOP\r\r\n", [Reply.BARE_LF]),
    "a lone LF behind a command": (b"NOOP\n", [Reply.BARE_LF]),
    "NUL in a command": (b"NOOP a\0b\r\n", ["250 2.0.0 Ok"]),
    "NUL in the word": (b"NO\0OP\r\n", [Reply.BAD_COMMAND]),
    "NUL in an address": (b"MAIL FROM:<a\0@example.net>\r\n", [Reply.BAD_ARGUMENT]),
    "a lone CR in an address": (b"MAIL FROM:<a\r@example.net>\r\n", [Reply.BARE_LF]),
    "octets that are no UTF-8": (b"MAIL FROM:<a\xff@example.net> SMTPUTF8\r\n", [Reply.BAD_ARGUMENT]),
    "a second address": (b"MAIL FROM:<a@example.net> <b@example.net>\r\n", [Reply.BAD_PARAMETER]),
    "a bracket and a word": (b"MAIL FROM:<a@example.net> AUTH=<>\r\n", [Reply.BAD_PARAMETER]),
    "a name asked for": (b"VRFY support\r\nEXPN all\r\nETRN example.com\r\n", [Reply.NOT_OFFERED] * 3),
    "PIPELINING, which is not offered": (b"NOOP\r\nNOOP\r\nRSET\r\n", ["250 2.0.0 Ok"] * 3),
}  # fmt: skip


@pytest.mark.parametrize(("said", "heard"), COMMANDS.values(), ids=COMMANDS)
async def test_a_command_is_what_it_says_or_none(said: bytes, heard: list[str]) -> None:
    for one in await ways(HELLO + said):
        assert one.heard[5:] == heard
        assert one.arrivals == []


VERBS = [
    "GET",
    "POST",
    "PUT",
    "HEAD",
    "OPTIONS",
    "CONNECT",
    "DELETE",
    "PATCH",
    "TRACE",
    "get",
    "PRI",
]


@pytest.mark.parametrize("verb", VERBS)
async def test_no_word_is_said_to_a_browser_at_any_moment(verb: str) -> None:
    request = f"{verb} / HTTP/1.1\r\nHost: mx.example.com\r\n\r\n".encode()
    for before in (b"", HELLO, HELLO + ENVELOPE):
        one = await spoken([before + request + SMUGGLED + END])
        assert len(one.heard) == 1 + 4 * bool(before) + 2 * before.endswith(ENVELOPE)
        assert one.arrivals == []


async def test_a_name_with_control_characters_is_harmless_in_the_log_and_the_event() -> None:
    name = "x\x1b[31m\0\x07\x9b\u202e\u2028\u200b\x7f".encode() + b"\xff\xed\xa0\x80"
    one = await spoken([b"EHLO " + name + b"\r\n" + ENVELOPE + b"DATA\r\nwords" + END])
    assert one.helos[0].isprintable()
    assert one.helos[0].startswith("x?[31m")
    (line,) = [json.loads(line) for line in one.log.splitlines() if "mail.received" in line]
    assert line["helo"] == one.helos[0]
    assert one.log.isascii()


async def test_a_flood_of_recipients_ends_the_session() -> None:
    ours = b"".join(b"RCPT TO:<support+%d@example.com>\r\n" % at for at in range(60))
    nobody = b"".join(b"RCPT TO:<n%d@example.com>\r\n" % at for at in range(1100))
    one = await spoken([HELLO + ENVELOPE + ours + nobody + b"DATA\r\n"])
    assert one.heard.count(Reply.TOO_MANY_RECIPIENTS) >= 11
    assert one.heard[-1] == Reply.TOO_MANY_COMMANDS
    assert len(one.heard) < 1020
    assert one.arrivals == []
