"""A listener on loopback with a fake inbox behind it, and a client that says exactly what it is told to.

async with listening(Limits(recipients=2)) as house:
    async with house.client() as client:
        assert await client.say("EHLO x", "MAIL FROM:<a@example.net>") …
"""

import asyncio
import contextlib
import io
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from postroom.core.inaddress import AddressBook, reply_address, return_path
from postroom.core.instant import Instant
from postroom.core.listening import ListenAt, Listening
from postroom.core.mailbox import Mailbox
from postroom.core.token import make_key
from postroom.inbound.limits import Limits
from postroom.inbound.listener import Listener
from postroom.inbound.parts import Parts
from postroom.ops.chronicle import Chronicle
from postroom.ops.host import SystemClock
from postroom.ops.logbook import Logbook
from postroom.ops.logwords import LogFormat, LogLevel
from postroom.ops.throttle import Throttle
from support.heard import EAR
from support.inbox import FakeInbox


KEY = make_key(b"k" * 32)
LOST = make_key(b"l" * 32)
BOX = Mailbox(
    id="support",
    address="support@example.com",
    display_name="Support",
    relay_id="main",
    reply_address="r-{token}@reply.example.com",
    return_path="b-{token}@reply.example.com",
)
OTHER = Mailbox(id="sales", address="Sales@Example.com", display_name="", relay_id="main")
SETTINGS = Listening(
    hostname="mx.example.com",
    listen=(ListenAt("127.0.0.1", 0),),
    domains=("reply.example.com", "example.com"),
    max_message_bytes=1_000_000,
    postmaster="sales",
)
PATIENCE = 10.0  # seconds that a test waits for what must come
SOON = Instant(2_000_000_000_000_000)
MAIL = b"From: a@example.net\r\nSubject: Hi\r\n\r\nHello.\r\n"


def reply_to(number: int = 7, expires_at: Instant = SOON) -> str:
    found = reply_address(BOX, KEY, number, expires_at)
    assert found is not None
    return found


def bounce_to(number: int = 7, expires_at: Instant = SOON) -> str:
    found = return_path(BOX, KEY, number, expires_at)
    assert found is not None
    return found


@dataclass
class Client:
    """A connection; every wait is bounded."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    heard: list[str] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    async def hear(self) -> str:
        """One whole reply, its lines joined by '|'; '' = the server hung up."""
        lines = []
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    line = (await self.reader.readline()).decode().rstrip("\r\n")
                except ConnectionError:
                    line = ""
                lines.append(line)
                if line[3:4] != "-":
                    break
        reply = "|".join(lines)
        self.heard.append(reply)
        return reply

    async def say(self, *lines: str) -> str:
        """Each of these and its reply, one after the other; the last reply."""
        reply = ""
        for line in lines:
            await self.send(f"{line}\r\n".encode())
            reply = await self.hear()
        return reply

    async def send(self, content: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            self.writer.write(content)
            async with asyncio.timeout(PATIENCE):
                await self.writer.drain()

    async def begin(self, *recipients: str, sender: str = "ann@example.net") -> str:
        """As far as 354."""
        await self.say("EHLO client.example.net", f"MAIL FROM:<{sender}>")
        for recipient in recipients or (BOX.address,):
            await self.say(f"RCPT TO:<{recipient}>")
        return await self.say("DATA")

    async def give(self, content: bytes = MAIL, *recipients: str) -> str:
        """A whole mail; the reply to its final dot."""
        assert (await self.begin(*recipients)).startswith("354")
        await self.send(content + b".\r\n")
        return await self.hear()

    async def start_tls(self, context: ssl.SSLContext) -> None:
        assert (await self.say("STARTTLS")).startswith("220")
        async with asyncio.timeout(PATIENCE):
            await self.writer.start_tls(context, server_hostname="mx.example.com")

    def reset(self) -> None:
        """Hang up with a RST."""
        made = self.writer.get_extra_info("socket")
        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@dataclass
class House:
    """The listener and what is around it."""

    listener: Listener
    inbox: FakeInbox
    log: io.StringIO
    refused: list[str]

    @property
    def port(self) -> int:
        return int(self.listener.addresses[0].rpartition(":")[2])

    @contextlib.asynccontextmanager
    async def client(
        self, *, greeting: str = "220", source: str = "127.0.0.1"
    ) -> AsyncIterator[Client]:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, limit=1 << 20, local_addr=(source, 0)
        )
        async with Client(reader, writer) as client:
            assert (await client.hear()).startswith(greeting)
            yield client

    def logged(self, event: str) -> list[dict[str, object]]:
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if line["event"] == event]


@contextlib.asynccontextmanager
async def listening(
    limits: Limits | None = None,
    settings: Listening = SETTINGS,
    lost_key_ids: frozenset[int] = frozenset(),
) -> AsyncIterator[House]:
    """A listener until the end of the block."""
    clock = SystemClock()
    log = io.StringIO()
    chronicle = Chronicle(Logbook(log, clock, LogLevel.DEBUG, LogFormat.JSON, {}), Throttle(clock))
    inbox = FakeInbox()
    refused: list[str] = []
    boxes = {box.id: box for box in (BOX, OTHER)}
    book = AddressBook(boxes, settings.domains, settings.postmaster, [KEY], lost_key_ids)
    parts = Parts(
        settings, book, inbox, inbox, clock, chronicle, refused.append, limits or Limits()
    )
    async with asyncio.TaskGroup() as group:
        listener = Listener(parts, group)
        await listener.start()
        try:
            yield House(listener, inbox, log, refused)
        finally:
            await listener.close()
            inbox.is_open.set()
            EAR.hear_log("a listener", log.getvalue())


async def until(is_so: object) -> None:
    """Wait until the function says yes."""
    assert callable(is_so)
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.005)
