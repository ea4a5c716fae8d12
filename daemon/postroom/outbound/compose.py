"""The bytes of a message: Date line, head and body put together, dot-stuffed for the wire or plain for people.

Pieces have at most 256 KiB and files are read and encoded in threads, one piece at a time, so memory stays flat; a
message without files is one piece and costs no thread. A file is hashed again while it is sent: what is not what the
job named is never followed by a final dot (CASES G20).
"""

import asyncio
import hashlib
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from typing import BinaryIO, Final

from postroom.core.body import Body, Encoding, FileSegment
from postroom.core.encodings import encode_base64
from postroom.core.message import date_line
from postroom.core.reason import ReasonCode
from postroom.ops.spool import PIECE_BYTES, Spool
from postroom.ops.threads import FileThreads
from postroom.outbound.shortage import check_shortage
from postroom.ports.desk import Reader
from postroom.ports.errors import ContentFault
from postroom.ports.host import Clock


# 57 octets make a line of 78 (RFC 2045 §6.8): whole lines, and a piece of 249,600.
_ENCODED_AT_ONCE: Final = 57 * 3200


class SpoolComposer:
    """Composer over the spool and pinned files."""

    def __init__(self, spool: Spool, threads: FileThreads) -> None:
        self._spool = spool
        self._threads = threads

    async def check_pins(self, body: Body) -> ReasonCode | None:
        """Why a file of this body can not be sent, before the relay is dialled; None = all are well.

        Pinned files are read whole; of those in the spool only name and size are looked at.

        Raises: StoreUnavailable when this host is too short of something to look.
        """
        files = [one for one in body.segments if isinstance(one, FileSegment)]
        if not files:
            return None
        slowest = max(files, key=lambda one: one.encoding is Encoding.BASE64)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads.of(slowest), self._find_fault, files)

    def content(
        self, date_line: bytes, head: bytes, body: Body
    ) -> Callable[[], AsyncIterator[bytes]]:
        """The message in wire pieces, dot-stuffed, ending in CRLF; may be asked for again.

        The pieces raise ContentFault where a file is gone or another one, and StoreUnavailable as `check_pins` does.
        """

        async def stuffed() -> AsyncIterator[bytes]:
            stuffer = DotStuffer()
            async for plain in self.pieces(date_line + head, body):
                for piece in _cut(stuffer.stuff(plain)):
                    yield piece

        return stuffed

    async def pieces(self, start: bytes, body: Body) -> AsyncIterator[bytes]:
        """`start` and the body as they are, in pieces. Raises: ContentFault."""
        loop = asyncio.get_running_loop()
        waiting = start
        for segment in body.segments:
            if isinstance(segment, bytes):
                waiting += segment
                continue
            for piece in _cut(waiting):
                yield piece
            waiting = b""
            reading, threads = self._read(segment), self._threads.of(segment)
            while piece := await loop.run_in_executor(threads, next, reading, b""):
                yield piece
        for piece in _cut(waiting):
            yield piece

    def _find_fault(self, files: list[FileSegment]) -> ReasonCode | None:
        for segment in files:
            try:
                if segment.path is not None:
                    for _ in self._read(segment):
                        pass
                    continue
                with self._open(segment) as file:
                    size_bytes = os.fstat(file.fileno()).st_size
            except ContentFault as fault:
                return fault.reason
            if size_bytes != segment.size_bytes:
                return ReasonCode.ATTACHMENT_MISSING
        return None

    def _read(self, segment: FileSegment) -> Iterator[bytes]:
        """The file as it goes into the message. Blocks. Raises: ContentFault."""
        is_encoded = segment.encoding is Encoding.BASE64
        digest = hashlib.sha256()
        try:
            with self._open(segment) as file:
                while piece := file.read(_ENCODED_AT_ONCE if is_encoded else PIECE_BYTES):
                    digest.update(piece)
                    yield encode_base64(piece) if is_encoded else piece
        except OSError as error:
            check_shortage(error)
            raise ContentFault(ReasonCode.ATTACHMENT_MISSING, _named(segment)) from error
        if digest.hexdigest() != segment.sha256:
            raise ContentFault(_other(segment), _named(segment))

    def _open(self, segment: FileSegment) -> BinaryIO:
        path = self._spool.path(segment.sha256) if segment.path is None else segment.path
        try:
            number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            check_shortage(error)
            raise ContentFault(ReasonCode.ATTACHMENT_MISSING, _named(segment)) from error
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise ContentFault(_other(segment), _named(segment))
        return os.fdopen(number, "rb")


class StoredMessages:
    """The messages of stored deliveries (ports.loop.Messages)."""

    def __init__(self, reader: Reader, composer: SpoolComposer, clock: Clock) -> None:
        self._reader = reader
        self._composer = composer
        self._clock = clock

    async def find_message(self, number: int) -> AsyncIterator[bytes] | None:
        """The bytes of a delivery, dots not stuffed; None when they, or a file among them, are gone.

        Before its first attempt a message has no Date: the present stands for it.
        """
        raw = await self._reader.find_raw(number)
        body = None if raw is None else await self._reader.find_body(raw.body_number)
        if raw is None or body is None or await self._composer.check_pins(body) is not None:
            return None
        at = self._clock.now() if raw.date_at is None else raw.date_at
        return self._composer.pieces(date_line(at) + raw.head, body)


class DotStuffer:
    """Doubles every dot that begins a line (RFC 5321 §4.5.2), whatever the pieces are cut like."""

    def __init__(self) -> None:
        self._is_line_start = True

    def stuff(self, piece: bytes) -> bytes:
        """The next piece, stuffed."""
        stuffed = piece.replace(b"\n.", b"\n..")
        if self._is_line_start and piece.startswith(b"."):
            stuffed = b"." + stuffed
        self._is_line_start = piece.endswith(b"\n") if piece else self._is_line_start
        return stuffed


def _cut(content: bytes) -> Iterator[bytes]:
    if len(content) <= PIECE_BYTES:
        if content:
            yield content
        return
    for at in range(0, len(content), PIECE_BYTES):
        yield content[at : at + PIECE_BYTES]


def _other(segment: FileSegment) -> ReasonCode:
    """What it is called that a file has other bytes: only its owner may change a file, in the spool it is damage."""
    if segment.path is None:
        return ReasonCode.ATTACHMENT_MISSING
    return ReasonCode.ATTACHMENT_CHANGED


def _named(segment: FileSegment) -> str:
    return f"the file with the digest {segment.sha256[:12]} is not what the job named"
