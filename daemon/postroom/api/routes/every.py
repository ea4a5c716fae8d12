"""All calls of the API, in the order in which the documentation tells them."""

from functools import cache
from typing import Final

from postroom.api.openapi import describe
from postroom.api.requests import Asked
from postroom.api.routes import (
    attachments,
    backups,
    batches,
    bulk,
    consumers,
    daemon,
    deliveries,
    events,
    jobs,
    leases,
    mailboxes,
    reload,
    suppressions,
    threads,
    waiting,
)
from postroom.api.routing import Call, Result, Route, Text


async def openapi(call: Call[Asked, None]) -> Result:
    """The description of all calls."""
    return Text(_document(call.parts.version), "application/json")


@cache
def _document(version: str) -> bytes:
    return describe(ROUTES, version)


ROUTES: Final[tuple[Route, ...]] = (
    *jobs.ROUTES,
    *batches.ROUTES,
    *deliveries.ROUTES,
    *bulk.ROUTES,
    *suppressions.ROUTES,
    *attachments.ROUTES,
    *mailboxes.ROUTES,
    *waiting.ROUTES,
    *events.ROUTES,
    *leases.ROUTES,
    *consumers.ROUTES,
    *threads.ROUTES,
    *daemon.ROUTES,
    *backups.ROUTES,
    *reload.ROUTES,
    Route("GET", "/openapi.json", openapi, "This description", {200: None}),
)
