"""From 354 to the answer: the content comes in, is kept, and is ours when the store says so.

Rules: 250 comes after the commit and never before (CONTRACT §6.1). What goes on here ends by itself, whatever becomes
of the client: one that hangs up behind its final dot is stored once, one that hangs up before it leaves nothing.
Trouble of ours is 451 or 452; the content is read to its end first, so that the client hears it.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from postroom.core.instant import SECOND
from postroom.inbound.content import BARE_NEWLINE, ContentFault, ContentReader
from postroom.inbound.limits import IN_ROW_BYTES
from postroom.inbound.parts import Parts
from postroom.inbound.words import Reply
from postroom.ports.arriving import Arrival, ArrivalRecipient, RawFile
from postroom.ports.errors import StorageFull, StoreError


_ALL: Final = 1 << 24  # more than a StreamReader ever holds: what is read is all of it
_PIECE_LEAST: Final = 64 * 1024
_PIECE_MOST: Final = 256 * 1024
# Of all messages together, while that leaves the least for each.
_HELD_BYTES: Final = 4 * 1024 * 1024
_OVER: Final = (
    1.1  # so much too large is read to its end, for the client to hear why; beyond it we hang up
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What was said before DATA."""

    sender: str
    recipients: tuple[ArrivalRecipient, ...]
    client_ip: str
    helo: str
    is_tls: bool
    is_trusted: bool
    relay_ip: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What to say, and whether to hang up then. `is_taken`: the mail is ours."""

    words: str
    hangs_up: bool = False
    is_taken: bool = False


class HungUp(Exception):
    """The client went away in the middle of the content."""


class _Cut(Exception):
    """The client has to go now."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self.reply = reply


