"""A scripted SMTP server on loopback: the relay of our tests.

    async with ScriptedRelay() as relay:
        relay.on("rcpt", Reply("550 5.1.1 no such user"), recipient="gone@example.com")
        relay.on("dot", Drop(), times=1)
        ...                                     # send through 127.0.0.1:relay.port
        await relay.until(lambda: relay.copies("a@example.com") == 1)

It runs in the loop of the test, on a port chosen by the kernel, and ends with its `async with`, whatever is held.
Without a script it takes every mail. Stages: connect ehlo helo starttls auth mail rcpt data body dot rset quit.

`on(stage, *actions, recipient=None, times=None)` replaces what the server would say at that stage: the actions are
done one after another. The first rule that fits is taken; `times` is how often it may be, None = always.
Actions:
    Reply("250-one", "250 two")   lines, CRLF is added; what the stage means is done when the last one begins with 2 or 3
    Raw(b"25O ok\\r\\n")            bytes as they are; the stage is done as if the reply were good
    Drop(is_reset=False)          close the connection now (with a RST)
    Delay(0.2)                    wait (on the relay's own end, never longer than it lives)
    Hold()                        wait until `release()`; the object is the caller's
    Default()                     what the server would have said
At `connect` the actions take the place of the greeting. At `body` they are done once `after_bytes` bytes of the content
have come (0 = at once after 354), then the content is read on. At `data` a Reply that begins with 3 reads content.

What there is to look at: `connections` (each with `commands`, `received` = every byte that came, `is_tls`, `username`,
`is_open`) and `transactions` (each with sender, recipients, parameters, content without dot-stuffing, `is_whole`, the
reply to its dot). `copies(recipient)` counts whole messages answered 2xx or never answered: what the recipient may get.
"""

import asyncio
import base64
import contextlib
import hmac
import socket
import ssl
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


EXTENSIONS = (
    "PIPELINING",
    "SIZE 26214400",
    "8BITMIME",
    "SMTPUTF8",
    "DSN",
    "ENHANCEDSTATUSCODES",
)


class Reply:
    """Lines of a reply."""

    def __init__(self, *lines: str) -> None:
        self.wire = "".join(f"{line}\r\n" for line in lines).encode()
        self.is_good = lines[-1][:1] in "23"


class Raw:
    """Bytes as they are; `is_good` = the stage counts as done."""

    def __init__(self, wire: bytes, *, is_good: bool = True) -> None:
        self.wire = wire
        self.is_good = is_good


@dataclass(frozen=True)
class Drop:
    """Close the connection."""

    is_reset: bool = False


@dataclass(frozen=True)
class Delay:
    """Wait for so many seconds."""

    seconds: float


