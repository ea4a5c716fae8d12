"""The event log, read only, in the order of seq."""

from typing import Final

from postroom.api.problems import Code, Refusal, invalid
from postroom.api.render import render_event
from postroom.api.requests import EventQuery
from postroom.api.routing import Answer, Call, Result, Route
from postroom.api.shapes import EventList, EventPage
from postroom.core.ids import Kind, decode_id


# The largest number SQLite can hold: a larger seq is one of no log.
_LARGEST: Final = (1 << 63) - 1


async def list_events(call: Call[EventQuery, None]) -> Result:
    """A page of the log."""
    after = _read_after(call.query.after)
    if after is None:
        return invalid("/after", "This is neither a seq nor the id of an event.")
    log_id, oldest, newest = await call.parts.reader.event_span()
    more: dict[str, str | int] = {"log_id": log_id, "oldest_seq": oldest}
    if after > newest:
        return Refusal(Code.LOG_RESET, "This log has not come so far.", more=more)
    first = oldest or newest + 1
    if 0 < after < first - 1:
        return Refusal(Code.LOG_TRIMMED, f"The log begins at {first}.", more=more)
    found = await call.parts.reader.find_events(after, call.query.limit)
    is_full = len(found) == call.query.limit
    page = EventPage(
        items=[render_event(one, log_id) for one in found],
        next_cursor=str(found[-1].seq) if is_full else None,
        log_id=log_id,
    )
    return Answer(page)


def _read_after(text: str) -> int | None:
    number = int(text) if text.isdecimal() else decode_id(Kind.EVENT, text)
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
)
