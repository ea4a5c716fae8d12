"""Jobs: handed in, read, listed, taken back, moved."""

import asyncio
from typing import Any, Final

from postroom.api.parsing import fold_address, read_cursor, read_id, read_instant, read_since
from postroom.api.problems import NOT_FOUND, Code, Refusal, invalid
from postroom.api.render import render_cancelled, render_job, render_jobs
from postroom.api.requests import Asked, JobQuery, JobRequest, JobWait, Reschedule
from postroom.api.routing import Answer, Call, Result, Route
from postroom.api.shapes import CancelAnswerList, Job, JobList
from postroom.api.submitting import Sender, submit
from postroom.core.ids import Kind, decode_id
from postroom.core.record import JobRecord
from postroom.ports.desk import JobFilter, WrongState
from postroom.ports.submitting import RefusalCode


SUBMIT_REFUSALS: Final = tuple(Code(word) for word in RefusalCode)


async def post_job(call: Call[Asked, Any]) -> Result:
    """Accept one job; what is under way is stored even if the caller hangs up."""
    if len(set(call.request.headers.getall("Idempotency-Key", ()))) > 1:
        return invalid("/idempotency_key", "The header Idempotency-Key gives more than one key.")
    return await call.parts.kept.finish(submit(call.parts, sender_of(call), call.body))


def sender_of(call: Call[Any, Any]) -> Sender:
    """Who calls, and the headers that speak for a job."""
    return Sender(call.actor, call.header("Idempotency-Key"), call.header("traceparent"))


async def get_job(call: Call[JobWait, None]) -> Result:
    """Read a job, at once or when it is settled."""
    number = decode_id(Kind.JOB, call.id)
    if number is None:
        return NOT_FOUND
    record = await (
        _settled(call, number) if call.query.wait else call.parts.reader.find_job(number)
    )
    return NOT_FOUND if record is None else Answer(render_job(record))


async def _settled(call: Call[JobWait, None], number: int) -> JobRecord | None:
    waiting = call.parts.loop.wait_settled(number, call.query.timeout_s)
    async with asyncio.TaskGroup() as group:
        settled = group.create_task(waiting)
        stopping = group.create_task(call.parts.stopping.wait())
        try:
            await asyncio.wait({settled, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if settled.done():
                return settled.result()
        finally:
            settled.cancel()
            stopping.cancel()
    return await call.parts.reader.find_job(number)


async def list_jobs(call: Call[JobQuery, None]) -> Result:
    """A page of jobs."""
    asked = call.query
    since = read_since(asked.since, call.parts.clock.now())
    if isinstance(since, Refusal):
        return since
    recipient = None if asked.recipient is None else fold_address(asked.recipient, "/recipient")
    if isinstance(recipient, Refusal):
        return recipient
    wanted = JobFilter(
        mailbox_id=asked.mailbox_id,
        status=asked.status,
        thread_number=read_id(Kind.THREAD, asked.thread_id),
        recipient=recipient,
        trace_id=asked.trace_id,
        conversation_id=asked.conversation_id,
        idempotency_key=asked.idempotency_key,
        since=since,
    )
    beside = (
        "status",
        "thread_number",
        "recipient",
        "trace_id",
        "conversation_id",
        "idempotency_key",
    )
    if sum(getattr(wanted, name) is not None for name in beside) > 1:
        return Refusal(Code.FILTER_COMBINATION, "More than one filter beside mailbox_id and since.")
    page = await call.parts.reader.find_jobs(wanted, read_cursor(asked.cursor), asked.limit)
    return Answer(render_jobs(page))


async def cancel_job(call: Call[Asked, Asked]) -> Result:
    """Take back what has no mark."""
    number = decode_id(Kind.JOB, call.id)
    if number is None:
        return NOT_FOUND
    parts = call.parts
    found = await parts.admin.cancel_job(number, call.actor, parts.clock.now())
    return NOT_FOUND if found is None else Answer(render_cancelled(found))


async def reschedule_job(call: Call[Asked, Reschedule]) -> Result:
    """Move what has no mark to another time."""
    number = decode_id(Kind.JOB, call.id)
    send_at = read_instant(call.body.send_at, "/send_at")
    if isinstance(send_at, Refusal):
        return send_at
    if number is None:
        return NOT_FOUND
    parts = call.parts
    found = await parts.admin.reschedule_job(number, send_at, call.actor, parts.clock.now())
    match found:
        case None:
            return NOT_FOUND
        case WrongState():
            return wrong_state(found)
        case JobRecord():
            return Answer(render_job(found))


def wrong_state(found: WrongState) -> Refusal:
    """409."""
    return Refusal(Code.WRONG_STATE, found.detail, more={"state": found.state})


ROUTES: Final = (
    Route(
        "POST",
        "/jobs",
        post_job,
        "Accept one job",
        {202: Job, 200: Job},
        SUBMIT_REFUSALS,
        body=Any,
        shown_body=JobRequest,
        needs_body=True,
        takes_work=True,
    ),
    Route(
        "GET", "/jobs", list_jobs, "List jobs", {200: JobList}, (Code.FILTER_COMBINATION,), JobQuery
    ),
    Route("GET", "/jobs/{id}", get_job, "Read a job", {200: Job}, (), JobWait, may_wait=True),
    Route(
        "POST",
        "/jobs/{id}/cancel",
        cancel_job,
        "Take back what has no mark",
        {200: CancelAnswerList},
        body=Asked,
    ),
    Route(
        "POST",
        "/jobs/{id}/reschedule",
        reschedule_job,
        "Move what has no mark to another time",
        {200: Job},
        (Code.WRONG_STATE,),
        body=Reschedule,
        needs_body=True,
    ),
)
