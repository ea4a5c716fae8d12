"""Conversations, and what was received to the byte."""

from typing import Final

from postroom.api.problems import NOT_FOUND
from postroom.api.render_leases import render_thread
from postroom.api.requests import Asked
from postroom.api.requests_leases import ThreadQuery
from postroom.api.routing import Answer, Call, Content, Result, Route
from postroom.api.shapes_leases import Thread
from postroom.api.streaming import once
from postroom.core.ids import Kind, decode_id
from postroom.ports.arriving import RawFile


_MESSAGE: Final = "message/rfc822"
_AFTERWARDS: Final = 100  # as many of its deliveries and events are shown as GET shows unasked


async def get_thread(call: Call[ThreadQuery, None]) -> Result:
    """A conversation."""
    number = decode_id(Kind.THREAD, call.id)
    parts = call.parts
    found = (
        None if number is None else await parts.conversations.find_thread(number, call.query.limit)
    )
    if found is None:
        return NOT_FOUND
    log_id, _, _ = await parts.reader.event_span()
    return Answer(render_thread(found, log_id))


async def resume_thread(call: Call[Asked, Asked]) -> Result:
    """End what a loop holds in a conversation."""
    number = decode_id(Kind.THREAD, call.id)
    parts = call.parts
    if number is None or not await parts.admin.resume_thread(number, call.actor, parts.clock.now()):
        return NOT_FOUND
    found = await parts.conversations.find_thread(number, _AFTERWARDS)
    if found is None:
        return NOT_FOUND
    log_id, _, _ = await parts.reader.event_span()
    return Answer(render_thread(found, log_id))


async def get_event_raw(call: Call[Asked, None]) -> Result:
    """The message behind an event."""
    seq = decode_id(Kind.EVENT, call.id)
    parts = call.parts
    found = None if seq is None else await parts.conversations.find_event_raw(seq)
    headers = {"X-Content-Type-Options": "nosniff"}
    if isinstance(found, RawFile):
        pieces = await parts.uploads.open_file(found.sha256)
        if pieces is not None:
            return Content(pieces, _MESSAGE, found.size_bytes, headers)
    if isinstance(found, bytes):
        return Content(once(found), _MESSAGE, len(found), headers)
    return NOT_FOUND


ROUTES: Final = (
    Route(
        "GET",
        "/events/{id}/raw",
        get_event_raw,
        "What was received, to the byte",
        {200: None},
        content_type=_MESSAGE,
    ),
    Route(
        "GET", "/threads/{id}", get_thread, "Read a conversation", {200: Thread}, (), ThreadQuery
    ),
    Route(
        "POST",
        "/threads/{id}/resume",
        resume_thread,
        "Free a conversation that a loop holds",
        {200: Thread},
        body=Asked,
    ),
)
