"""Suppressions: addresses that are written to no more."""

from typing import Final

from postroom.api.parsing import fold_address, read_cursor, write_cursor
from postroom.api.problems import NOT_FOUND, Code, Refusal, invalid
from postroom.api.render import render_suppression
from postroom.api.requests import Asked, Suppress, SuppressionName, SuppressionQuery
from postroom.api.routing import Answer, Call, Nothing, Result, Route
from postroom.api.shapes import Suppression, SuppressionList
from postroom.core.words import find_line_fault


async def list_suppressions(call: Call[SuppressionQuery, None]) -> Result:
    """A page of suppressed addresses."""
    asked = call.query
    cursor = read_cursor(asked.cursor)
    page = await call.parts.reader.find_suppressions(asked.mailbox_id, cursor, asked.limit)
    items = [render_suppression(one) for one in page.items]
    return Answer(SuppressionList(items=items, next_cursor=write_cursor(page.next_cursor)))


async def suppress(call: Call[Asked, Suppress]) -> Result:
    """Write to an address no more."""
    parts, asked = call.parts, call.body
    if asked.mailbox_id is not None and asked.mailbox_id not in parts.mailboxes:
        return invalid("/mailbox_id", "There is no such mailbox.", Code.UNKNOWN_MAILBOX)
    address = fold_address(asked.address, "/address")
    if isinstance(address, Refusal):
        return address
    reason = asked.reason or ""
    fault = find_line_fault(reason)
    if fault is not None:
        return invalid("/reason", f"The reason {fault}.")
    now = parts.clock.now()
    record = await parts.admin.suppress(asked.mailbox_id, address, reason, call.actor, now)
    return Answer(render_suppression(record))


async def unsuppress(call: Call[SuppressionName, None]) -> Result:
    """Allow an address again."""
    address = fold_address(call.query.address, "/address")
    if isinstance(address, Refusal):
        return address
    was_there = await call.parts.admin.unsuppress(call.query.mailbox_id, address)
    return Nothing() if was_there else NOT_FOUND


ROUTES: Final = (
    Route(
        "GET",
        "/suppressions",
        list_suppressions,
        "List suppressed addresses",
        {200: SuppressionList},
        (),
        SuppressionQuery,
    ),
    Route(
        "POST",
        "/suppressions",
        suppress,
        "Write to an address no more",
        {200: Suppression},
        (Code.UNKNOWN_MAILBOX,),
        body=Suppress,
        needs_body=True,
    ),
    Route(
        "DELETE",
        "/suppressions",
        unsuppress,
        "Allow an address again",
        {204: None},
        (Code.NOT_FOUND,),
        SuppressionName,
    ),
)
