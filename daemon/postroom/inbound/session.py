"""One SMTP session with a client, over aiosmtpd: its door.

aiosmtpd gives the protocol, its transport and STARTTLS. The command loop is ours, since what it would do by itself is
wrong for mail that must not be lost (HAZARDS §3): permanent replies to faults of ours with their text, no bound on
content, errors or recipients, commands cut off in the middle by a hang-up. RFC 5321, 3207, 1870, 6152, 6531.
Known limits: VRFY, EXPN, HELP, AUTH, PIPELINING and DSN parameters are not offered.
"""

import asyncio
import contextlib
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import AnyStr, Final, Protocol, cast

from aiosmtpd.smtp import SMTP, TLSSetupException

from postroom.inbound import forwarded
from postroom.inbound.door import Guest
from postroom.inbound.parts import Parts
from postroom.inbound.receiving import HungUp, Receiver
from postroom.inbound.transaction import Transaction
from postroom.inbound.turns import Turns
from postroom.inbound.words import NOT_OFFERED, OK, OTHER_PROTOCOLS, Reply


_LINGER_S: Final = 5.0  # for the last words to get through to a client that does not read


class House(Protocol):
    """Who runs the sessions."""

    parts: Parts
    receiver: Receiver

    def asked_for_unknown(self, guest: Guest) -> bool:
        """Note it; whether the answer is to be slow."""
        ...

    def left(self, session: "Session") -> None:
        """It is over; said once."""
        ...


class _Over(Exception):
    """The session ends now."""


