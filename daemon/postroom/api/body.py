"""Reading a body: looked at before the first byte is taken, bounded in bytes and in time.

A body that is too large is refused unread (aiohttp would say `100 Continue` to anything), one that is too slow ends
with 408, one that breaks off with 400. Compressed bodies are not taken: they could be larger than they look.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

from aiohttp import StreamReader, web

from postroom.api.problems import Code, Refusal


_RATE: Final = 500  # bytes a second; nobody who means well is slower on a machine's own socket
_TOO_LARGE: Final = "The body has more than {limit:,} bytes."
_SLOW: Final = Refusal(Code.BODY_TIMEOUT, "The body was not here in time.")
_CUT: Final = Refusal(Code.BODY_INCOMPLETE, "The body ended before it was whole.")


class BodyBroken(Exception):
    """A streamed body ended early or came too slowly; `refusal` says which."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


async def invite(request: web.BaseRequest, limit: int) -> Refusal | None:
    """Look at the headers and let a waiting client send its body; or why it need not."""
    headers = request.headers
    if headers.get("Content-Encoding", "identity").lower() != "identity":
        return Refusal(Code.ENCODING_UNSUPPORTED, "The body has a Content-Encoding.")
    if limit and (request.content_length or 0) > limit:
        return Refusal(Code.BODY_TOO_LARGE, _TOO_LARGE.format(limit=limit))
    expected = headers.get("Expect")
    if expected is None:
        return None
    if expected.lower() != "100-continue":
        return Refusal(Code.EXPECTATION_FAILED, "The Expect header asks for something else.")
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    request.writer.output_size = 0
    return None


async def read_body(request: web.BaseRequest, limit: int, within: timedelta) -> bytes | Refusal:
    """The whole body, of at most `limit` bytes."""
    refusal = await invite(request, limit)
    if refusal is not None:
        return refusal
    content = request.content
    if content.is_eof():
        return content.read_nowait()
    try:
        async with asyncio.timeout(within.total_seconds()):
            return await _gather(content, limit)
    except TimeoutError:
        return _SLOW
    except (web.RequestPayloadError, ConnectionError):
        return _CUT


async def stream_body(request: web.BaseRequest, within: timedelta) -> AsyncIterator[bytes]:
    """The body in pieces, all of it within this time and a second more for each `_RATE` bytes that came.

    Raises: BodyBroken.
    """
    deadline = asyncio.get_running_loop().time() + within.total_seconds()
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                piece = await request.content.readany()
        except TimeoutError:
            raise BodyBroken(_SLOW) from None
        except (web.RequestPayloadError, ConnectionError):
            raise BodyBroken(_CUT) from None
        if not piece:
            return
        deadline += len(piece) / _RATE
        yield piece


async def _gather(content: StreamReader, limit: int) -> bytes | Refusal:
    body = bytearray()
    while piece := await content.readany():
        body += piece
        if len(body) > limit:
            return Refusal(Code.BODY_TOO_LARGE, _TOO_LARGE.format(limit=limit))
    return bytes(body)
