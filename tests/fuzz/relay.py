"""The targets of the way to a relay: whatever it says, and however that is cut, it comes to something that is true."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from postroom.core.mailbox import Relay, Tls
from postroom.core.reply import SmtpReply
from postroom.outbound.commands import Offer
from postroom.outbound.dialogue import Connection, transact
from postroom.outbound.relay import Dialer
from postroom.outbound.replies import (
    KEPT_RAW,
    KEPT_TEXT,
    LONGEST_REPLY,
    Malformed,
    ReplyReader,
)
from postroom.outbound.timeouts import Timeouts
from postroom.outbound.wire import Wire
from postroom.ports.errors import RelayFault
from postroom.ports.relay import Dialogue, Envelope
from support.clock import settle
from support.transport import FakeTransport


BETWEEN = b"\xfe"
CONTENT = (b"Subject: x\r\n\r\n..a\r\n", b"b\r\n")
PASSWORD = "opensesame"
SAID_MOST = 4096
WAITED_S = 0.02  # who says nothing for so long waits for more of a reply
LINES_MOST = 60


def replies(octets: bytes) -> None:
    """What a relay sends: cut or not, the same replies, whose octets are those that came."""
    kind, said = (octets[0], octets[1:]) if octets else (0, b"")
    step = (kind % 63 + 1) * (1 + len(said) // 1024)
    once = _read_replies([said])
    again = _read_replies([said[at : at + step] for at in range(0, len(said), step)])
    assert once == again
    at = 0
    for reply in once:
        if reply is None:
            break
        _check_reply(reply)
        assert said.startswith(reply.raw, at)
        at = said.index(b"\n", at) + 1 if len(reply.raw) >= KEPT_RAW else at + len(reply.raw)
        if len(reply.raw) >= KEPT_RAW:
            break  # the rest of it was not kept


def greeting(octets: bytes) -> None:
    """What a relay says from its greeting to the login, a piece for each line of ours: a connection or a fault, and no secret in it."""
    asyncio.run(_dialled(octets[:SAID_MOST].split(BETWEEN)[:LINES_MOST]))


def transaction(octets: bytes) -> None:
    """What a relay says in a transaction, a piece whenever we wait, until it hangs up: cut or not, it comes to the same.

    The first octet says how large the cuts are, whether commands are pipelined and whether the mark says go.
    """
    kind, said = (octets[0], octets[1:SAID_MOST]) if octets else (0, b"")
    pieces = said.split(BETWEEN)[:LINES_MOST]
    flags = {"is_piped": bool(kind & 1), "is_go": bool(kind & 6)}
    step = kind // 8 + 1
    once = asyncio.run(_transacted([[one] for one in pieces], **flags))
    again = asyncio.run(
        _transacted(
            [[one[at : at + step] for at in range(0, len(one), step)] for one in pieces], **flags
        )
    )
    for one in (once, again):
        _check_transaction(one, said, is_go=flags["is_go"])
    assert replace(once.ended, fault=None) == replace(again.ended, fault=None)
    assert once.written == again.written


def _read_replies(pieces: Sequence[bytes]) -> list[SmtpReply | None]:
    """What is read of them; None = what came is no reply, and is the last that was read."""
    reader = ReplyReader()
    found: list[SmtpReply | None] = []
    for piece in pieces:
        for one in reader.feed(piece):
            if isinstance(one, Malformed):
                assert one.detail.isprintable()
                assert len(one.detail) < 400
                return [*found, None]
            found.append(one)
    return found


def _check_reply(reply: SmtpReply) -> None:
    assert 200 <= reply.code <= 599
    assert reply.text.isprintable()
    reply.text.encode()
    assert len(reply.text) <= KEPT_TEXT
    assert len(reply.raw) <= min(KEPT_RAW, LONGEST_REPLY)
    assert reply.enhanced is None or re.fullmatch(r"[245]\.\d{1,3}\.\d{1,3}", reply.enhanced)
    lines = reply.raw.split(b"\n")
    assert all(line.startswith(b"%d" % reply.code) for line in lines[: len(lines) - 1])


async def _dialled(pieces: Sequence[bytes]) -> None:
    """Dial a relay on this host that says these pieces and hangs up."""
    is_over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            for piece in pieces:
                writer.write(piece)
                async with asyncio.timeout(WAITED_S):
                    if not await reader.readline():
                        break
        except (ConnectionError, TimeoutError, ValueError):
            pass
        finally:
            writer.close()
            is_over.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    relay = Relay("main", "127.0.0.1", port, Tls.NONE, username="alice", password=PASSWORD)
    try:
        made = await Dialer(relay, Timeouts(), "mail.example.com").dial()
    except RelayFault as fault:
        _check_fault(fault)
    else:
        assert made.offer.size_bytes >= 0
        made.wire.leave(Timeouts().leave)
        await made.wire.closed
    finally:
        await is_over.wait()
        server.close()


def _check_fault(fault: RelayFault) -> None:
    assert fault.detail.isprintable(), ascii(fault.detail)
    assert len(fault.detail) <= KEPT_TEXT + 100
    said = [fault.detail, str(fault)]
    if fault.reply is not None:
        _check_text(fault.reply)
        said += [fault.reply.text, fault.reply.raw.decode("latin-1")]
    assert not any(PASSWORD in one for one in said)


def _check_text(reply: SmtpReply) -> None:
    assert reply.text.isprintable()
    assert len(reply.text) <= KEPT_TEXT
    assert len(reply.raw) <= KEPT_RAW


@dataclass(frozen=True)
class _Transacted:
    ended: Dialogue
    written: bytes
    marks: int
    is_aborted: bool
    is_idle: bool


async def _transacted(
    turns: Sequence[Sequence[bytes]], *, is_piped: bool, is_go: bool
) -> _Transacted:
    transport = FakeTransport()
    line = Wire(transport)  # type: ignore[arg-type]
    marks: list[bytes] = []

    async def content() -> AsyncIterator[bytes]:
        for piece in CONTENT:
            yield piece

    async def mark() -> bool:
        marks.append(transport.written)
        await settle(2)
        return is_go

    connection = Connection(line, Offer(has_pipelining=is_piped))
    envelope = Envelope("a@a.example", "b@b.example", "", 20)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            transact(connection, Timeouts(), envelope, content, mark, lambda: None)
        )
        for turn in turns:
            await settle(20)
            if running.done():
                break
            for piece in turn:
                line.data_received(piece)
        await settle(20)
        is_idle = line.is_idle
        line.eof_received()
    ended = running.result()
    assert isinstance(ended, Dialogue)
    return _Transacted(ended, transport.written, len(marks), transport.is_aborted, is_idle)


def _check_transaction(one: _Transacted, said: bytes, *, is_go: bool) -> None:
    ended, whole = one.ended, b"".join(CONTENT)
    assert one.written.startswith(b"MAIL FROM:<a@a.example>\r\n")
    assert one.marks <= 1
    assert ended.is_marked == (one.marks == 1 and is_go)
    assert ended.is_stopped == (one.marks == 1 and not is_go)
    assert ended.is_dotted == one.written.endswith(whole + b".\r\n")
    assert ended.is_marked or not ended.is_dotted
    assert b"3" in said or CONTENT[0] not in one.written
    assert sum((ended.reply is not None, ended.fault is not None, ended.is_stopped)) == 1
    assert ended.fault is None or ended.fault.isprintable()
    if ended.reply is not None:
        _check_reply(ended.reply)
        assert ended.reply.code >= 400 or (ended.is_dotted and ended.reply.code < 300)
    assert not ended.is_reusable or one.is_idle
