"""The event log, read only, in the order of seq: in pages, and as a stream."""

from typing import Final

from postroom.api.problems import NOT_FOUND, Code, Refusal, invalid
from postroom.api.render import render_event
from postroom.api.requests import Asked, EventQuery
from postroom.api.requests_leases import StreamQuery
from postroom.api.routing import Answer, Call, Content, Result, Route
from postroom.api.shapes_events import Event, EventList, EventPage
from postroom.api.streaming import stream
from postroom.core.ids import Kind, decode_id
from postroom.ports.desk import Reader


# The largest number SQLite can hold: a larger seq is one of no log.
_LARGEST: Final = (1 << 63) - 1
# A restore goes on 2^32 higher; what age and broken transactions leave out is far less.
_LEAP: Final = 1 << 31
_STREAM: Final = "text/event-stream"
_NO_PLACE: Final = "This is neither a seq nor the id of an event."


async def list_events(call: Call[EventQuery, None]) -> Result:
    """A page of the log."""
    after = _read_after(call.query.after)
    if after is None:
        return invalid("/after", _NO_PLACE)
    span = await call.parts.reader.event_span()
    refused = await _find_gap(call.parts.reader, after, span)
    if refused is not None:
        return refused
    found = await call.parts.reader.find_events(after, call.query.limit)
    is_full = len(found) == call.query.limit
    page = EventPage(
        items=[render_event(one, span[0]) for one in found],
        next_cursor=str(found[-1].seq) if is_full else None,
        log_id=span[0],
    )
    return Answer(page)


async def get_event(call: Call[Asked, None]) -> Result:
    """One event of the log."""
    seq = decode_id(Kind.EVENT, call.id)
    if seq is None or seq > _LARGEST:
        return NOT_FOUND
    found = await call.parts.reader.find_events(seq - 1, 1)
    if not found or found[0].seq != seq:
        return NOT_FOUND
    log_id, _, _ = await call.parts.reader.event_span()
    return Answer(render_event(found[0], log_id))


async def stream_events(call: Call[StreamQuery, None]) -> Result:
    """The log as it grows. Last-Event-ID is newer than the `after` with which the stream once began."""
    last = call.header("Last-Event-ID") or call.query.after
    span = await call.parts.reader.event_span()
    after = span[2] if last is None else _read_after(last)
    if after is None:
        return invalid("/after", _NO_PLACE)
    refused = await _find_gap(call.parts.reader, after, span)
    if refused is not None:
        return refused
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    pieces = stream(call.parts, span[0], after)
    return Content(pieces, _STREAM, None, headers)


async def _find_gap(reader: Reader, after: int, span: tuple[str, int, int]) -> Refusal | None:
    """Why the log can not be read on from there without a gap."""
    log_id, oldest, newest = span
    more: dict[str, str | int] = {"log_id": log_id, "oldest_seq": oldest}
    if after > newest:
        return Refusal(Code.LOG_RESET, "This log has not come so far.", more=more)
    first = oldest or newest + 1
    if 0 < after < first - 1:
        return Refusal(Code.LOG_TRIMMED, f"The log begins at {first}.", more=more)
    if 0 < after < newest - _LEAP and await _is_lost(reader, after, newest):
        return Refusal(Code.LOG_RESET, "A restore left this part of the log behind.", more=more)
    return None


async def _is_lost(reader: Reader, after: int, newest: int) -> bool:
    """Whether it lies where a restore left numbers out: only such a gap is so wide."""
    found = await reader.find_events(after - 1, 1)
    following = found[0].seq if found else newest + 1
    return following - after > _LEAP


def _read_after(text: str) -> int | None:
    is_number = text.isascii() and text.isdecimal()
    number = int(text[:20]) if is_number else decode_id(Kind.EVENT, text)
    return None if number is None or number > _LARGEST else number


ROUTES: Final = (
    Route(
        "GET",
        "/events",
        list_events,
        "The log after a seq or an event",
        {200: EventList},
        (Code.LOG_RESET, Code.LOG_TRIMMED),
        EventQuery,
    ),
    Route(
        "GET",
        "/events/stream",
        stream_events,
        "The log as it grows",
        {200: None},
        (Code.LOG_RESET, Code.LOG_TRIMMED),
        StreamQuery,
        content_type=_STREAM,
        may_wait=True,
    ),
    Route("GET", "/events/{id}", get_event, "Read an event", {200: Event}),
)
