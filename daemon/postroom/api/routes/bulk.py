"""Acting on all deliveries that a filter meets: an outage's dead letters, a wrong batch, a storm of doubt."""

from typing import Final

from postroom.api.problems import Code, Refusal, invalid
from postroom.api.requests import Asked, Bulk, BulkFilter, BulkResolve
from postroom.api.routes.deliveries import read_filter
from postroom.api.routing import Answer, Call, Result, Route
from postroom.api.shapes import BulkAnswer
from postroom.ports.desk import BulkResult, DeliveryFilter


async def retry_all(call: Call[Asked, Bulk]) -> Result:
    """Redrive all that a filter meets."""
    wanted = _filter(call)
    if isinstance(wanted, Refusal):
        return wanted
    body, now = call.body, call.parts.clock.now()
    return _told(
        await call.parts.admin.retry_deliveries(
            wanted, call.actor, now, dry_run=body.dry_run, limit=body.limit
        )
    )


async def cancel_all(call: Call[Asked, Bulk]) -> Result:
    """Take back all that a filter meets."""
    wanted = _filter(call)
    if isinstance(wanted, Refusal):
        return wanted
    body, now = call.body, call.parts.clock.now()
    return _told(
        await call.parts.admin.cancel_deliveries(
            wanted, call.actor, now, dry_run=body.dry_run, limit=body.limit
        )
    )


async def resolve_all(call: Call[Asked, BulkResolve]) -> Result:
    """Settle the doubt of all that a filter meets."""
    wanted = _filter(call)
    if isinstance(wanted, Refusal):
        return wanted
    body, now = call.body, call.parts.clock.now()
    return _told(
        await call.parts.admin.resolve_deliveries(
            wanted, body.verdict, call.actor, now, dry_run=body.dry_run, limit=body.limit
        )
    )


def _filter(call: Call[Asked, Bulk] | Call[Asked, BulkResolve]) -> DeliveryFilter | Refusal:
    asked = call.body.filter
    if asked == BulkFilter():
        return invalid("/filter", "An empty filter would meet everything: name at least one thing.")
    return read_filter(asked, call.parts.clock.now(), "/filter")


def _told(result: BulkResult) -> Answer:
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
