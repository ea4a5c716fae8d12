"""Consumers: named readers of events."""

from typing import Final

from msgspec import UNSET

from postroom.api.problems import NOT_FOUND, Code, Refusal
from postroom.api.render_leases import render_consumer
from postroom.api.requests import Asked
from postroom.api.requests_leases import MakeConsumer, RetryEvent
from postroom.api.routes.leases import TOO_MANY, find_unleased
from postroom.api.routing import Answer, Call, Nothing, Result, Route
from postroom.api.shapes_leases import Consumer, ConsumerList, RevivedEvent
from postroom.core.ids import Kind, decode_id
from postroom.ports.leasing import TooManyConsumers


async def list_consumers(call: Call[Asked, None]) -> Result:
    """Every consumer."""
    found = await call.parts.leases.find_consumers()
    return Answer(ConsumerList(items=[render_consumer(one) for one in found], next_cursor=None))


async def make_consumer(call: Call[Asked, MakeConsumer]) -> Result:
    """Make a consumer, or widen its types."""
    asked, parts = call.body, call.parts
    refused = find_unleased(asked.types)
    if refused is not None:
        return refused
    types = None if asked.types is UNSET else tuple(asked.types)
    made = await parts.leases.make_consumer(
        asked.name, types, parts.clock.now(), from_now=asked.start == "now"
    )
    if isinstance(made, TooManyConsumers):
        return TOO_MANY
    return Answer(render_consumer(made))


async def delete_consumer(call: Call[Asked, None]) -> Result:
    """Forget a consumer."""
    was_there = await call.parts.leases.drop_consumer(call.id, call.parts.clock.now())
    return Nothing() if was_there else NOT_FOUND


async def retry_event(call: Call[Asked, RetryEvent]) -> Result:
    """Make a dead event pending again."""
    seq = decode_id(Kind.EVENT, call.id)
    if seq is None:
        return NOT_FOUND
    consumer = call.body.consumer
    match await call.parts.leases.retry_event(seq, consumer):
        case None:
            return NOT_FOUND
        case False:
            return Refusal(Code.WRONG_STATE, "The event is not dead for this consumer.")
        case True:
            return Answer(RevivedEvent(id=call.id, consumer=consumer))


ROUTES: Final = (
    Route("GET", "/consumers", list_consumers, "List consumers", {200: ConsumerList}),
    Route(
        "POST",
        "/consumers",
        make_consumer,
        "Make a consumer, or widen its types",
        {200: Consumer},
        (Code.CONSUMER_LIMIT,),
        body=MakeConsumer,
        needs_body=True,
    ),
    Route(
        "DELETE",
        "/consumers/{name}",
        delete_consumer,
        "Forget a consumer and what waits for it",
        {204: None},
    ),
    Route(
        "POST",
        "/events/{id}/retry",
        retry_event,
        "Make a dead event pending again",
        {200: RevivedEvent},
        (Code.WRONG_STATE,),
        body=RetryEvent,
        needs_body=True,
    ),
)
