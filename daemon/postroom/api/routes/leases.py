"""Leases: one agent for each conversation. Taken by a long-poll, kept, given back, completed with replies."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import UNSET, UnsetType

from postroom.api.completing import complete
from postroom.api.parts import Parts
from postroom.api.problems import NOT_FOUND, Code, Refusal, invalid
from postroom.api.render_leases import render_lease
from postroom.api.requests import Asked
from postroom.api.requests_leases import Acquire, Complete, CompleteItems, Extend, GiveBack
from postroom.api.routes.jobs import SUBMIT_REFUSALS, sender_of
from postroom.api.routing import Answer, Call, Result, Route
from postroom.api.shapes_leases import (
    CompletedLease,
    Lease,
    LeaseList,
    LeasesWritten,
    ReleasedLease,
)
from postroom.api.waiting import wait_for_bell
from postroom.core.eventtypes import UNLEASED, EventType
from postroom.core.ids import Kind, decode_id
from postroom.core.instant import SECOND
from postroom.core.job import LeaseClaim
from postroom.core.words import find_line_fault
from postroom.ports import leasing
from postroom.ports.accepting import LeaseLost
from postroom.ports.errors import StoreError


_Taken = tuple[leasing.Lease, ...] | leasing.TooManyConsumers

LOST: Final = Refusal(
    Code.LEASE_LOST, "The lease is over, or the fence is another one. Nothing was done."
)
TOO_MANY: Final = Refusal(Code.CONSUMER_LIMIT, "A consumer of this name was not made.")
_ABANDONED: Final = leasing.Release(0.0, "its caller hung up", is_failed=False)
_NO_THREAD: Final = (
    "An alert has no thread, so nobody leases it: read it from GET /v1/events or its stream."
)


async def acquire_leases(call: Call[Asked, Acquire]) -> Result:
    """Lease what waits, or wait for it."""
    boxes = call.parts.mailboxes
    asked = tuple(boxes) if call.body.mailbox_ids is UNSET else tuple(call.body.mailbox_ids)
    for number, one in enumerate(asked):
        if one not in boxes:
            detail = "There is no such mailbox."
            return invalid(f"/mailbox_ids/{number}", detail, Code.UNKNOWN_MAILBOX)
    refused = find_unleased(call.body.types)
    if refused is not None:
        return refused
    log_id, _, _ = await call.parts.reader.event_span()
    # Nothing is awaited between them and the answer: who hangs up then would keep them.
    leases = await _poll(call.parts, call.body, asked)
    if isinstance(leases, leasing.TooManyConsumers):
        return TOO_MANY
    is_draining = not leases and call.parts.stopping.is_set()
    return Answer(
        LeasesWritten(
            leases=[render_lease(one, log_id) for one in leases],
            draining=True if is_draining else UNSET,
        )
    )


def find_unleased(types: Sequence[EventType] | UnsetType) -> Refusal | None:
    """Why these types can not be a consumer's, if one of them is never leased."""
    for number, one in enumerate(() if isinstance(types, UnsetType) else types):
        if one in UNLEASED:
            return invalid(f"/types/{number}", _NO_THREAD)
    return None


async def extend_lease(call: Call[Asked, Extend]) -> Result:
    """Keep a lease."""
    number = decode_id(Kind.LEASE, call.id)
    if number is None:
        return NOT_FOUND
    claim, parts = LeaseClaim(number, call.body.fence), call.parts
    found = await parts.leases.extend(claim, call.body.lease_s, parts.clock.now())
    if isinstance(found, LeaseLost):
        return LOST
    log_id, _, _ = await parts.reader.event_span()
    return Answer(render_lease(found, log_id))


async def release_lease(call: Call[Asked, GiveBack]) -> Result:
    """Give a lease back."""
    number = decode_id(Kind.LEASE, call.id)
    fault = find_line_fault(call.body.reason)
    if fault is not None:
        return invalid("/reason", f"The reason {fault}.")
    if number is None:
        return NOT_FOUND
    claim, parts = LeaseClaim(number, call.body.fence), call.parts
    back = leasing.Release(call.body.delay_s, call.body.reason, call.body.failed)
    found = await parts.leases.release(claim, back, parts.clock.now())
    return LOST if isinstance(found, LeaseLost) else Answer(ReleasedLease(id=call.id))


