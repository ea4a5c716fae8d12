"""SMTP dialogues as text files, played against the real client on loopback.

A file, line by line (blank lines and `#` are for readers):

    relay: tls=starttls username=u password=p      the relay's settings (tls=none, nobody logs in); with tls=implicit
                                                   and server=clear the server does not speak TLS all the same
    timeouts: command=0.2 final=0.2                seconds, fields of Timeouts
    mail: recipient=b@b.example fill=300000 mark=stop
        one line for each mail that differs from the usual one: sender, recipient, content (escapes as in Python), fill
        (that many bytes of content), envid, size, mark = go | stop | error | lost (go, once the connection is gone)
    connection                                     what follows is the server's side of the next connection
    S: 250 ok                                      it writes this line; lines in a row leave in one write
    C: RSET                                        it must read exactly this line
    ! hello PIPELINING SIZE 1000                   greeting, EHLO and this answer
    ! envelope                                     MAIL, RCPT and DATA of the usual mail in clear form
    ! content                                      it must read the mail's content
    ! early 1000                                   it reads so many bytes of the content
    ! raw 250 ok\\r\\n250 stray\\r\\n                  it writes these bytes
    ! flood 250 9000                               it writes `250 ` and so many letters, and no end of the line
    ! drip 0.02 250 ok                             it writes this line, one byte each so many seconds
    ! repeat 9000 250-more\\r\\n                    it writes these bytes so many times
    ! tls | tls wrong | tls expired | tls strange | tls old
        it takes up TLS; its certificate is for another name, of last year, from somebody unknown, or its TLS is 1.1
    ! deaf 0.1 | drop | reset                      it reads nothing for a while; it closes the connection
    ! rest                                         it reads what comes until the client closes: never a terminator
    => stage=dot code=250 marked dotted reusable   how the next mail ended

Expected are exactly the flags named out of marked dotted stopped reusable unreached slow; code= is the reply's, text=
and enhanced= too; what is not named must not be there, but for text and enhanced. `fault=words` is a part of the fault,
to the end of the line. `=> unfit words`, `=> fault stage=auth code=535 fault=words` (no connection), `=> error ValueError`.
After its script the server takes QUIT and the end, and nothing else.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
import warnings
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

from postroom.core.mailbox import Relay, Tls
from postroom.outbound.pool import Pool
from postroom.outbound.timeouts import Timeouts
from postroom.ports.errors import RelayFault
from postroom.ports.relay import Dialogue, Envelope, Unfit


USUAL = {"sender": "a@a.example", "recipient": "b@b.example", "envid": "dlv_1", "mark": "go"}
CONTENT = "Subject: hi\\r\\n\\r\\nhello\\r\\n"


@dataclass
class Script:
    """A file, read."""

    settings: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    connections: list[list[tuple[str, str]]] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def setting(self, kind: str, number: int = 0) -> dict[str, str]:
        """The words of the line of this kind, of that number."""
        lines = self.settings.get(kind, [])
        return lines[number] if number < len(lines) else {}


def read_script(path: Path) -> Script:
    """The dialogue in a file."""
    script = Script()
    for line in path.read_text("utf-8").splitlines():
        kind, _, rest = line.partition(" ")
        match kind:
            case "relay:" | "timeouts:" | "mail:":
                script.settings.setdefault(kind, []).append(_pairs(rest))
            case "connection":
                script.connections.append([])
            case "S:" | "C:" | "!":
                script.connections[-1].append((kind, rest))
            case "=>":
                script.expected.append(rest)
            case _ if line.strip() and not line.startswith("#"):
                msg = f"{path.name}: {line}"
                raise ValueError(msg)
    return script


def _pairs(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split())


def _bytes(text: str) -> bytes:
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


class Authority:
    """A CA of the test's own."""

    def __init__(self, folder: Path) -> None:
        ca = trustme.CA()
        self.path = str(folder / "ca.pem")
        ca.cert_pem.write_to_path(self.path)
        self._ca = ca

    def server(self, kind: str = "") -> ssl.SSLContext:
        """What a server needs, or one with which something is wrong."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca = trustme.CA() if kind == "strange" else self._ca
        name = "other.example" if kind == "wrong" else "127.0.0.1"
        end = datetime(2025, 1, 1, tzinfo=UTC) if kind == "expired" else None
        begin = datetime(2024, 1, 1, tzinfo=UTC) if kind == "expired" else None
        ca.issue_cert(name, not_after=end, not_before=begin).configure_cert(context)
        if kind == "old":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
            context.set_ciphers("ALL:@SECLEVEL=0")
        return context


class Mail:
    """One mail of the script, as an attempt would hand it over."""

    def __init__(self, settings: dict[str, str]) -> None:
        made = USUAL | settings
        fill = int(made.get("fill", "0"))
        line = b"x" * 70 + b"\r\n"
        self.content = line * (fill // len(line)) if fill else _bytes(made.get("content", CONTENT))
        size = int(made.get("size", str(len(self.content))))
        self.envelope = Envelope(made["sender"], made["recipient"], made["envid"], size)
        self.mark_word = made["mark"]
        self.was_slow = 0
        self.is_marked = False
        self.is_gone = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.content), 262_144):
            yield self.content[start : start + 262_144]

    async def mark(self) -> bool:
        self.is_marked = True
        match self.mark_word:
            case "error":
                raise RuntimeError
            case "lost":
                await self.is_gone.wait()
                await _pause(0.05)  # the client's end of the connection hears of it
        return self.mark_word != "stop"

    def on_slow(self) -> None:
        self.was_slow += 1


class Stage:
    """Both sides of one dialogue."""

    def __init__(self, script: Script, authority: Authority) -> None:
        self._script = script
        self._authority = authority
        self._connections = iter(script.connections)
        self._mail = Mail({})
        self._handlers: set[asyncio.Task[None]] = set()
        self.problems: list[str] = []

    async def play(self) -> list[str]:
        """What became of each mail, in the words of the file, and what the server saw go wrong."""
        server = await asyncio.start_server(
            self._serve,
            "127.0.0.1",
            0,
            ssl=self._server_tls(),
            limit=1 << 25,
        )
        relay = self._relay(server.sockets[0].getsockname()[1])
        seconds = {
            k: timedelta(seconds=float(v)) for k, v in self._script.setting("timeouts:").items()
        }
        pool = Pool(relay, "client.example", Timeouts(**seconds))
        told = []
        for number in range(len(self._script.expected)):
            self._mail = Mail(self._script.setting("mail:", number))
            told.append(await self._send(pool))
        await pool.close()
        server.close()
        if self._handlers:
            await asyncio.wait(tuple(self._handlers), timeout=5)
        if next(self._connections, None) is not None:
            self.problems.append("a connection of the script was never made")
        return told

    def _server_tls(self) -> ssl.SSLContext | None:
        wanted = self._script.setting("relay:")
        is_tls = wanted.get("tls") == "implicit" and wanted.get("server") != "clear"
        return self._authority.server() if is_tls else None

    def _relay(self, port: int) -> Relay:
        wanted = self._script.setting("relay:")
        return Relay(
            id="r",
            host=wanted.get("host", "127.0.0.1"),
            port=port,
            tls=Tls(wanted.get("tls", "none")),
            tls_ca=self._authority.path,
            username=wanted.get("username"),
            password=wanted.get("password"),
        )

    async def _send(self, pool: Pool) -> str:
        mail = self._mail
        try:
            session = await pool.borrow()
        except RelayFault as fault:
            return _tell_fault(fault)
        try:
            ended = await session.transact(mail.envelope, mail.pieces, mail.mark, mail.on_slow)
        except RelayFault as fault:
            pool.give_back(session, is_reusable=False)
            return _tell_fault(fault)
        except (RuntimeError, ValueError) as error:
            pool.give_back(session, is_reusable=False)
            return f"error {type(error).__name__}"
        if isinstance(ended, Unfit):
            pool.give_back(session, is_reusable=True)
            return f"unfit {ended.detail}"
        pool.give_back(session, is_reusable=ended.is_reusable)
        return _tell(ended, mail)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = next(self._connections, None)
        if task := asyncio.current_task():
            self._handlers.add(task)
        try:
            if lines is None:
                self.problems.append("a connection that the script does not have")
            else:
                async with asyncio.timeout(10):
                    await _Server(self, self._authority, reader, writer).run(lines)
        except (AssertionError, TimeoutError) as error:
            self.problems.append(f"{error!r}")
        except (OSError, asyncio.IncompleteReadError) as error:
            self.problems.append(f"the client was gone too early: {error!r}")
        finally:
            writer.transport.abort()
            self._mail.is_gone.set()

    @property
    def mail(self) -> Mail:
        """The mail under way."""
        return self._mail


class _Server:
    """The script's side of one connection."""

    def __init__(
        self,
        stage: Stage,
        authority: Authority,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._stage = stage
        self._authority = authority
        self._reader = reader
        self._writer = writer
        self._unsent = b""
        self._taken = 0

    async def run(self, lines: list[tuple[str, str]]) -> None:
        for kind, text in lines:
            if kind == "S:":
                self._unsent += text.encode() + b"\r\n"
                continue
            await self._flush()
            if kind == "C:":
                await self._hear(text)
            elif await self._direct(*text.partition(" ")[::2]):
                return
        await self._flush()
        rest = await self._read_rest(b"\r\n")
        assert rest in (b"", b"QUIT\r\n"), f"the client went on with {rest!r}"

    async def _read_rest(self, end: bytes) -> bytes:
        try:
            return await self._reader.readuntil(end)
        except asyncio.IncompleteReadError as cut:
            return cut.partial
        except OSError:
            return b""

    async def _flush(self) -> None:
        if self._unsent:
            self._writer.write(self._unsent)
            self._unsent = b""
            await self._writer.drain()

    async def _hear(self, text: str) -> None:
        line = (await self._reader.readuntil(b"\r\n"))[:-2].decode("utf-8", "backslashreplace")
        assert line == text, f"the client said {line!r}, not {text!r}"

    async def _direct(self, word: str, rest: str) -> bool:
        """Do what a `!` line says; whether the connection is done with."""
        match word:
            case "hello":
                await self._hello(rest)
            case "envelope":
                for line in ("MAIL FROM:<a@a.example>", "RCPT TO:<b@b.example>", "DATA"):
                    await self._hear(line)
            case "content" | "early":
                await self._read_content(int(rest or "0"))
            case "raw" | "flood" | "repeat" | "drip":
                await self._write(word, rest)
            case "tls":
                context = self._authority.server(rest)
                with contextlib.suppress(OSError):
                    await self._writer.start_tls(context)
            case "deaf":
                self._writer.transport.pause_reading()
                await _pause(float(rest))
                self._writer.transport.resume_reading()
            case _:
                return await self._end(word)
        return False

    async def _write(self, word: str, rest: str) -> None:
        first, _, text = rest.partition(" ")
        with contextlib.suppress(OSError, RuntimeError):  # uvloop's way to say that it is closed
            match word:
                case "raw":
                    self._writer.write(_bytes(rest))
                case "flood":
                    self._writer.write(f"{first} ".encode() + b"x" * int(text))
                case "repeat":
                    self._writer.write(_bytes(text) * int(first))
                case _:
                    for octet in f"{text}\r\n".encode():
                        self._writer.write(bytes([octet]))
                        await _pause(float(first))

    async def _end(self, word: str) -> bool:
        if word == "rest":
            rest = await self._read_rest(b"\r\n.\r\n")
            assert not rest.endswith(b"\r\n.\r\n"), "the terminator was written"
            return True
        if word == "reset":
            sock = self._writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            assert word == "drop", f"no such directive: {word}"
        return True

    async def _hello(self, rest: str) -> None:
        self._writer.write(b"220 relay.test\r\n")
        await self._hear("EHLO client.example")
        offers = ["relay.test", *rest.replace("SIZE ", "SIZE_").split()]
        for offer in offers[:-1]:
            self._writer.write(f"250-{offer.replace('_', ' ')}\r\n".encode())
        self._writer.write(f"250 {offers[-1].replace('_', ' ')}\r\n".encode())

    async def _read_content(self, count: int) -> None:
        content = self._stage.mail.content
        end = self._taken + count if count else len(content)
        came = await self._reader.readexactly(end - self._taken)
        assert came == content[self._taken : end], f"the content came as {came[:100]!r}"
        self._taken = end


async def _pause(seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().create_future()


def _tell_fault(fault: RelayFault) -> str:
    code = f" code={fault.reply.code}" if fault.reply is not None else ""
    return f"fault stage={fault.stage}{code} fault={fault.detail}"


def _tell(ended: Dialogue, mail: Mail) -> str:
    flags = {
        "marked": ended.is_marked,
        "dotted": ended.is_dotted,
        "stopped": ended.is_stopped,
        "reusable": ended.is_reusable,
        "unreached": not ended.reached_mail,
        "slow": mail.was_slow == 1,
    }
    words = [f"stage={ended.stage}"]
    if ended.reply is not None:
        words.append(f"code={ended.reply.code}")
    words += [name for name, is_set in flags.items() if is_set]
    if ended.reply is not None:
        words += [f"enhanced={ended.reply.enhanced}", f"text={ended.reply.text}"]
    if ended.fault is not None:
        words.append(f"fault={ended.fault}")
    return " ".join(words)


def agrees(expected: str, told: str) -> bool:
    """Whether what was told is what the file expects."""
    head, _, part = expected.partition(" fault=")
    told_head, _, fault = told.partition(" fault=")
    if expected.startswith("unfit"):
        return told.startswith("unfit") and expected.removeprefix("unfit ") in told
    if bool(part) != bool(fault) or part not in fault:
        return False
    wanted, _, wanted_text = head.partition(" text=")
    seen, _, text = told_head.partition(" text=")
    if wanted_text and wanted_text != text:
        return False
    loose = {word for word in seen.split() if word.startswith("enhanced=")}
    return set(wanted.split()) | loose == set(seen.split())
