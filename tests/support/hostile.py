"""Clients that mean no good, over a bare connection, and the daemon that they visit.

Each function of a client comes back with what it heard in the end.

async with rude("unix", path) as client:
    assert await client.drip(b"GET ") == b""
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path

from postroom.selftest.nursery import Nursery
from support.clock import breathe
from support.house import House, house_in
from support.inward import SUPPORT, came_in, free_port, listening_at, mail, mail_to
from support.relay import ScriptedRelay


PATIENCE = 10.0  # seconds in which the daemon must have had enough
DRIP_S = 0.03


@dataclass
class Rude:
    """A connection without manners."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def say(self, content: bytes) -> None:
        """Write it, whoever listens."""
        with contextlib.suppress(OSError):
            self.writer.write(content)
            await self.writer.drain()

    async def hear(self, end: bytes) -> bytes:
        """As far as this."""
        async with asyncio.timeout(PATIENCE):
            return await self.reader.readuntil(end)

    async def talk(self, *said: bytes) -> None:
        """Hear a greeting, and say these lines of SMTP, each once the one before has its answer."""
        for line in (b"", *b"".join(said).splitlines(keepends=True)):
            await self.say(line)
            await self.hear(b"\r\n")

    async def status(self) -> bytes:
        """The status of an answer over HTTP; nothing where there is none."""
        try:
            return (await self.hear(b"\r\n")).split()[1]
        except (OSError, asyncio.IncompleteReadError):
            return b""

    async def rest(self) -> bytes:
        """All that is said until it is hung up on."""
        heard = b""
        async with asyncio.timeout(PATIENCE):
            with contextlib.suppress(OSError):
                while piece := await self.reader.read(1 << 16):
                    heard += piece
        return heard

    async def drip(self, letters: bytes = b"x") -> bytes:
        """One byte now and then until it is hung up on; what it heard."""
        return await self._write_on(([one] for one in itertools.cycle(letters)), DRIP_S)

    async def flood(self, piece: bytes) -> bytes:
        """The same piece without end until it is hung up on; what it heard."""
        return await self._write_on(itertools.repeat(piece), 0)

    async def refuse_to_read(self, question: bytes) -> None:
        """Ask again and again, read nothing, and wait until that was enough."""
        self.reader._limit = 1  # type: ignore[attr-defined]
        async with asyncio.timeout(PATIENCE):
            with contextlib.suppress(OSError):
                while True:
                    self.writer.write(question * 50)
                    await self.writer.drain()
                    await breathe()

    async def _write_on(self, pieces: Iterable[bytes | list[int]], pause_s: float) -> bytes:
        hearing = asyncio.get_running_loop().create_task(self.rest())
        for piece in pieces:
            await self.say(bytes(piece))
            await asyncio.wait([hearing], timeout=pause_s)
            if hearing.done():
                break
        return await hearing


@contextlib.asynccontextmanager
async def rude(*where: str | int) -> AsyncIterator[Rude]:
    """A connection to a path, or to a host and port."""
    match where:
        case (str() as path,):
            reader, writer = await asyncio.open_unix_connection(path, limit=1 << 20)
        case _:
            reader, writer = await asyncio.open_connection(*where, limit=1 << 20)
    try:
        yield Rude(reader, writer)
    finally:
        writer.transport.abort()


@dataclass
class Scene:
    """A daemon with both sockets, and how many descriptors it had when it had nothing to do."""

    house: House
    relay: ScriptedRelay
    port: int
    pid: int
    descriptors: int = 0

    def count(self) -> int:
        """What is open; connections to the relay may stay so."""
        kept = sum(one.is_open for one in self.relay.connections)
        return sum(1 for _ in Path(f"/proc/{self.pid}/fd").iterdir()) - kept

    def resident(self) -> int:
        """Bytes of memory."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * 4096

    async def honest(self, who: str) -> None:
        """A job goes in, and out."""
        job = await self.house.post(to=[who])
        assert await self.house.settled(job["id"]) == {who: "sent"}
        assert self.relay.copies(who) == 1

    async def is_as_before(self) -> None:
        """Nothing is held for anybody who is gone."""
        await self.house.until(lambda: self.count() <= self.descriptors)
        assert "request.failed" not in self.house.log


@contextlib.asynccontextmanager
async def scene(tmp_path: Path, nursery: Nursery, **more: object) -> AsyncIterator[Scene]:
    port = free_port()
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery, more=listening_at(port)) as house,
    ):
        pid = await house.start(**more)
        made = Scene(house, relay, port, pid)
        await made.honest("before@one.example")
        await mail_to(port, mail("Before.", Subject="Hi"), SUPPORT)
        await came_in(house)
        made.descriptors = made.count()
        yield made
