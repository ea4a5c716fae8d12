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
Actions (of relay_script.py):
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
import socket
import ssl
from types import TracebackType
from typing import Self

from support.relay_script import EXTENSIONS, Connection, RelayScript
from support.relay_talk import Gone, Talk


class ScriptedRelay(RelayScript):
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
        super().__init__(extensions, tls, credentials, auth, has_ehlo=has_ehlo)
        self.is_implicit = is_implicit
        self.host = host
        self.port = 0
        self._receive_buffer = receive_buffer
        self._server: asyncio.Server | None = None
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

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._handlers.add(task)
            task.add_done_callback(self._handlers.discard)
        connection = Connection(len(self.connections) + 1, is_tls=self.is_implicit)
        self.connections.append(connection)
        self.changed()
        try:
            await Talk(self, connection, reader, writer).run()
        except (Gone, OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            connection.is_open = False
            self.changed()
            writer.transport.abort()