class Session(SMTP):
    """Speaks with one client."""

    def __init__(self, house: House, guest: Guest, context: ssl.SSLContext | None) -> None:
        settings, limits = house.parts.settings, house.parts.limits
        self.line_length_limit = limits.line_bytes
        self.command_size_limits = {}  # aiosmtpd shares one among all sessions
        super().__init__(
            None,
            hostname=settings.hostname,
            ident="ESMTP",
            data_size_limit=settings.max_message_bytes,
            enable_SMTPUTF8=True,
            tls_context=context,
            timeout=limits.session_s,
            loop=asyncio.get_running_loop(),
        )
        self.guest = guest
        self._house = house
        self._limits = limits
        self._transaction = Transaction(house.parts)
        self._commands: dict[str, Callable[[str | None], Awaitable[str]]] = {
            "HELO": self._hello,
            "EHLO": self._hello_extended,
            "STARTTLS": self._start_tls,
            "MAIL": self._mail,
            "RCPT": self._rcpt,
            "DATA": self._data,
            "RSET": self._reset,
            "NOOP": self._nothing,
            "XFORWARD": self._forward,
            "QUIT": self._quit,
        }
        self._calls: Counter[str] = Counter()
        self._errors = 0
        self.turns = Turns(house.parts.clock)
        self._is_receiving = False
        self._is_stopping = False
        self._is_gone = False

    def stop(self) -> None:
        """Say that we stop, and hang up; when a message is coming in, after it."""
        self._is_stopping = True
        if not self._is_receiving:
            self.end(Reply.STOPPING)

    def end(self, last: Reply) -> None:
        """Say so, and hang up."""
        transport = self._transports()[0]
        if transport is not None:
            transport.write(f"{last}\r\n".encode())
            self._hang_up()

    def abort(self) -> None:
        """Hang up at once."""
        for transport in self._transports():
            if transport is not None:
                transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """As aiosmtpd does, but once; then the house may forget it."""
        if self._is_gone:
            return
        self._is_gone = True
        super().connection_lost(error)
        self._house.left(self)

    def eof_received(self) -> bool | None:
        """The client has said all: it is still answered where TLS allows (aiosmtpd would cut us off, HAZARDS S12)."""
        stays_open = super(SMTP, self).eof_received()
        return stays_open and not self._has_tls()

    def _timeout_cb(self) -> None:
        """The longest that a session may last; aiosmtpd's own fails in the middle of a handshake."""
        self.abort()

    async def push(self, status: AnyStr) -> None:
        """Say it, within the time of a command. Raises: TimeoutError, ConnectionError."""
        if isinstance(status, Reply) and status.refusal:
            self._house.parts.refused(status.refusal)
        async with asyncio.timeout(self._limits.command_s):
            await super().push(status)

    async def _handle_client(self) -> None:
        try:
            await self.push(f"220 {self.hostname} ESMTP")
            while True:
                await self._turn()
        except (_Over, HungUp, ConnectionError, asyncio.IncompleteReadError):
            self._hang_up()
        except TimeoutError:  # it does not read what we say
            self.abort()

    async def _turn(self) -> None:
        """One command and its answer."""
        try:
            line = await self._read_line()
            words = await self._answer(line)
        except (_Over, HungUp, OSError, EOFError):
            raise
        except Exception as fault:  # noqa: BLE001 - a bug of ours must be 451, never 5yz with its text (HAZARDS S11)
            self._house.parts.chronicle.request_failed("SMTP", fault)
            self._transaction.forget()
            words = Reply.LOCAL_TROUBLE
        await self._say(words)

    async def _read_line(self) -> bytes:
        try:
            async with asyncio.timeout(self._limits.command_s):
                line = await self.turns.wait_for(self._reader.readuntil(b"\n"))
        except TimeoutError:
            return await self._leave(Reply.IDLE)
        except asyncio.LimitOverrunError:
            return await self._leave(Reply.LINE_ENDLESS)
        if len(line) > self._limits.command_hard_bytes:
            return await self._leave(Reply.LINE_ENDLESS)
        return line

    async def _answer(self, line: bytes) -> str:
        """What to say to this line. Raises: _Over."""
        text = line.rstrip(b"\r\n").decode("utf-8", "surrogateescape")
        verb, _, argument = text.partition(" ")
        verb = verb.upper()
        if not verb.isascii() or not verb[:1].isalpha() or verb in OTHER_PROTOCOLS:
            self._house.parts.refused("another_protocol")
            self._house.parts.chronicle.client_refused(self.guest.ip, "another protocol")
            raise _Over
        if len(line) > self._limits.command_bytes:
            return Reply.COMMAND_LONG
        if not line.endswith(b"\r\n") or b"\r" in line[: -len(b"\r\n")]:
            self._house.parts.chronicle.client_refused(self.guest.ip, "bare_newline_command")
            return Reply.BARE_LF
        command = self._commands.get(verb)
        if command is None:
            return Reply.NOT_OFFERED if verb in NOT_OFFERED else Reply.BAD_COMMAND
        self._calls[verb] += 1
        most = self._limits.calls.get(verb, self._limits.calls_other)
        if self._calls[verb] > most and not self.guest.is_trusted:
            await self._leave(Reply.TOO_MANY_COMMANDS)
        return await command(argument.strip() or None)

    async def _hello(self, argument: str | None) -> str:
        if argument is None:
            return Reply.BAD_ARGUMENT
        self._transaction.greet(argument)
        return f"250 {self.hostname}"

    async def _hello_extended(self, argument: str | None) -> str:
        if argument is None:
            return Reply.BAD_ARGUMENT
        self._transaction.greet(argument)
        has_tls = self.tls_context is not None and not self._has_tls()
        offered = ["STARTTLS"] if has_tls else []
        offered += [forwarded.OFFER] if self.guest.is_trusted else []
        lines = [self.hostname, f"SIZE {self.data_size_limit}", "8BITMIME", *offered]
        return "\r\n".join([*(f"250-{line}" for line in lines), "250 SMTPUTF8"])

    async def _start_tls(self, argument: str | None) -> str:
        if argument is not None:
            return Reply.BAD_ARGUMENT
        if self._has_tls():
            return Reply.TLS_TWICE
        if self.tls_context is None:
            return Reply.NO_TLS
        self._transaction = Transaction(self._house.parts)  # RFC 3207 §4.2: forget what was said
        with contextlib.suppress(TLSSetupException):
            await self.turns.wait_for(self.smtp_STARTTLS(""))
        if (
            not self._has_tls()
        ):  # nobody tells the protocol that the connection ended in the handshake
            self.abort()
            self.connection_lost(None)
            raise _Over
        return ""

    async def _mail(self, argument: str | None) -> str:
        return self._transaction.mail(argument)

    async def _rcpt(self, argument: str | None) -> str:
        reply = self._transaction.rcpt(argument)
        is_unknown = reply in {Reply.UNKNOWN, Reply.FOREIGN}
        if is_unknown and self._house.asked_for_unknown(self.guest):
            await self._house.parts.clock.sleep(self._limits.tarpit_s)
        return reply

    async def _data(self, argument: str | None) -> str:
        said = self._transaction
        refused = said.refuse_data(argument)
        if refused is not None:
            return refused
        envelope = said.envelope(self.guest, is_tls=self._has_tls())
        self._is_receiving = True
        try:
            await self.push(Reply.GO_AHEAD)
            answer = await self._house.receiver.receive(self._reader, envelope)
        finally:
            self._is_receiving = False
            self.turns.step()
        said.forget()
        if answer.is_taken:
            self._calls.clear()
        if answer.hangs_up:
            await self.push(answer.words)
            raise _Over
        return answer.words

    async def _forward(self, argument: str | None) -> str:
        return self._transaction.forward(argument) if self.guest.is_trusted else Reply.NOT_OFFERED

    async def _reset(self, argument: str | None) -> str:
        if argument is not None:
            return Reply.BAD_ARGUMENT
        self._transaction.forget()
        return OK

    async def _nothing(self, argument: str | None) -> str:
        return OK

    async def _quit(self, argument: str | None) -> str:
        await self.push(Reply.BYE)
        raise _Over

    async def _say(self, words: str) -> None:
        """Answer; after so many errors, or when we stop, these are the last words but one."""
        # an unknown recipient is slowed down, not counted: the mail may be for others of ours as well
        self._errors += words.startswith("5") and words != Reply.UNKNOWN
        if self._errors >= self._limits.errors and not self.guest.is_trusted:
            await self._leave(Reply.TOO_MANY_ERRORS)
        self.turns.answered(words)
        if words:
            await self.push(words)
        if self._is_stopping:
            await self._leave(Reply.STOPPING)

    async def _leave(self, reply: Reply) -> bytes:
        """Say why, and end the session. Raises: _Over, always."""
        self._house.parts.chronicle.client_refused(self.guest.ip, reply)
        await self.push(reply)
        raise _Over

    def _transports(self) -> tuple[asyncio.Transport | None, ...]:
        """What is spoken over, and what lies below it once there is TLS; those of other loops than asyncio's derive from nothing of asyncio's."""
        both = (self.transport, self._original_transport)
        return tuple(cast("asyncio.Transport | None", one) for one in both)

    def _has_tls(self) -> bool:
        return self.session is not None and self.session.ssl is not None

    def _hang_up(self) -> None:
        if self.transport is not None:
            self.transport.close()
            self.loop.call_later(_LINGER_S, self.abort)
