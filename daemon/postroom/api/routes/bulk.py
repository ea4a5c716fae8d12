"""Acting on all deliveries that a filter meets: an outage's dead letters, a wrong batch, a storm of doubt."""

from collections.abc import Awaitable, Callable
from typing import Final

from postroom.api.problems import Code, Refusal, invalid
from postroom.api.requests import Asked, Bulk, BulkFilter, BulkResolve
from postroom.api.routes.deliveries import read_filter
from postroom.api.routing import Answer, Call, Result, Route
from postroom.api.shapes import BulkAnswer
from postroom.core.instant import Instant
from postroom.ports.desk import BulkResult, DeliveryFilter


async def retry_all(call: Call[Asked, Bulk]) -> Result:
    """Redrive all that a filter meets."""
    body, act = call.body, call.parts.admin.retry_deliveries
    return await _act_on_all(
        call,
        lambda by, at: act(by, call.actor, at, dry_run=body.dry_run, limit=body.limit),
    )


async def release_all(call: Call[Asked, Bulk]) -> Result:
    """Let all go that a filter meets."""
    body, act = call.body, call.parts.admin.release_deliveries
    return await _act_on_all(
        call,
        lambda by, at: act(by, call.actor, at, dry_run=body.dry_run, limit=body.limit),
    )


async def cancel_all(call: Call[Asked, Bulk]) -> Result:
    """Take back all that a filter meets."""
    body, act = call.body, call.parts.admin.cancel_deliveries
    return await _act_on_all(
        call,
        lambda by, at: act(by, call.actor, at, dry_run=body.dry_run, limit=body.limit),
    )


async def resolve_all(call: Call[Asked, BulkResolve]) -> Result:
    """Settle the doubt of all that a filter meets."""
    body, act = call.body, call.parts.admin.resolve_deliveries
    return await _act_on_all(
        call,
        lambda by, at: act(
            by, body.verdict, call.actor, at, dry_run=body.dry_run, limit=body.limit
        ),
    )


async def _act_on_all(
    call: Call[Asked, Bulk] | Call[Asked, BulkResolve],
    act: Callable[[DeliveryFilter, Instant], Awaitable[BulkResult]],
) -> Result:
    asked, now = call.body.filter, call.parts.clock.now()
    if asked == BulkFilter():
        return invalid("/filter", "An empty filter would meet everything: name at least one thing.")
    wanted = read_filter(asked, now, "/filter")
    if isinstance(wanted, Refusal):
        return wanted
    result = await act(wanted, now)
    return Answer(BulkAnswer(matched=result.matched, done=result.done))


_REFUSALS: Final = (Code.INVALID_REQUEST, Code.UNKNOWN_FIELD, Code.FILTER_COMBINATION)

ROUTES: Final = (
    Route(
        "POST",
        "/deliveries/retry",
        retry_all,
        "Send all failed deliveries that a filter meets after all",
        {200: BulkAnswer},
        _REFUSALS,
        body=Bulk,
        needs_body=True,
    ),
    Route(
        "POST",
        "/deliveries/release",
        release_all,
        "Let all held deliveries go that a filter meets",
        {200: BulkAnswer},
        _REFUSALS,
        body=Bulk,
        needs_body=True,
    ),
    Route(
        "POST",
        "/deliveries/cancel",
        cancel_all,
        "Take back all deliveries that a filter meets",
        {200: BulkAnswer},
        _REFUSALS,
        body=Bulk,
        needs_body=True,
    ),
    Route(
        "POST",
        "/deliveries/resolve",
        resolve_all,
        "Settle doubt in bulk",
        {200: BulkAnswer},
        _REFUSALS,
        body=BulkResolve,
        needs_body=True,
    ),
)
