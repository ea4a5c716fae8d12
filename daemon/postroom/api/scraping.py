"""Metrics over TCP on loopback, for a Prometheus of this machine: a small door beside the API's.

Rules: it answers GET /metrics to who knows the token, GET /healthz to anybody, and nothing else. A browser can be made to
ask here (DNS rebinding), so the Host header has to name loopback. A connection is for one request and over within 10 s;
of more than 16 at once the one that has waited longest without a whole request is hung up on, whoever it is.
"""

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web

from postroom.api.door import refuse
from postroom.api.guard import guarded
from postroom.api.handling import Handler
from postroom.api.parts import Parts
from postroom.api.problems import NOT_FOUND, Code, Refusal
from postroom.api.routes.daemon import METRICS_TYPE
from postroom.api.routing import Result, Text


MOST_AT_ONCE: Final = 16
LONGEST_S: Final = 10.0

_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_SHUTDOWN_S: Final = 1.0
_SERVER: Final = {"Server": "postroom"}  # names nothing of the libraries behind it
_PLAIN: Final = "text/plain; charset=utf-8"


class ScrapeServer:
    """The metrics on one socket. `on_refused` hears why somebody was not answered."""

    def __init__(
        self,
        parts: Parts,
        token: str,
        on_refused: Callable[[str], None],
        longest_s: float = LONGEST_S,
    ) -> None:
        self._parts = parts
        self._token = token.encode()
        self._on_refused = on_refused
        self._longest_s = longest_s
        self._runner: web.ServerRunner | None = None

    async def start(self, listening: socket.socket) -> None:
        """Answer on this listening socket; it is closed with the server."""
        server = _Server(self._answer, self._longest_s)
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=_SHUTDOWN_S)
        await self._runner.setup()
        await web.SockSite(self._runner, listening).start()

    async def close(self) -> None:
        """Hang up."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        response = await self._respond(request)
        response.force_close()
        return response

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        if not _is_loopback_name(request.headers.get("Host", "")):
            self._on_refused("its Host header names no address of loopback")
            return _plain(403, "The Host header has to name loopback.\n")
        if request.path not in {"/metrics", "/healthz"}:
            return refuse(NOT_FOUND)
        if request.method != "GET":
            return _plain(405, "GET alone is answered.\n", Allow="GET")
        if request.path == "/healthz":
            return _plain(200, "ok\n")
        if not self._is_known(request.headers.get("Authorization", "")):
            self._on_refused("it asked for the metrics without their token")
            words = "Authorization: Bearer and the token of [metrics].\n"
            return _plain(401, words, **{"WWW-Authenticate": "Bearer"})
        result = await guarded(self._parts, "GET /metrics", self._metrics())
        if isinstance(result, Text):
            return web.Response(
                body=result.text, headers={"Content-Type": result.content_type, **_SERVER}
            )
        fault = result if isinstance(result, Refusal) else Refusal(Code.INTERNAL, "No metrics.")
        return refuse(fault)

    async def _metrics(self) -> Result:
        return Text((await self._parts.signals.metrics_text()).encode(), METRICS_TYPE)

    def _is_known(self, given: str) -> bool:
        scheme, _, token = given.partition(" ")
        told = token.strip().encode("utf-8", "surrogateescape")
        return hmac.compare_digest(told, self._token) and scheme.lower() == "bearer"


class _Connection(Handler):
    """One request, within its time."""

    def __init__(self, server: "_Server", loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop=loop, **server.settings)
        self._house = server
        self._end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let it in for a while; where there are too many, in the place of another."""
        super().connection_made(transport)
        loop = asyncio.get_running_loop()
        self._end = loop.call_later(self._house.longest_s, self.abort)
        self._house.enter(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Make room."""
        self._house.leave(self)
        if self._end is not None:
            self._end.cancel()
        super().connection_lost(exc)

    def abort(self) -> None:
        """Hang up."""
        if self.transport is not None:
            self.transport.abort()


class _Server(web.Server):
    """Makes our connections, and knows which are open."""

    def __init__(
        self,
        answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        longest_s: float,
    ) -> None:
        super().__init__(answer, handler_cancellation=True)
        self.longest_s = longest_s
        self._open: dict[_Connection, None] = {}  # in the order in which they came
        self.settings: Final[dict[str, Any]] = {
            "access_log": None,
            "auto_decompress": False,
            "lingering_time": 0.0,
        }

    def enter(self, one: _Connection) -> None:
        """Make room for this connection."""
        self._open[one] = None
        if len(self._open) > MOST_AT_ONCE:
            oldest = next(each for each in self._open if each.is_waiting)
            self.leave(oldest)
            oldest.abort()

    def leave(self, one: _Connection) -> None:
        """It is gone, or as good as."""
        self._open.pop(one, None)

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, asyncio.get_running_loop())


def _is_loopback_name(host: str) -> bool:
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdecimal():
        name = host
    return name.lower() in _NAMES


def _plain(status: int, words: str, **headers: str) -> web.Response:
    return web.Response(
        status=status,
        body=words.encode(),
        headers={"Content-Type": _PLAIN, **_SERVER, **headers},
    )
