"""Completing a lease: the replies are prepared like any job, stored with the acknowledgement, and told like any job."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from msgspec import structs

from postroom.api.parsing import decode_body
from postroom.api.parts import Parts
from postroom.api.problems import Code, Refusal, invalid
from postroom.api.render import render_job
from postroom.api.requests_leases import CompleteItems
from postroom.api.routing import Answer
from postroom.api.shapes import Job
from postroom.api.shapes_leases import CompletedLease
from postroom.api.submitting import Sender, tell
from postroom.core.ids import Kind, decode_id, encode_id
from postroom.core.job import LeaseClaim
from postroom.ports.accepting import LeaseLost, NewJob
from postroom.ports.leasing import Completed, NotShown, ReplyStopped
from postroom.ports.submitting import Prepared, Refused, Repeated, SubmitResult


_TWICE: Final = "Another reply of this call answers the same event."
_DECODER: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder()


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply as it was sent, and what it was made to."""

    value: object
    made: Prepared | Repeated

    @property
    def to_store(self) -> NewJob | int:
        """What the store is given of it."""
        return self.made.new if isinstance(self.made, Prepared) else self.made.number


@dataclass(frozen=True, slots=True)
class _Call:
    """A completion under way; `open` is what is prepared and not settled."""

    parts: Parts
    sender: Sender
    claim: LeaseClaim
    asked: CompleteItems
    replies: list[_Reply]
    open: list[Prepared]


async def complete(
    parts: Parts, sender: Sender, claim: LeaseClaim, asked: CompleteItems
) -> Answer | Refusal:
    """Acknowledge and accept the replies, or nothing of both. Raises: StoreError."""
    before = await parts.leases.check(claim, parts.clock.now())
    if before is not None:
        return _lost() if isinstance(before, LeaseLost) else await _again(parts, claim, before)
    replies: list[_Reply] = []
    open_: list[Prepared] = []
    try:
        refused = await _prepare(parts, sender, asked.replies, replies, open_)
        if refused is not None:
            return refused
        return await _store(_Call(parts, sender, claim, asked, replies, open_))
    finally:
        for one in open_:
            parts.submitter.abandon(one)


async def _store(call: _Call) -> Answer | Refusal:
    parts, claim, ack = call.parts, call.claim, call.asked.ack
    seqs = None if ack == "all" else [decode_id(Kind.EVENT, one) or 0 for one in ack]
    stored = [one.to_store for one in call.replies]
    done = await parts.leases.complete(claim, seqs, stored, parts.clock.now())
    match done:
        case Completed(is_repeat=True):
            return await _again(parts, claim, done)
        case Completed():
            return await _told(call, done)
        case LeaseLost():
            return _lost()
        case NotShown():
            return _not_shown(call.asked, done.seqs)
        case ReplyStopped():
            return await _stopped(call, done)


async def _prepare(
    parts: Parts,
    sender: Sender,
    given: Sequence[msgspec.Raw],
    replies: list[_Reply],
    open_: list[Prepared],
) -> Refusal | None:
    """Make a job of each reply; what is prepared and must be settled is noted at once. The faults of all are told."""
    answered: set[int] = set()
    refusals: list[Refusal] = []
    for index, raw in enumerate(given):
        value = decode_body(bytes(raw), _DECODER)
        if isinstance(value, Refusal):
            return _at(value, index)
        made = await parts.submitter.prepare(value, sender.actor.uid, None, sender.trace_header)
        if isinstance(made, Refused):
            refusal = await tell(parts, made, sender, value)
            if isinstance(refusal, Refusal):
                refusals.append(_at(refusal, index))
                if not refusal.faults:  # no fault of the reply: the next ones would hear the same
                    break
            continue
        if isinstance(made, Prepared):
            open_.append(made)
            seq = made.new.answers
            if seq is not None and seq in answered:
                refusals.append(invalid(f"/replies/{index}/in_reply_to_event", _TWICE))
            answered |= set() if seq is None else {seq}
        replies.append(_Reply(value, made))
    return _together(refusals)


def _together(refusals: list[Refusal]) -> Refusal | None:
    """The first refusal with the faults of all: whoever mends a call wants to do it once."""
    if not refusals or not refusals[0].faults:
        return refusals[0] if refusals else None
    return replace(refusals[0], faults=tuple(fault for one in refusals for fault in one.faults))


async def _told(call: _Call, done: Completed) -> Answer | Refusal:
    parts, results = call.parts, iter(done.results)
    jobs: list[Job] = []
    for one in call.replies:
        made: SubmitResult
        if isinstance(one.made, Prepared):
            stored = next(results)
            parts.on_accepted(one.made.new, stored)
            call.open.remove(one.made)
            made = parts.submitter.settle(one.made, stored)
        else:
            made = one.made
        answer = await tell(parts, made, call.sender, one.value)
        if isinstance(answer, Answer) and isinstance(answer.value, Job):
            jobs.append(answer.value)
    return _answer(call.claim, done, jobs)


async def _again(parts: Parts, claim: LeaseClaim, done: Completed) -> Answer:
    """What the first call did, with its jobs as they stand now; one that retention took is left out."""
    found = [await parts.reader.find_job(number) for number in done.jobs]
    jobs = [structs.replace(render_job(one), deduplicated=True) for one in found if one]
    return _answer(claim, done, jobs)


def _answer(claim: LeaseClaim, done: Completed, jobs: list[Job]) -> Answer:
    return Answer(
        CompletedLease(
            id=encode_id(Kind.LEASE, claim.number),
            acked=[encode_id(Kind.EVENT, seq) for seq in done.acked],
            replies=jobs,
            repeated=done.is_repeat,
        )
    )


async def _stopped(call: _Call, stopped: ReplyStopped) -> Answer | Refusal:
    reply = call.replies[stopped.index]
    if not isinstance(reply.made, Prepared):
        return _lost()
    call.open.remove(reply.made)
    settled = call.parts.submitter.settle(reply.made, stopped.result)
    refusal = await tell(call.parts, settled, call.sender, reply.value)
    return _at(refusal, stopped.index) if isinstance(refusal, Refusal) else refusal


def _not_shown(asked: CompleteItems, seqs: tuple[int, ...]) -> Refusal:
    missing = {encode_id(Kind.EVENT, seq) for seq in seqs}
    index = next(number for number, one in enumerate(asked.ack) if one in missing)
    return invalid(f"/ack/{index}", "The lease does not show this event.")


def _at(refusal: Refusal, index: int) -> Refusal:
    """The refusal of a reply as one of the whole call."""
    faults = tuple(replace(one, pointer=f"/replies/{index}{one.pointer}") for one in refusal.faults)
    return replace(refusal, faults=faults)


def _lost() -> Refusal:
    return Refusal(
        Code.LEASE_LOST, "The lease is over, or the fence is another one. Nothing was done."
    )
