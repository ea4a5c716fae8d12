"""From a request to an answer: find the call, see who asks, check query and body, ask the handler, write it down.

Nothing that goes wrong leaves as anything but a problem (RFC 9457); what nobody expected is told to `on_fault` and
answered 500 without a word of it. Who does not read its answer is hung up on, before another one is made for it.
"""

import asyncio
from functools import cache
from typing import Any, Final

import msgspec
from aiohttp import web

from postroom.api.body import read_body
from postroom.api.guard import guarded
from postroom.api.parsing import decode_body, decode_query
from postroom.api.parts import Parts
from postroom.api.problems import NOT_FOUND, Code, Refusal, invalid
from postroom.api.render import render_problem
from postroom.api.requests import Asked
from postroom.api.routing import Answer, Call, Content, Found, Nothing, Result, Route, Table, Text
from postroom.api.separators import has_more
from postroom.core.words import shown
from postroom.ports.desk import Actor


_ENCODER: Final = msgspec.json.Encoder()
_JSON: Final = "application/json"
_PROBLEM: Final = "application/problem+json"
# Names nothing of the libraries behind it.
_SERVER: Final = "postroom"
# Values of a thousand jobs that use every field to its limit, and all recipients that a batch may have, are fewer.
_VALUES: Final = 500_000
# What is behind it can not be read, or nobody has the time.
_LAST_WORDS: Final = frozenset(
    {Code.BODY_TIMEOUT, Code.BODY_INCOMPLETE, Code.BAD_REQUEST, Code.TOO_MANY_CONNECTIONS}
)

_CROWDED: Final = Refusal(Code.TOO_MANY_CONNECTIONS, "As many calls as there may be are under way.")


class Door:
    """Answers requests."""

    def __init__(self, table: Table, parts: Parts) -> None:
        self._table = table
        self._parts = parts
        self._waiting = 0

    async def answer(self, request: web.BaseRequest, uid: int | None) -> web.StreamResponse:
        """The answer to one request of the user `uid`, None = somebody without a name."""
        found = self._table.find(request.path)
        route = None if found is None else found.methods.get(request.method)
        if route is None or not route.may_wait:
            return await self._tell(request, found, uid)
        if self._waiting >= self._parts.bounds.waits:
            return self.send_away(uid)
        self._waiting += 1
        try:
            return await self._tell(request, found, uid)
        finally:
            self._waiting -= 1

    def send_away(self, uid: int | None) -> web.StreamResponse:
        """What somebody is told for whom there is no room."""
        self._parts.on_crowded(uid)
        return refuse(_CROWDED)

    async def _tell(
        self, request: web.BaseRequest, found: Found | None, uid: int | None
    ) -> web.StreamResponse:
        name = f"{request.method} {shown(request.path)}"
        result = await guarded(self._parts, name, self._ask(request, found, uid))
        stall = self._parts.bounds.stall
        if isinstance(result, Content):
            return await _stream(request, result, (result.stall or stall).total_seconds())
        return await _write(request, _made(result, found), stall.total_seconds())

    async def _ask(self, request: web.BaseRequest, found: Found | None, uid: int | None) -> Result:
        if found is None:
            return NOT_FOUND
        route = found.methods.get(request.method)
        if route is None:
            return Refusal(Code.METHOD_NOT_ALLOWED, f"Allowed are {found.allow}.")
        if uid is None:
            return Refusal(Code.PRINCIPAL_UNKNOWN, "The connection tells no uid that counts.")
        if route.takes_work and self._parts.stopping.is_set():
            return Refusal(Code.DRAINING, "It takes nothing new any more.")
        query = _query(request, route)
        if isinstance(query, Refusal):
            return query
        body = await self._body(request, route)
        if isinstance(body, Refusal):
            return body
        return await route.handler(Call(self._parts, Actor(uid), found.id, query, body, request))

    async def _body(self, request: web.BaseRequest, route: Route) -> Any | Refusal:
        if route.body is None:
            return None
        bounds = self._parts.bounds
        limit = bounds.batch_bytes if route.is_batch else bounds.body_bytes
        body = await read_body(request, limit, bounds.body_time)
        if isinstance(body, Refusal):
            return body
        if not body and not route.needs_body:
            return route.body()
        if route.is_batch and await has_more(body, _VALUES, self._parts.clock):
            return invalid("/jobs", "More values than so many jobs have.", Code.BATCH_TOO_LARGE)
        return decode_body(body, _decoder(route.body))


@cache
def _decoder(shape: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(shape)


def _query(request: web.BaseRequest, route: Route) -> Asked | Refusal:
    raw = request.rel_url.raw_query_string
    return decode_query(raw, route.query) if raw else _no_query(route.query)


@cache
def _no_query(wanted: type[Asked]) -> Asked | Refusal:
    return decode_query("", wanted)


def _made(result: Answer | Text | Nothing | Refusal, found: Found | None) -> web.Response:
    match result:
        case Answer():
            return _response(_ENCODER.encode(result.value), result.status, _JSON, result.headers)
        case Refusal():
            return refuse(result, found)
        case Text():
            return _response(result.text, 200, result.content_type, {})
        case Nothing():
            return web.Response(status=204, headers={"Server": _SERVER})


def refuse(refusal: Refusal, found: Found | None = None) -> web.Response:
    """The response that a refusal becomes."""
    entry = refusal.entry
    headers = {} if refusal.wait_s is None else {"Retry-After": str(refusal.wait_s)}
    if refusal.code is Code.METHOD_NOT_ALLOWED and found is not None:
        headers["Allow"] = found.allow
    body = _ENCODER.encode(render_problem(refusal))
    response = _response(body, entry.status, _PROBLEM, headers)
    if refusal.code in _LAST_WORDS:
        response.force_close()
    return response


def _response(body: bytes, status: int, content_type: str, headers: Any) -> web.Response:
    return web.Response(
        body=body,
        status=status,
        headers={"Content-Type": content_type, "Server": _SERVER, **headers},
    )


async def _write(
    request: web.BaseRequest, response: web.Response, stall_s: float
) -> web.StreamResponse:
    try:
        async with asyncio.timeout(stall_s):
            await response.prepare(request)
            await response.write_eof()
    except TimeoutError:
        _hang_up(request)
    return response


async def _stream(request: web.BaseRequest, content: Content, stall_s: float) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={"Content-Type": content.content_type, "Server": _SERVER, **content.headers}
    )
    response.content_length = content.size_bytes
    try:
        await response.prepare(request)
        if request.method != "HEAD":
            async for piece in content.pieces:
                async with asyncio.timeout(stall_s):
                    await response.write(piece)
        await response.write_eof()
    except TimeoutError:
        _hang_up(request)
    finally:
        if content.close is not None:
            content.close()
    return response


def _hang_up(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.abort()
