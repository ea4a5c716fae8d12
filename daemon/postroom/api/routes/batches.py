"""Batches: many jobs in one request, each accepted or refused on its own, answered in their order.

All go to the store at once and so share its commits; only jobs under one key go one after the other, so that the
first is the one that is accepted.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Raw
from msgspec.json import Decoder

from postroom.api.guard import guarded
from postroom.api.parsing import decode_body
from postroom.api.parts import Parts
from postroom.api.problems import Code, Refusal, invalid
from postroom.api.render import render_problem
from postroom.api.requests import Asked, BatchItems, BatchRequest
from postroom.api.routes.jobs import sender_of
from postroom.api.routing import Answer, Call, Result, Route
from postroom.api.shapes import BatchAnswer, BatchItem, Job
from postroom.api.submitting import Sender, submit


_JOBS: Final = 1_000
_DELIVERIES: Final = 10_000
_DECODER: Final[Decoder[Any]] = Decoder()
_RECIPIENTS: Final = ("to", "cc", "bcc")


async def post_batch(call: Call[Asked, BatchItems]) -> Result:
    """Accept many jobs; what is under way is stored even if the caller hangs up."""
    sender = sender_of(call)
    if sender.header_key is not None:
        return invalid(
            "", "An Idempotency-Key header can not stand for many jobs; give each its own."
        )
    if len(call.body.jobs) > _JOBS:
        return invalid("/jobs", f"More than {_JOBS:,} jobs.", Code.BATCH_TOO_LARGE)
    values = [_read(item, call.parts.bounds.body_bytes) for item in call.body.jobs]
    if sum(map(_count, values)) > _DELIVERIES:
        return invalid("/jobs", f"More than {_DELIVERIES:,} recipients.", Code.BATCH_TOO_LARGE)
    return await call.parts.kept.finish(_submit_all(call.parts, sender, values))


def _read(item: Raw, limit: int) -> Any | Refusal:
    if memoryview(item).nbytes > limit:
        return Refusal(Code.BODY_TOO_LARGE, f"The job has more than {limit:,} bytes.")
    return decode_body(bytes(item), _DECODER)


def _count(value: object) -> int:
    if not isinstance(value, dict):
        return 0
    lists = (value.get(name) for name in _RECIPIENTS)
    return sum(len(one) for one in lists if isinstance(one, list))


async def _submit_all(parts: Parts, sender: Sender, values: Sequence[object]) -> Answer:
    results: list[BatchItem] = [BatchItem(status=0)] * len(values)

    async def submit_in_turn(places: Sequence[int]) -> None:
        for place in places:
            results[place] = await _submit_one(parts, sender, values[place])

    async with asyncio.TaskGroup() as group:
        for places in _turns(values):
            group.create_task(submit_in_turn(places))
            await parts.clock.sleep(0)  # else nobody has a turn before the last one is judged
    return Answer(BatchAnswer(results=results))


def _turns(values: Sequence[object]) -> list[list[int]]:
    turns: dict[object, list[int]] = {}
    for place, value in enumerate(values):
        key = value.get("idempotency_key") if isinstance(value, dict) else None
        turns.setdefault(key if isinstance(key, str) else place, []).append(place)
    return list(turns.values())


async def _submit_one(parts: Parts, sender: Sender, value: object) -> BatchItem:
    if isinstance(value, Refusal):
        result: Result = value
    else:
        result = await guarded(parts, "POST /v1/jobs/batch", submit(parts, sender, value))
    match result:
        case Answer(value=Job() as job):
            return BatchItem(status=result.status, job=job)
        case Refusal():
            return BatchItem(status=result.entry.status, problem=render_problem(result))
        case _:
            raise AssertionError(result)


ROUTES: Final = (
    Route(
        "POST",
        "/jobs/batch",
        post_batch,
        "Accept many jobs, each on its own",
        {200: BatchAnswer},
        (Code.INVALID_REQUEST, Code.UNKNOWN_FIELD, Code.BATCH_TOO_LARGE),
        body=BatchItems,
        needs_body=True,
        is_batch=True,
        takes_work=True,
        shown_body=BatchRequest,
    ),
)
