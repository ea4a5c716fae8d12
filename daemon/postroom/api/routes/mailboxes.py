"""Mailboxes: listed with their pause and breakers, paused, set going, checked."""

from typing import Final

from postroom.api.mailboxes import find_mailbox, render_mailbox
from postroom.api.problems import NOT_FOUND, invalid
from postroom.api.render import render_check
from postroom.api.requests import Asked, Pause
from postroom.api.routing import Answer, Call, Result, Route
from postroom.api.shapes import Check
from postroom.api.shapes_daemon import Mailbox, MailboxList
from postroom.core.words import find_line_fault


async def list_mailboxes(call: Call[Asked, None]) -> Result:
    """All mailboxes, also those that were removed from the settings and are still known."""
    stored = {one.mailbox_id: one for one in await call.parts.reader.find_mailboxes()}
    names = sorted({*stored, *call.parts.mailboxes})
    items = [render_mailbox(call.parts, one, stored.get(one)) for one in names]
    return Answer(MailboxList(items=items, next_cursor=None))


async def pause(call: Call[Asked, Pause]) -> Result:
    """Stop a mailbox until a person lets it go on."""
    parts = call.parts
    if call.id not in parts.mailboxes:
        return NOT_FOUND
    reason = call.body.reason or ""
    fault = find_line_fault(reason)
    if fault is not None:
        return invalid("/reason", f"The reason {fault}.")
    await parts.admin.pause(call.id, reason, call.actor, parts.clock.now())
    return Answer(await find_mailbox(parts, call.id))


async def resume(call: Call[Asked, Asked]) -> Result:
    """Let a mailbox go on; where its relay is stopped, it is probed at once."""
    parts = call.parts
    if call.id not in parts.mailboxes:
        return NOT_FOUND
    await parts.admin.resume(call.id, call.actor, parts.clock.now())
    return Answer(await find_mailbox(parts, call.id))


async def check(call: Call[Asked, Asked]) -> Result:
    """Try a mailbox's way out without sending anything."""
    if call.id not in call.parts.mailboxes:
        return NOT_FOUND
    return Answer(render_check(call.id, await call.parts.loop.check(call.id)))


ROUTES: Final = (
    Route("GET", "/mailboxes", list_mailboxes, "List mailboxes", {200: MailboxList}),
    Route(
        "POST",
        "/mailboxes/{id}/pause",
        pause,
        "Stop a mailbox",
        {200: Mailbox},
        body=Pause,
    ),
    Route(
        "POST",
        "/mailboxes/{id}/resume",
        resume,
        "Let a mailbox go on",
        {200: Mailbox},
        body=Asked,
    ),
    Route(
        "POST",
        "/mailboxes/{id}/check",
        check,
        "Try a mailbox's way out",
        {200: Check},
        body=Asked,
    ),
)
