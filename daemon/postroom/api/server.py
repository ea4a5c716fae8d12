"""The HTTP door itself: sockets, connections, drain. Everything else is behind it in `door`.

aiohttp's low-level server does the HTTP; its own routing, bodies and errors are not used, so that every answer is ours.
A client that hangs up, or closes its sending side, has taken back its question: the handler is cancelled. What it had
given us to store goes on (see `tasks`).
There are so many connections at once: one more takes the place of the one that has been longest without a whole
request. So many calls are under way at once: one more is told so, and its connection ends.
"""

import asyncio
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, cast

from aiohttp import web

from postroom.api.door import Door
from postroom.api.handling import Handler
from postroom.api.parts import Parts
from postroom.api.routes.every import ROUTES
from postroom.api.routing import Table


# A waiting reader is told to go within this; a handler that takes longer is cancelled.
_SHUTDOWN_S: Final = 5.0


class ApiServer:
    """The API on the sockets it is given."""

    def __init__(self, parts: Parts) -> None:
        self._door = Door(Table(ROUTES), parts)
        self._parts = parts
        self._runner: web.ServerRunner | None = None

    async def start(self, sockets: Iterable[socket.socket]) -> None:
        """Answer on these listening (or bound) sockets; they are closed with the server, their paths stay."""
        server = _Server(self._door, self._parts)
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=_SHUTDOWN_S)
        await self._runner.setup()
        for one in sockets:
            await web.SockSite(self._runner, one).start()

    async def drain(self) -> None:
        """Take no new connection and no new work; whoever waits for something is answered as it stands."""
        self._parts.stopping.set()
        if self._runner is not None:
            for site in self._runner.sites:
                await site.stop()

    async def close(self) -> None:
        """Drain, let the answers under way leave, and hang up."""
        await self.drain()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None


class _Connection(Handler):
    """One connection, and who is at its other end: asked once, as the kernel took it down at connect(2)."""

    def __init__(self, server: "_Server", loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop=loop, **server.settings)
        self._server = server
        self.uid: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        with suppress(OSError):
            self.uid = self._server.parts.principal(transport.get_extra_info("socket"))
        super().connection_made(transport)
        self._server.enter(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._server.leave(self)
        super().connection_lost(exc)


class _Server(web.Server):
    """Makes our connections."""

    def __init__(self, door: Door, parts: Parts) -> None:
        super().__init__(self._answer, handler_cancellation=True)
        self.parts: Final = parts
        self.settings: Final[dict[str, Any]] = {
            "access_log": None,
            "auto_decompress": False,
            "lingering_time": parts.bounds.linger.total_seconds(),
            "keepalive_timeout": parts.bounds.idle.total_seconds(),
        }
        self._door = door
        self._inside: dict[_Connection, None] = {}  # in the order of their last answers
        self._calls = 0

    def enter(self, one: _Connection) -> None:
        """Make room for this connection."""
        self._inside[one] = None
        if len(self._inside) > self.parts.bounds.connections:
            oldest = next(each for each in self._inside if each.is_waiting)
            self.leave(oldest)
            oldest.force_close()

    def leave(self, one: _Connection) -> None:
        """It is gone, or as good as."""
        self._inside.pop(one, None)

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, asyncio.get_running_loop())

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        asking = cast(_Connection, request.protocol)
        if self._calls >= self.parts.bounds.calls:
            return self._door.send_away(asking.uid)
        self._calls += 1
        try:
            return await self._door.answer(request, asking.uid)
        finally:
            self._calls -= 1
            if asking in self._inside:
                del self._inside[asking]
                self._inside[asking] = None
