"""Our end of a connection to a relay, once aiosmtplib has dialled it: an asyncio protocol.

Each reply belongs to the command that expects it. A reply that no command expects, and half a reply where none is due,
means that we and the relay have lost step (desync); then, as after a timeout or a malformed reply, nothing that comes
is believed any more and the connection is dropped. A 3yz reply (RFC 5321 §4.2.1) is followed by one more, that to what it
asks for: `final`. A connection that is lost answers every open question with a `Lost`; nothing here raises.
"""

import asyncio
import os
import ssl
from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from postroom.core.reply import SmtpReply
from postroom.outbound.replies import Malformed, ReplyReader


_BUFFERED: Final = 65_536  # bytes that may wait to be written before the writer does


class LossKind(StrEnum):
    """Why a connection is of no more use."""

    CLOSED = "closed"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    DESYNC = "desync"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection is of no more use; `detail` is one safe line."""

    kind: LossKind
    detail: str


Answer = SmtpReply | Lost


class Wire(asyncio.Protocol):
    """A connection that belongs to us alone. Give it a transport before anything else."""

    def __init__(self, transport: asyncio.Transport) -> None:
        """Take the transport over from whoever has it."""
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._reader = ReplyReader()
        self._expected: deque[asyncio.Future[Answer]] = deque()
        self._is_paused = False
        self._stirred: asyncio.Future[None] | None = None
        self._leave_timer: asyncio.TimerHandle | None = None
        self.final: asyncio.Future[Answer] | None = None
        self.lost: Lost | None = None
        self.closed: asyncio.Future[None] = self._loop.create_future()
        transport.set_protocol(self)
        transport.set_write_buffer_limits(_BUFFERED)

    @property
    def is_idle(self) -> bool:
        """Whether the connection is there and nothing is expected or half said."""
        return (
            self.lost is None
            and not self._transport.is_closing()
            and not self._expected
            and self._reader.is_between
        )

    @property
    def peer(self) -> str:
        """The relay's address."""
        name = self._transport.get_extra_info("peername")
        return f"{name[0]} port {name[1]}" if name else "an unknown address"

    @property
    def tls_version(self) -> str | None:
        """`TLSv1.3`; None on a clear connection."""
        tls = self._transport.get_extra_info("ssl_object")
        return tls.version() if tls is not None else None

    def ask(self, commands: bytes, count: int) -> list[asyncio.Future[Answer]]:
        """Write `count` commands at once; their answers to be, in order."""
        self.final = None
        answers: list[asyncio.Future[Answer]] = [self._loop.create_future() for _ in range(count)]
        if self.lost is None and self._transport.is_closing():
            self.fail(LossKind.CLOSED, "the connection is closed")
        if self.lost is not None:
            for answer in answers:
                answer.set_result(self.lost)
            return answers
        self._expected.extend(answers)
        self._transport.write(commands)
        return answers

    async def answer(self, awaited: asyncio.Future[Answer], within: timedelta) -> Answer:
        """The answer when it is there; a timeout drops the connection."""
        if awaited.done():
            return awaited.result()
        seconds = within.total_seconds()
        timer = self._loop.call_later(
            seconds, self.fail, LossKind.TIMEOUT, f"no reply within {seconds:g} s"
        )
        try:
            return await awaited
        finally:
            timer.cancel()

    def write(self, data: bytes | memoryview) -> bool:
        """Hand data to the transport; False when the connection is not there to take it."""
        if self.lost is None and self._transport.is_closing():
            self.fail(LossKind.CLOSED, "connection lost")
        if self.lost is not None:
            return False
        self._transport.write(data)
        return True

    async def drain(self, within: timedelta, *, is_full: bool = False) -> None:
        """Wait until the writer may go on (`is_full`: until nothing waits in our buffers), or a reply or a loss came.

        The loop goes round at least once, so that an early reply is seen. A timeout drops the connection.
        """
        if is_full:
            # Not 0: asyncio's TLS transport pauses at size >= limit, so an empty buffer would never resume.
            self._transport.set_write_buffer_limits(high=1, low=0)
        seconds = within.total_seconds()
        timer = self._loop.call_later(
            seconds, self.fail, LossKind.TIMEOUT, f"the relay took no content for {seconds:g} s"
        )
        try:
            await self._stir()
        finally:
            timer.cancel()
            if is_full and self.lost is None:
                self._transport.set_write_buffer_limits(_BUFFERED)

    def fail(self, kind: LossKind, detail: str) -> None:
        """Drop the connection at once and answer all that is open; the first reason stays."""
        if self.lost is not None:
            return
        self.lost = Lost(kind, detail)
        if self._leave_timer is None:
            self._transport.abort()
        self._give_up()

    def leave(self, within: timedelta) -> None:
        """Say QUIT and close when the relay answers or hangs up, or when the time is over; `closed` tells."""
        if self.lost is not None or self._transport.is_closing():
            self._transport.abort()
            return
        self._leave_timer = self._loop.call_later(within.total_seconds(), self._transport.abort)
        self.fail(LossKind.DROPPED, "we said QUIT")
        self._transport.write(b"QUIT\r\n")

    def data_received(self, data: bytes) -> None:
        if self.lost is not None:
            if self._leave_timer is not None:
                self._transport.abort()
            return
        for reply in self._reader.feed(data):
            if isinstance(reply, Malformed):
                self.fail(LossKind.MALFORMED, reply.detail)
            elif not self._expected:
                self.fail(LossKind.DESYNC, f"a reply that no command asked for: {reply.code}")
            else:
                self._deliver(reply)
        if not self._expected and not self._reader.is_between:
            self.fail(LossKind.DESYNC, "a reply that no command asked for")

    def eof_received(self) -> bool:
        self.fail(LossKind.CLOSED, "the relay closed the connection")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._leave_timer is not None:
            self._leave_timer.cancel()
        self.fail(LossKind.CLOSED, "connection lost" if exc is None else _describe(exc))
        if not self.closed.done():
            self.closed.set_result(None)

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._wake()

    def _deliver(self, reply: SmtpReply) -> None:
        awaited = self._expected.popleft()
        if 300 <= reply.code < 400:  # noqa: PLR2004  # an intermediate reply
            self.final = self._loop.create_future()
            self._expected.appendleft(self.final)
        if not awaited.done():
            awaited.set_result(reply)
        self._wake()

    def _give_up(self) -> None:
        lost = self.lost
        while self._expected and lost is not None:
            awaited = self._expected.popleft()
            if not awaited.done():  # whoever asked may have been cancelled
                awaited.set_result(lost)
        self._wake()

    async def _stir(self) -> None:
        self._stirred = self._loop.create_future()
        if not self._is_paused:
            self._loop.call_soon(self._wake)
        try:
            await self._stirred
        finally:
            self._stirred = None

    def _wake(self) -> None:
        if self._stirred is not None and not self._stirred.done():
            self._stirred.set_result(None)


def _describe(error: Exception) -> str:
    """A safe line about a transport's error."""
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError):
        return f"connection lost: {os.strerror(error.errno)}"
    return f"connection lost: {type(error).__name__}"
