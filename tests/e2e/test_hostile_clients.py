"""Clients of both sockets that are slow, endless, gone, or take no answer: what they hear, and that nobody else pays for it.

Each row plays beside an honest job; in the end that one is sent, nothing of theirs is there by half, and the daemon holds
as many descriptors as before.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from postroom.inbound.words import Reply
from postroom.selftest.nursery import Nursery
from support.hostile import Rude, rude, scene
from support.inward import SUPPORT, came_in, mail, mail_to


BOUNDS = {"body_time": 1, "idle": 1, "stall": 1, "linger": 1}
LIMITS = {"command_s": 1, "data_s": 1, "data_rate": 1000}
JOB = {
    "mailbox_id": "support",
    "to": ["theirs@one.example"],
    "subject": "s",
    "text": "t",
    "idempotency_key": "theirs",
}
BODY = json.dumps(JOB).encode()
HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\n"
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
HELLO = b"HELO x\r\n"
ENVELOPE = b"MAIL FROM:<ann@customer.example>\r\nRCPT TO:<support@example.com>\r\nDATA\r\n"


def asks(
    content: bytes, ending: str = "", letters: bytes = b""
) -> Callable[[Rude], Awaitable[bytes]]:
    """Says this much, and then drips, floods, or waits for the end."""

    async def play(client: Rude) -> bytes:
        await client.say(content)
        match ending:
            case "drips":
                return await client.drip(letters or b"x")
            case "floods":
                return await client.flood(letters)
            case _:
                return await client.rest()

    return play


def tells(
    *said: bytes, last: bytes = b"", ending: str = "", letters: bytes = b"x"
) -> Callable[[Rude], Awaitable[bytes]]:
    """A dialogue as far as it goes, each line answered; then as `asks`."""

    async def play(client: Rude) -> bytes:
        await client.talk(*said)
        return await asks(last, ending, letters)(client)

    return play


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
UPLOAD = b"POST /v1/attachments?filename=a HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n"
OF_THE_API = {
    "says nothing": (asks(b""), b""),
    "a slow line": (asks(b"GET /", "drips"), b""),
    "a slow header": (asks(HEAD + b"X-Slow: ", "drips"), b""),
    "a slow body": (asks(HEAD + b"Content-Length: 9999\r\n\r\n{", "drips"), b"408"),
    "a slow upload": (asks(UPLOAD, "drips"), b"408"),
    "no next request": (asks(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), b"200"),
    "an endless line": (asks(b"GET /" + b"x" * 20_000), b"400"),
    "an endless header": (asks(HEAD + b"X-Long: " + b"x" * 20_000), b"400"),
    "endless headers": (asks(HEAD + b"X-More: x\r\n" * 200), b"400"),
    "an endless body": (asks(CHUNKED, "floods", b"400\r\n" + b" " * 1024 + b"\r\n"), b"413"),
}  # fmt: skip
OF_THE_LISTENER = {
    "says nothing": (tells(), Reply.IDLE),
    "a slow command": (tells(HELLO, ending="drips"), Reply.IDLE),
    "a slow line of the content": (tells(HELLO, ENVELOPE, ending="drips"), Reply.SLOW),
    "slow lines": (tells(HELLO, ENVELOPE, ending="drips", letters=b"x\r\n"), Reply.SLOW),
    "an endless command": (tells(HELLO, last=b"x" * 70_000), Reply.LINE_ENDLESS),
    "an endless line of the content": (
        tells(HELLO, ENVELOPE, ending="floods", letters=b"x" * 65536), Reply.TOO_BIG),
    "an endless content": (
        tells(HELLO, ENVELOPE, ending="floods", letters=b"0123456789\r\n" * 6000), Reply.TOO_BIG),
}  # fmt: skip


async def test_slow_and_endless_clients_are_sent_away_and_no_other_pays(
    tmp_path: Path, nursery: Nursery
) -> None:
    heard: dict[str, bytes] = {}

    async def meet(name: str, play: Callable[[Rude], Awaitable[bytes]], *where: str | int) -> None:
        async with rude(*where) as client:
            heard[name] = await play(client)

    async with scene(tmp_path, nursery, bounds=BOUNDS, limits=LIMITS) as made:
        async with asyncio.TaskGroup() as group:
            for row, (play, _) in OF_THE_API.items():
                group.create_task(meet(f"API, {row}", play, str(tmp_path / "api.sock")))
            for row, (play, _) in OF_THE_LISTENER.items():
                group.create_task(meet(f"SMTP, {row}", play, "127.0.0.1", made.port))
            await made.honest("beside@one.example")
            assert (await mail_to(made.port, mail("Hi.", Subject="Hi"), SUPPORT)).startswith("250")
        for row, (_, status) in OF_THE_API.items():
            assert heard[f"API, {row}"][len("HTTP/1.x ") :][:3] == status, row
        for row, (_, reply) in OF_THE_LISTENER.items():
            # Last words to somebody who still talks may be lost on their way.
            assert heard[f"SMTP, {row}"].decode().splitlines()[-1:] in ([reply], []), row
            assert reply in made.house.log, row
        await made.is_as_before()
        _, jobs = await made.house.ask("GET", "/jobs")
        assert len(jobs["items"]) == 2
        assert len(await came_in(made.house, 2)) == 2


def _said(content: bytes) -> Callable[[Rude], Awaitable[None]]:
    async def play(client: Rude) -> None:
        await client.say(content)

    return play


def _told(*said: bytes, last: bytes) -> Callable[[Rude], Awaitable[None]]:
    """As far as the answer to the last whole line, and then these octets."""

    async def play(client: Rude) -> None:
        await client.talk(*said)
        await client.say(last)

    return play


MAIL = mail("Theirs.", Subject="Hi", From="ann@customer.example")
GONE = {
    "API, after connecting": (False, _said(b"")),
    "API, within the head": (False, _said(WHOLE[:30])),
    "API, within the body": (False, _said(WHOLE[:-9])),
    "API, within an upload": (False, _said(UPLOAD + b"half")),
    "API, a question": (False, _said(b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n")),
    "API, a stream": (False, _said(b"GET /v1/events/stream HTTP/1.1\r\nHost: x\r\n\r\n")),
    "SMTP, after connecting": (True, _said(b"")),
    "SMTP, within a command": (True, _told(HELLO, last=b"MAIL FR")),
    "SMTP, within the content": (True, _told(HELLO, ENVELOPE, last=MAIL)),
    "SMTP, within the dot": (True, _told(HELLO, ENVELOPE, last=MAIL + b".\r")),
}  # fmt: skip
GONE_AFTER_ALL = {
    "API, before the answer": (False, _said(WHOLE)),
    "SMTP, before the 250": (True, _told(HELLO, ENVELOPE, last=MAIL + b".\r\n")),
}


async def test_who_is_gone_leaves_all_or_nothing_and_who_comes_again_leaves_one(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with scene(tmp_path, nursery) as made:
        for number, (row, (is_mail, play)) in enumerate({**GONE, **GONE_AFTER_ALL}.items()):
            where = ("127.0.0.1", made.port) if is_mail else (str(tmp_path / "api.sock"),)
            for _ in range(3):
                async with rude(*where) as client:
                    await play(client)
            await made.honest(f"beside{number}@one.example")
            await made.is_as_before()
            if row in GONE:
                _, known = await made.house.ask("GET", "/jobs?idempotency_key=theirs")
                assert (known["items"], len(await came_in(made.house))) == ([], 1), row

        assert (await mail_to(made.port, MAIL, SUPPORT)).startswith("250")
        job = await made.house.post(**JOB)
        await made.house.settled(job["id"])
        assert made.relay.copies("theirs@one.example") == 1
        assert len(await came_in(made.house, 2)) == 2
        assert not list((tmp_path / "state" / "spool" / "tmp").iterdir())


LARGE = {
    "mailbox_id": "support",
    "to": ["large@one.example"],
    "subject": "s",
    "text": "x\n" * 200_000,
}
UNREAD = ("/jobs", "/openapi.json", "/deliveries/{}/raw")


async def test_who_reads_no_answer_is_hung_up_on_before_much_is_kept_for_it(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with scene(tmp_path, nursery, bounds={**BOUNDS, "idle": 60}) as made:
        job = await made.house.post(**LARGE)
        await made.house.settled(job["id"])
        size = made.resident()

        async def meet(path: str) -> None:
            question = f"GET /v1{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
            async with rude(str(tmp_path / "api.sock")) as client:
                await client.refuse_to_read(question)

        async with asyncio.TaskGroup() as group:
            for path in UNREAD:
                group.create_task(meet(path.format(job["deliveries"][0]["id"])))
            await made.honest("beside@one.example")
        await made.is_as_before()
        assert made.resident() - size < 32 << 20
