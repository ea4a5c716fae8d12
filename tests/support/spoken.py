"""A session without a network: what a client says comes in these pieces, then it hangs up; and what came of it."""

import asyncio
import io
from collections.abc import Sequence
from dataclasses import dataclass

from postroom.core.inaddress import AddressBook
from postroom.inbound.door import Guest
from postroom.inbound.limits import Limits
from postroom.inbound.parts import Parts
from postroom.inbound.receiving import Receiver
from postroom.inbound.session import Session
from postroom.ops.chronicle import Chronicle
from postroom.ops.host import SystemClock
from postroom.ops.logbook import Logbook
from postroom.ops.logwords import LogFormat, LogLevel
from postroom.ops.throttle import Throttle
from support.inbox import FakeInbox
from support.listening import BOX, KEY, OTHER, SETTINGS


GUEST = Guest("192.0.2.1", "192.0.2.1", is_trusted=False, is_exempt=True)


@dataclass(frozen=True)
class Spoken:
    """The lines of the replies, the contents that were taken and what their clients called themselves, the log."""

    heard: list[str]
    arrivals: list[bytes]
    helos: list[str]
    log: str


class _Line(asyncio.Transport):
    """The server's end of a connection, in memory."""

    def __init__(self) -> None:
        super().__init__({"peername": (GUEST.ip, 25)})
        self.written = bytearray()
        self.over = asyncio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.over.is_set()

    def close(self) -> None:
        self.over.set()

    def abort(self) -> None:
        self.over.set()

    def pause_reading(self) -> None:
        """The reader's bound is kept by whoever feeds it."""

    def resume_reading(self) -> None:
        """The same."""


class _House:
    """session.House with one session in it."""

    def __init__(self, parts: Parts, group: asyncio.TaskGroup) -> None:
        self.parts = parts
        self.receiver = Receiver(parts, group)

    def asked_for_unknown(self, guest: Guest) -> bool:
        return False

    def left(self, session: Session) -> None:
        """Nobody waits for it."""


async def spoken(pieces: Sequence[bytes]) -> Spoken:
    """Say this, and hear what comes."""
    clock = SystemClock()
    log = io.StringIO()
    chronicle = Chronicle(Logbook(log, clock, LogLevel.DEBUG, LogFormat.JSON, {}), Throttle(clock))
    inbox = FakeInbox()
    boxes = {box.id: box for box in (BOX, OTHER)}
    book = AddressBook(boxes, SETTINGS.domains, SETTINGS.postmaster, [KEY])
    parts = Parts(SETTINGS, book, inbox, inbox, clock, chronicle, lambda reason: None, Limits())
    line = _Line()
    async with asyncio.TaskGroup() as group:
        session = Session(_House(parts, group), GUEST, None)
        session.connection_made(line)
        for piece in pieces:
            await _settled(line)
            if line.over.is_set():
                break
            session.data_received(piece)
        await _settled(line)
        session.eof_received()
        await _settled(line)
        session.connection_lost(None)
    heard = line.written.decode().split("\r\n")[:-1]
    contents = [inbox.content(at) for at in range(len(inbox.arrivals))]
    return Spoken(heard, contents, [one.helo for one in inbox.arrivals], log.getvalue())


async def _settled(line: _Line) -> None:
    """Wait until the session has nothing to do but to wait."""
    before = -1
    while before != len(line.written):
        before = len(line.written)
        for _ in range(12):
            await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0)