class Receiver:
    """Receives messages; `under_way` says how many right now."""

    def __init__(self, parts: Parts, group: asyncio.TaskGroup) -> None:
        self.under_way = 0
        self._parts = parts
        self._chronicle = parts.chronicle
        self._group = group
        self._storing = asyncio.Semaphore(parts.limits.storing)

    def switch(self, parts: Parts) -> None:
        """Go by these from the next message on."""
        self._parts = parts

    async def receive(self, reader: asyncio.StreamReader, envelope: Envelope) -> Answer:
        """What to answer to the content that comes now. Raises: HungUp. Cancelling it stops nothing."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        work = self._work(_Content(reader, self._parts), envelope, answer)
        try:
            self._group.create_task(work)
        except RuntimeError:  # the daemon ends; what comes now must not be read as commands
            work.close()
            return Answer(Reply.STOPPING, hangs_up=True)
        return await answer

    async def _work(
        self, content: "_Content", envelope: Envelope, answer: asyncio.Future[Answer]
    ) -> None:
        self.under_way += 1
        try:
            value = await self._answer(content, envelope)
        except HungUp as gone:
            if not answer.done():
                answer.set_exception(gone)
        else:
            if not answer.done():
                answer.set_result(value)
        finally:
            self.under_way -= 1

    async def _answer(self, content: "_Content", envelope: Envelope) -> Answer:
        """Every end that a message can come to, but that of the client."""
        try:
            return await self._store(content, envelope)
        except _Cut as cut:
            self._chronicle.client_refused(envelope.client_ip, cut.reply)
            return Answer(cut.reply, hangs_up=True)
        except StoreError as refused:
            self._chronicle.store_refused(refused)
            is_full = isinstance(refused, StorageFull)
            return await self._after_end(
                content, Reply.STORAGE_FULL if is_full else Reply.LOCAL_TROUBLE
            )
        except HungUp:
            raise
        except Exception as fault:  # noqa: BLE001 - a bug of ours must be 451, never 5yz and never silence
            self._chronicle.request_failed("DATA", fault)
            return await self._after_end(content, Reply.LOCAL_TROUBLE)

    async def _store(self, content: "_Content", envelope: Envelope) -> Answer:
        clock = self._parts.clock
        began = clock.monotonic()
        raw = await self._keep(content)
        if (refused := content.refused) is not None:
            self._chronicle.client_refused(envelope.client_ip, refused)
            return Answer(refused)
        arrival = Arrival(
            at=clock.now(),
            sender=envelope.sender,
            recipients=envelope.recipients,
            client_ip=envelope.client_ip,
            helo=envelope.helo,
            is_tls=envelope.is_tls,
            is_trusted=envelope.is_trusted,
            raw=raw,
            defects=content.defects,
            relay_ip=envelope.relay_ip,
        )
        async with self._storing:
            number = await self._parts.inbox.receive(arrival)
        took = timedelta(microseconds=clock.monotonic() - began)
        self._chronicle.mail_received(number, arrival, content.size_bytes, took)
        return Answer(f"250 2.0.0 Ok: received as {number}", is_taken=True)

    async def _keep(self, content: "_Content") -> bytes | RawFile:
        """The content, in memory while it is small; of one that is refused something, and nothing in the spool."""
        held: list[bytes] = []
        if not await _gather(content, held, IN_ROW_BYTES):
            return _taken(held)
        coming = self._parts.raws.incoming()
        try:
            while await _gather(content, held, self._piece_bytes()):
                await coming.add(_taken(held))
            return _taken(held) if content.refused else await coming.keep(_taken(held))
        finally:
            await coming.drop()

    def _piece_bytes(self) -> int:
        """How much of a message is held before it is written: what is few writes for one is much memory for many."""
        return max(_PIECE_LEAST, min(_PIECE_MOST, _HELD_BYTES // self.under_way))

    async def _after_end(self, content: "_Content", reply: Reply) -> Answer:
        """The reply, once the client has said all, or that it has to go."""
        try:
            await content.read_off()
        except _Cut as cut:
            return Answer(cut.reply, hangs_up=True)
        return Answer(reply)


async def _gather(content: "_Content", held: list[bytes], most: int) -> bool:
    """Put what comes there until it is more than `most` bytes; False = the content is over. Raises: HungUp, _Cut."""
    size = sum(map(len, held))
    while size <= most:
        piece = await content.next()
        if piece is None:
            return False
        held.append(piece)
        size += len(piece)
    return True


def _taken(held: list[bytes]) -> bytes:
    """All that is held, and nothing is held any more: two hundred clients may stand here, each with half a megabyte."""
    whole = b"".join(held)
    held.clear()
    return whole


class _Content:
    """The content as it comes in, with its deadlines: `data_s`, a second more for each `data_rate` bytes, `data_total_s`."""

    def __init__(self, reader: asyncio.StreamReader, parts: Parts) -> None:
        limits, most_bytes = parts.limits, parts.settings.max_message_bytes
        self._reader = reader
        self._clock = parts.clock
        self._limits = limits
        self._most_raw = int(most_bytes * _OVER) + limits.line_bytes
        self._raw_bytes = 0
        self._began = parts.clock.monotonic()
        self._content = ContentReader(most_bytes, limits.line_bytes, limits.hops)

    @property
    def refused(self) -> Reply | None:
        """Why it is not taken; certain once it is over."""
        match self._content.fault:
            case None:
                return None
            case ContentFault.LINE_LONG:
                return Reply.LINE_LONG
            case ContentFault.TOO_BIG:
                return Reply.TOO_BIG
            case ContentFault.LOOP:
                return Reply.LOOP

    @property
    def defects(self) -> tuple[str, ...]:
        """What was mended."""
        return (BARE_NEWLINE,) if self._content.has_bare_newline else ()

    @property
    def size_bytes(self) -> int:
        """How large it is so far."""
        return self._content.size_bytes

    async def next(self) -> bytes | None:
        """More of it; None = it is over. Raises: HungUp, _Cut."""
        while not self._content.has_ended():
            content = self._content.feed(await self._read())
            if self._content.has_ended():
                self._put_back()
            elif self._raw_bytes > self._most_raw:
                raise _Cut(Reply.TOO_BIG)
            if content:
                return content
        return None

    async def read_off(self) -> None:
        """Wait for its end. Raises: HungUp, _Cut."""
        while not self._content.has_ended():
            await self.next()

    async def _read(self) -> bytes:
        limits = self._limits
        allowed = min(limits.data_total_s, limits.data_s + self._raw_bytes / limits.data_rate)
        left = allowed - (self._clock.monotonic() - self._began) / SECOND
        try:
            async with asyncio.timeout(max(0.0, left)):
                arrived = await self._reader.read(_ALL)
        except TimeoutError:
            raise _Cut(Reply.SLOW) from None
        except ConnectionError as error:
            raise HungUp from error
        if not arrived:
            raise HungUp
        self._raw_bytes += len(arrived)
        return arrived

    def _put_back(self) -> None:
        """What came behind the end is the next command; the reader is empty, so it comes first."""
        if self._content.rest and not self._reader.at_eof():
            self._reader.feed_data(self._content.rest)
