"""The relay's side of one SMTP dialogue, as its door's script says (RFC 5321 §4.1, as far as the daemon uses it).

Acts at a stage are done in their order, then the usual reply is said, unless one of them said another or hung up. At
`connect` the reply is the greeting, at `data` that to DATA; at `body` nothing is said, and nothing is read before its
acts are done.

Known limits: neither TLS nor logins; a client that sends on behind its final dot without waiting is not understood.
"""

import asyncio
from typing import Final

from postroom.client.host import Host
from postroom.selftest.door import Door, Handed, HangUp, Hold, Say, Stage, Wait


_KEPT: Final = 1 << 20  # of one content: what is larger was only there to be large
_PIECE: Final = 1 << 16
_END: Final = b"\r\n.\r\n"
_OFFERS: Final = ("relay.example", "SIZE 52428800", "8BITMIME", "ENHANCEDSTATUSCODES")


class _Over(Exception):
    """This dialogue is hung up on."""


class Talk:
    """One connection."""

    def __init__(
        self, door: Door, host: Host, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._door = door
        self._host = host
        self._reader = reader
        self._writer = writer
        self._sender = ""
        self._recipients: list[str] = []

    async def run(self) -> None:
        """Speak until one side has enough."""
        try:
            await self._answer(Stage.CONNECT, "220 relay.example ESMTP")
            while line := await self._reader.readline():
                await self._obey(line.decode("utf-8", "replace").rstrip("\r\n"))
        except (_Over, OSError, ValueError):  # ValueError: a line without an end
            pass
        finally:
            self._writer.transport.abort()

    async def _obey(self, line: str) -> None:
        match line.partition(" ")[0].upper():
            case "EHLO":
                lines = [f"250-{one}" for one in _OFFERS[:-1]]
                await self._answer(Stage.EHLO, "\r\n".join([*lines, f"250 {_OFFERS[-1]}"]))
            case "MAIL":
                self._sender, self._recipients = _path(line), []
                self._door.begun_at_s.append(self._host.monotonic_s())
                await self._answer(Stage.MAIL, "250 2.1.0 Ok")
            case "RCPT":
                await self._hear_recipient(_path(line))
            case "DATA":
                await self._take()
            case "RSET" | "NOOP":
                await self._say("250 2.0.0 Ok")
            case "QUIT":
                await self._say("221 2.0.0 Bye")
                raise _Over
            case _:
                await self._say("500 5.5.2 What?")

    async def _hear_recipient(self, recipient: str) -> None:
        self._door.tries[recipient] = self._door.tries.get(recipient, 0) + 1
        said = await self._answer(Stage.RCPT, "250 2.1.5 Ok", recipient)
        if said.startswith("2"):
            self._recipients.append(recipient)

    async def _take(self) -> None:
        recipient = self._recipients[0] if self._recipients else ""
        usual = "354 Go ahead" if recipient else "503 5.5.1 No recipient"
        if not (await self._answer(Stage.DATA, usual, recipient)).startswith("3"):
            return
        await self._act(Stage.BODY, recipient)
        content = await self._read_content()
        handed = [Handed(to, self._sender, content) for to in self._recipients]
        self._door.handed += handed
        for one in handed:
            if self._door.on_handed is not None:
                self._door.on_handed(one)
        usual = f"250 2.0.0 Ok: queued as R{len(self._door.handed):05}"
        said = await self._act(Stage.DOT, recipient) or usual
        for one in handed:
            one.reply = said
        await self._say(said)

    async def _read_content(self) -> bytes:
        """What stands before CRLF.CRLF, the dots taken out that were put in; no more than a part of large ones."""
        kept = bytearray()
        tail = b"\r\n"
        while not tail.endswith(_END):
            piece = await self._reader.read(_PIECE)
            if not piece:
                raise _Over
            kept += piece[: max(0, _KEPT - len(kept))]
            tail = (tail + piece)[-len(_END) :]
        content = bytes(kept).removesuffix(b".\r\n")
        return b"\r\n".join(line.removeprefix(b".") for line in content.split(b"\r\n"))

    async def _answer(self, stage: Stage, usual: str, recipient: str = "") -> str:
        said = await self._act(stage, recipient) or usual
        await self._say(said)
        return said

    async def _act(self, stage: Stage, recipient: str) -> str:
        """Do what the script says here; what it wants to be said, '' for the usual."""
        for act in self._door.take(stage, recipient):
            match act:
                case Say(line):
                    return line
                case Wait(seconds):
                    await self._pause(seconds)
                case HangUp():
                    raise _Over
                case Hold():
                    if not await self._door.hold(stage, recipient):
                        raise _Over
        return ""

    async def _pause(self, seconds: float) -> None:
        over = self._door.loop.create_future()
        timer = self._door.loop.call_later(seconds, over.set_result, None)
        try:
            await over
        finally:
            timer.cancel()

    async def _say(self, line: str) -> None:
        self._writer.write(f"{line}\r\n".encode())
        await self._writer.drain()


def _path(line: str) -> str:
    """The address of MAIL or RCPT."""
    return line.partition("<")[2].rpartition(">")[0]