class Hold:
    """Wait until somebody calls `release()`."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.is_reached = False

    def release(self) -> None:
        self.event.set()


@dataclass(frozen=True)
class Default:
    """What the server would have said."""


Action = Reply | Raw | Drop | Delay | Hold | Default


@dataclass
class Connection:
    """One connection, as the server saw it."""

    number: int
    received: bytearray = field(default_factory=bytearray)
    commands: list[str] = field(default_factory=list)
    is_tls: bool = False
    is_open: bool = True
    username: str | None = None
    hello: str = ""


@dataclass
class Transaction:
    """One MAIL and what followed it."""

    connection: Connection
    sender: str
    mail_parameters: list[str]
    recipients: list[str] = field(default_factory=list)
    rcpt_parameters: list[str] = field(default_factory=list)
    content: bytes | None = None
    is_whole: bool = False
    reply: bytes | None = None

    @property
    def may_be_delivered(self) -> bool:
        return (
            self.is_whole
            and bool(self.recipients)
            and (self.reply is None or self.reply[:1] == b"2")
        )


@dataclass
class _Rule:
    actions: tuple[Action, ...]
    recipient: str | None
    left: float
    after_bytes: int


class _Gone(Exception):
    """The connection was dropped by the script."""


class ScriptedRelay:
    """The server. `tls` is needed for STARTTLS to be offered, `is_implicit` speaks TLS from the start."""

    def __init__(
        self,
        *,
        extensions: tuple[str, ...] = EXTENSIONS,
        has_ehlo: bool = True,
        tls: ssl.SSLContext | None = None,
        is_implicit: bool = False,
        credentials: tuple[str, str] | None = None,
        auth: tuple[str, ...] = ("PLAIN", "LOGIN"),
        receive_buffer: int | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.extensions = extensions
        self.has_ehlo = has_ehlo
        self.tls = tls
        self.is_implicit = is_implicit
        self.credentials = credentials
        self.auth = auth
        self.host = host
        self.port = 0
        self.connections: list[Connection] = []
        self.transactions: list[Transaction] = []
        self._rules: dict[str, list[_Rule]] = {}
        self._receive_buffer = receive_buffer
        self._server: asyncio.Server | None = None
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()
        self._handlers: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # the protocol by name: asyncio turns Nagle off only where it sees TCP
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self._receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer)
        sock.bind((self.host, self.port))
        self.port = sock.getsockname()[1]
        self._server = await asyncio.start_server(
            self._serve, sock=sock, ssl=self.tls if self.is_implicit else None, limit=1 << 16
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        if self._server is not None:
            self._server.close()
        for handler in tuple(self._handlers):
            handler.cancel()
        if self._handlers:
            await asyncio.wait(tuple(self._handlers), timeout=2)

    def on(
        self,
        stage: str,
        *actions: Action,
        recipient: str | None = None,
        times: int | None = None,
        after_bytes: int = 0,
    ) -> None:
        """From now on do these actions at this stage."""
        left = float("inf") if times is None else times
        self._rules.setdefault(stage, []).append(_Rule(actions, recipient, left, after_bytes))

    def clear(self) -> None:
        """Forget the script."""
        self._rules.clear()

    def copies(self, recipient: str) -> int:
        """How many copies this recipient may get."""
        return sum(recipient in t.recipients and t.may_be_delivered for t in self.transactions)

    async def until(self, condition: Callable[[], bool], timeout_s: float = 5) -> None:
        """Wait until something that came made this true. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def changed(self) -> None:
        """Wake who waits in `until`."""
        self._changed.set()

    def take(self, stage: str, recipients: list[str]) -> _Rule | None:
        """The rule for this stage, one of its times used up."""
        for rule in self._rules.get(stage, ()):
            if rule.left > 0 and (rule.recipient is None or rule.recipient in recipients):
                rule.left -= 1
                return rule
        return None

    async def wait(self, event: asyncio.Event, seconds: float | None) -> None:
        """Wait for the event, but never beyond the relay's own end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()

    async def pause(self, seconds: float) -> None:
        """Let time pass."""
        await self.wait(self._stopping, seconds)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._handlers.add(task)
            task.add_done_callback(self._handlers.discard)
        connection = Connection(len(self.connections) + 1, is_tls=self.is_implicit)
        self.connections.append(connection)
        self.changed()
        try:
            await _Talk(self, connection, reader, writer).run()
        except (_Gone, OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            connection.is_open = False
            self.changed()
            writer.transport.abort()


class _Talk:
    """The server's side of one connection."""

    def __init__(
        self,
        relay: ScriptedRelay,
        connection: Connection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._relay = relay
        self._connection = connection
        self._reader = reader
        self._writer = writer
        self._mail: Transaction | None = None
        self._recipient = ""

    async def run(self) -> None:
        await self._say("connect", "220 relay.test ESMTP")
        is_open = True
        while is_open:
            line = await self._read_line()
            self._connection.commands.append(line)
            self._relay.changed()
            verb, _, rest = line.partition(" ")
            handler = getattr(self, f"_do_{verb.lower()}", None)
            if handler is None:
                await self._write(b"500 5.5.2 what?\r\n")
            else:
                is_open = await handler(rest) is not False

    async def _do_ehlo(self, rest: str) -> None:
        self._connection.hello = rest
        if not self._relay.has_ehlo:
            await self._say("ehlo", "502 5.5.1 no EHLO here")
            return
        await self._say("ehlo", *_multi_line("250", ("relay.test", *self._offers())))

    async def _do_helo(self, rest: str) -> None:
        self._connection.hello = rest
        await self._say("helo", "250 relay.test")

    def _offers(self) -> tuple[str, ...]:
        offers = self._relay.extensions
        if self._relay.tls is not None and not self._connection.is_tls:
            offers += ("STARTTLS",)
        if self._relay.credentials is not None:
            offers += ("AUTH " + " ".join(self._relay.auth),)
        return offers

    async def _do_starttls(self, rest: str) -> None:
        if await self._say("starttls", "220 2.0.0 go") and self._relay.tls is not None:
            await self._writer.start_tls(self._relay.tls)
            self._connection.is_tls = True

    async def _do_auth(self, rest: str) -> None:
        mechanism, _, first = rest.partition(" ")
        match mechanism.upper():
            case "PLAIN":
                name, password = base64.b64decode(first).decode().split("\0")[1:]
                is_right = (name, password) == self._relay.credentials
            case "LOGIN":
                name = base64.b64decode(first or await self._challenge(b"Username:")).decode()
                password = base64.b64decode(await self._challenge(b"Password:")).decode()
                is_right = (name, password) == self._relay.credentials
            case _:
                answer = base64.b64decode(await self._challenge(b"<1@relay.test>")).decode()
                name, _, digest = answer.rpartition(" ")
                secret = (self._relay.credentials or ("", ""))[1].encode()
                is_right = digest == hmac.new(secret, b"<1@relay.test>", "md5").hexdigest()
        self._connection.username = name if is_right else None
        await self._say("auth", "235 2.7.0 welcome" if is_right else "535 5.7.8 wrong password")

    async def _challenge(self, text: bytes) -> str:
        await self._write(b"334 " + base64.b64encode(text) + b"\r\n")
        return await self._read_line()

    async def _do_mail(self, rest: str) -> None:
        path, *parameters = rest.partition(":")[2].split(" ")
        if await self._say("mail", "250 2.1.0 ok"):
            self._mail = Transaction(self._connection, path.strip("<>"), parameters)
            self._relay.transactions.append(self._mail)

    async def _do_rcpt(self, rest: str) -> None:
        path, *parameters = rest.partition(":")[2].split(" ")
        self._recipient = path.strip("<>")
        if self._mail is None:
            await self._say("rcpt", "503 5.5.1 MAIL first")
        elif await self._say("rcpt", "250 2.1.5 ok"):
            self._mail.recipients.append(self._recipient)
            self._mail.rcpt_parameters = parameters

    async def _do_data(self, rest: str) -> None:
        mail = self._mail
        has_recipient = mail is not None and bool(mail.recipients)
        usual = "354 go ahead" if has_recipient else "503 5.5.1 no valid recipients"
        if not await self._say("data", usual):
            return
        mail = mail or Transaction(self._connection, "", [])
        rule = self._relay.take("body", [self._recipient])
        stuffed = bytearray()
        try:
            if rule is not None:
                stuffed += await self._read(rule.after_bytes) if rule.after_bytes else b""
                await self._act(rule.actions, b"")
            await self._read_content(stuffed)
            mail.is_whole = True
        finally:
            mail.content = _unstuff(bytes(stuffed))
            self._relay.changed()
        self._mail = None
        await self._conclude(mail)

    async def _conclude(self, mail: Transaction) -> None:
        number = len(self._relay.transactions)
        usual = f"250 2.0.0 queued as {number}" if mail.recipients else "554 5.5.1 no recipients"
        rule = self._relay.take("dot", mail.recipients)
        default = f"{usual}\r\n".encode()
        for action in rule.actions if rule is not None else (Default(),):
            if isinstance(action, Reply | Raw):
                mail.reply = action.wire
            elif isinstance(action, Default):
                mail.reply = default
            self._relay.changed()
            await self._act((action,), default)

    async def _do_rset(self, rest: str) -> None:
        self._mail = None
        await self._say("rset", "250 2.0.0 ok")

    async def _do_noop(self, rest: str) -> None:
        await self._say("noop", "250 2.0.0 ok")

    async def _do_quit(self, rest: str) -> bool:
        await self._say("quit", "221 2.0.0 bye")
        return False

    async def _say(self, stage: str, *usual: str) -> bool:
        rule = self._relay.take(stage, [self._recipient])
        default = "".join(f"{line}\r\n" for line in usual).encode()
        return await self._act((Default(),) if rule is None else rule.actions, default)

    async def _act(self, actions: tuple[Action, ...], default: bytes) -> bool:
        is_good = default[:1] in (b"2", b"3")
        for action in actions:
            match action:
                case Reply() | Raw():
                    is_good = action.is_good
                    await self._write(action.wire)
                case Default():
                    await self._write(default)
                case Delay(seconds):
                    await self._relay.pause(seconds)
                case Hold():
                    action.is_reached = True
                    self._relay.changed()
                    await action.event.wait()
                case Drop(is_reset):
                    self._drop(is_reset=is_reset)
        return is_good

    def _drop(self, *, is_reset: bool) -> None:
        if is_reset:
            sock = self._writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise _Gone

    async def _write(self, wire: bytes) -> None:
        if wire:
            self._writer.write(wire)
            await self._writer.drain()

    async def _read_line(self) -> str:
        line = await self._reader.readuntil(b"\r\n")
        self._connection.received += line
        return line[:-2].decode("utf-8", "replace")

    async def _read(self, count: int) -> bytes:
        some = await self._reader.readexactly(count)
        self._connection.received += some
        return some

    async def _read_content(self, stuffed: bytearray) -> None:
        """Read up to CRLF.CRLF, and nothing else ends it; what came behind it is left to be read."""
        end = _end_of(stuffed, 0)
        while end is None:
            some = await self._reader.read(1 << 16)
            self._connection.received += some
            if not some:
                raise asyncio.IncompleteReadError(bytes(stuffed), None)
            seen = len(stuffed)
            stuffed += some
            end = _end_of(stuffed, seen)
        rest = stuffed[end:]
        if rest:
            self._reader._buffer[:0] = rest  # type: ignore[attr-defined]
            del self._connection.received[-len(rest) :]
        del stuffed[end - 3 :]


def _end_of(stuffed: bytearray, seen: int) -> int | None:
    """Where the content ends, its terminator included; before `seen` there is no end."""
    if stuffed.startswith(b".\r\n"):
        return 3
    found = stuffed.find(b"\r\n.\r\n", max(0, seen - 4))
    return None if found < 0 else found + 5


def _multi_line(code: str, texts: tuple[str, ...]) -> list[str]:
    return [f"{code}{' ' if text is texts[-1] else '-'}{text}" for text in texts]


def _unstuff(stuffed: bytes) -> bytes:
    return b"\r\n".join(line.removeprefix(b".") for line in stuffed.split(b"\r\n"))
