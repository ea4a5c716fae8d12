"""Deliveries: read, explained, shown as bytes, listed; redriven and settled one by one."""

from typing import Final

from postroom.api.parsing import fold_domain, read_cursor, read_since
from postroom.api.problems import NOT_FOUND, Code, Refusal
from postroom.api.render import render_deliveries, render_delivery, render_explanation
from postroom.api.render_leases import render_dead
from postroom.api.requests import Asked, BulkFilter, DeadQuery, DeliveryQuery, Resolve
from postroom.api.routes.jobs import wrong_state
from postroom.api.routing import Answer, Call, Content, Result, Route
from postroom.api.shapes import Delivery, DeliveryList, Explanation, Hold, Holds
from postroom.api.shapes_leases import DeadLetters
from postroom.core.ids import Kind, decode_id
from postroom.core.instant import Instant
from postroom.core.record import DeliveryRecord, Page
from postroom.ports.desk import DeliveryFilter, WrongState
from postroom.ports.leasing import DeadEvent


_MESSAGE: Final = "message/rfc822"


async def get_delivery(call: Call[Asked, None]) -> Result:
    """Read a delivery with its history."""
    number = decode_id(Kind.DELIVERY, call.id)
    found = None if number is None else await call.parts.reader.find_delivery(number)
    return NOT_FOUND if found is None else Answer(render_delivery(found, with_history=True))


async def explain_delivery(call: Call[Asked, None]) -> Result:
    """Every gate of a delivery."""
    number = decode_id(Kind.DELIVERY, call.id)
    if number is None:
        return NOT_FOUND
    found = await call.parts.loop.explain(number)
    return NOT_FOUND if found is None else Answer(render_explanation(number, found))


async def get_raw(call: Call[Asked, None]) -> Result:
    """The bytes of a delivery."""
    number = decode_id(Kind.DELIVERY, call.id)
    if number is None or await call.parts.reader.find_delivery(number) is None:
        return NOT_FOUND
    pieces = await call.parts.messages.find_message(number)
    if pieces is None:
        return Refusal(
            Code.CONTENT_GONE, "A pinned file of it is gone or has changed, or retention takes it."
        )
    return Content(pieces, _MESSAGE, None, {"X-Content-Type-Options": "nosniff"})


async def list_deliveries(call: Call[DeliveryQuery, None]) -> Result:
    """A page of deliveries."""
    asked = call.query
    wanted = read_filter(asked, call.parts.clock.now())
    if isinstance(wanted, Refusal):
        return wanted
    cursor = read_cursor(asked.cursor)
    page = await call.parts.reader.find_deliveries(wanted, cursor, asked.limit)
    return Answer(render_deliveries(page))


async def list_dead(call: Call[DeadQuery, None]) -> Result:
    """A page of deliveries that ended unsent or in doubt, and one of events that nobody could handle."""
    asked, parts = call.query, call.parts
    since = read_since(asked.since, parts.clock.now())
    if isinstance(since, Refusal):
        return since
    deliveries: Page[DeliveryRecord] = Page((), None)
    events: Page[DeadEvent] = Page((), None)
    if asked.events_cursor is None or asked.cursor is not None:
        deliveries = await parts.reader.find_dead(since, read_cursor(asked.cursor), asked.limit)
    if asked.cursor is None or asked.events_cursor is not None:
        cursor = read_cursor(asked.events_cursor)
        events = await parts.leases.find_dead_events(since, cursor, asked.limit)
    log_id, _, _ = await parts.reader.event_span()
    return Answer(render_dead(deliveries, events, log_id))


async def retry_delivery(call: Call[Asked, Asked]) -> Result:
    """Redrive a failed delivery."""
    number = decode_id(Kind.DELIVERY, call.id)
    if number is None:
        return NOT_FOUND
    return _moved(await call.parts.admin.retry(number, call.actor, call.parts.clock.now()))


async def release_delivery(call: Call[Asked, Asked]) -> Result:
    """Let a held delivery go."""
    number = decode_id(Kind.DELIVERY, call.id)
    if number is None:
        return NOT_FOUND
    return _moved(await call.parts.admin.release(number, call.actor, call.parts.clock.now()))


async def list_holds(call: Call[Asked, None]) -> Result:
    """What waits for a person or for its mailbox, counted."""
    found = await call.parts.reader.find_holds()
    items = [Hold(one.mailbox_id, str(one.hold_reason), one.deliveries) for one in found]
    return Answer(Holds(items=items, next_cursor=None))


async def resolve_delivery(call: Call[Asked, Resolve]) -> Result:
    """Settle doubt by hand."""
    number = decode_id(Kind.DELIVERY, call.id)
    if number is None:
        return NOT_FOUND
    verdict, now = call.body.verdict, call.parts.clock.now()
    return _moved(await call.parts.admin.resolve(number, verdict, call.actor, now))


def _moved(found: DeliveryRecord | WrongState | None) -> Result:
    match found:
        case None:
            return NOT_FOUND
        case WrongState():
            return wrong_state(found)
        case DeliveryRecord():
            return Answer(render_delivery(found))


def read_filter(
    asked: DeliveryQuery | BulkFilter, now: Instant, base: str = ""
) -> DeliveryFilter | Refusal:
    """Which deliveries are asked for; `base` is the pointer to the filter in a body."""
    since = read_since(asked.since, now, f"{base}/since")
    if isinstance(since, Refusal):
        return since
    domain = fold_domain(asked.domain, f"{base}/domain")
    if isinstance(domain, Refusal):
        return domain
    if (
        sum(one is not None for one in (asked.state, asked.reason_code, domain, asked.hold_reason))
        > 1
    ):
        detail = "More than one of state, reason_code, domain and hold_reason."
        return Refusal(Code.FILTER_COMBINATION, detail)
    return DeliveryFilter(
        asked.mailbox_id, asked.state, asked.reason_code, domain, since, asked.hold_reason
    )


ROUTES: Final = (
    Route(
        "GET",
        "/deliveries",
        list_deliveries,
        "List deliveries",
        {200: DeliveryList},
        (Code.FILTER_COMBINATION,),
        DeliveryQuery,
    ),
    Route("GET", "/deliveries/{id}", get_delivery, "Read a delivery", {200: Delivery}),
    Route(
        "GET",
        "/deliveries/{id}/explain",
        explain_delivery,
        "Why a delivery is where it is",
        {200: Explanation},
    ),
    Route(
        "GET",
        "/deliveries/{id}/raw",
        get_raw,
        "The exact bytes sent or to be sent",
        {200: None},
        (Code.CONTENT_GONE,),
        content_type=_MESSAGE,
    ),
    Route(
        "POST",
        "/deliveries/{id}/retry",
        retry_delivery,
        "Send a failed delivery after all",
        {200: Delivery},
        (Code.WRONG_STATE,),
        body=Asked,
    ),
    Route(
        "POST",
        "/deliveries/{id}/resolve",
        resolve_delivery,
        "Settle doubt by hand",
        {200: Delivery},
        (Code.WRONG_STATE,),
        body=Resolve,
        needs_body=True,
    ),
    Route(
        "POST",
        "/deliveries/{id}/release",
        release_delivery,
        "Let a held delivery go",
        {200: Delivery},
        (Code.WRONG_STATE,),
        body=Asked,
    ),
    Route("GET", "/holds", list_holds, "What is held, by mailbox and reason", {200: Holds}),
    Route(
        "GET",
        "/dead-letters",
        list_dead,
        "What ended badly: deliveries and events",
        {200: DeadLetters},
        (),
        DeadQuery,
    ),
)