async def complete_lease(call: Call[Asked, CompleteItems]) -> Result:
    """Acknowledge and reply; what is under way is stored even if the caller hangs up."""
    number = decode_id(Kind.LEASE, call.id)
    if number is None:
        return NOT_FOUND
    claim = LeaseClaim(number, call.body.fence)
    return await call.parts.kept.finish(complete(call.parts, sender_of(call), claim, call.body))


@dataclass
class _Handover:
    """Leases on their way to a caller who may be gone when they are granted."""

    parts: Parts
    leases: tuple[leasing.Lease, ...] = field(default=())
    is_gone: bool = False

    async def take(self, wish: leasing.LeaseWish) -> _Taken:
        """Those that are granted. Raises: StoreError."""
        taken = await self.parts.leases.acquire(wish)
        if isinstance(taken, leasing.TooManyConsumers):
            return taken
        self.leases = taken
        if self.is_gone:
            await self.give_back()
        return taken

    async def give_back(self) -> None:
        """Let others have them at once, as far as the store lets us: else they expire."""
        for one in self.leases:
            claim = LeaseClaim(one.number, one.fence)
            try:
                await self.parts.leases.release(claim, _ABANDONED, self.parts.clock.now())
            except StoreError as error:
                self.parts.on_store_refused(error)


async def _poll(parts: Parts, asked: Acquire, boxes: tuple[str, ...]) -> _Taken:
    end = parts.clock.monotonic() + round(asked.wait_s * SECOND)
    with parts.bells.hear_consumer(asked.consumer) as bell:
        while not parts.stopping.is_set():
            bell.clear()
            leases = await _take(parts, _wish(parts, asked, boxes))
            left = end - parts.clock.monotonic()
            if leases or left <= 0:
                return leases
            if not await wait_for_bell(bell, parts.stopping, left / SECOND):
                break
    return ()


async def _take(parts: Parts, wish: leasing.LeaseWish) -> _Taken:
    """What is granted; of a caller who hung up meanwhile it is given back, unless the same attempt may ask again."""
    handover = _Handover(parts)
    try:
        return await parts.kept.finish(handover.take(wish))
    except asyncio.CancelledError:
        if wish.attempt_id is None:
            handover.is_gone = True
            parts.kept.leave(handover.give_back())
        raise


def _wish(parts: Parts, asked: Acquire, boxes: tuple[str, ...]) -> leasing.LeaseWish:
    return leasing.LeaseWish(
        consumer=asked.consumer,
        mailbox_ids=boxes,
        types=None if asked.types is UNSET else tuple(asked.types),
        max_threads=asked.max_threads,
        max_events=asked.max_events,
        lease_s=asked.lease_s,
        attempt_id=None if asked.attempt_id is UNSET else asked.attempt_id,
        at=parts.clock.now(),
    )


ROUTES: Final = (
    Route(
        "POST",
        "/leases",
        acquire_leases,
        "Lease the threads that wait longest",
        {200: LeaseList},
        (Code.UNKNOWN_MAILBOX, Code.CONSUMER_LIMIT),
        body=Acquire,
        may_wait=True,
    ),
    Route(
        "PATCH",
        "/leases/{id}",
        extend_lease,
        "Keep a lease, and see what came in",
        {200: Lease},
        (Code.LEASE_LOST,),
        body=Extend,
        needs_body=True,
    ),
    Route(
        "POST",
        "/leases/{id}/release",
        release_lease,
        "Give a lease back",
        {200: ReleasedLease},
        (Code.LEASE_LOST,),
        body=GiveBack,
        needs_body=True,
    ),
    Route(
        "POST",
        "/leases/{id}/complete",
        complete_lease,
        "Acknowledge, and reply in the same transaction",
        {200: CompletedLease},
        SUBMIT_REFUSALS,
        body=CompleteItems,
        shown_body=Complete,
        needs_body=True,
    ),
)
