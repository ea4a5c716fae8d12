"""One connection of a scripted relay, from the greeting on: what the script says, or what a relay would say."""

import asyncio
import base64
import hmac
import socket
import struct

from support.relay_script import (
    Action,
    Connection,
    Default,
    Delay,
    Drop,
    Hold,
    Raw,
    RelayScript,
    Reply,
    Transaction,
)


class Gone(Exception):
    """The connection was dropped by the script."""


class Talk:
    """The server's side of one connection."""

    def __init__(
        self,
        relay: RelayScript,
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
        raise Gone

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
