"""The server of a dialogue: what the script has it read, write and do on one connection."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable

from support.authority import Authority


def octets(text: str) -> bytes:
    """What a line of the script says with escapes as in Python."""
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


class Server:
    """The script's side of one connection; `content` is that of the mail under way."""

    def __init__(
        self,
        content: Callable[[], bytes],
        authority: Authority,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._content = content
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
                await pause(float(rest))
                self._writer.transport.resume_reading()
            case _:
                return await self._end(word)
        return False

    async def _write(self, word: str, rest: str) -> None:
        first, _, text = rest.partition(" ")
        with contextlib.suppress(OSError, RuntimeError):  # uvloop's way to say that it is closed
            match word:
                case "raw":
                    self._writer.write(octets(rest))
                case "flood":
                    self._writer.write(f"{first} ".encode() + b"x" * int(text))
                case "repeat":
                    self._writer.write(octets(text) * int(first))
                case _:
                    for octet in f"{text}\r\n".encode():
                        self._writer.write(bytes([octet]))
                        await pause(float(first))

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
        content = self._content()
        end = self._taken + count if count else len(content)
        came = await self._reader.readexactly(end - self._taken)
        assert came == content[self._taken : end], f"the content came as {came[:100]!r}"
        self._taken = end


async def pause(seconds: float) -> None:
    """Let real time pass."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().create_future()
