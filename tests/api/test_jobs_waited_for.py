"""Waiting for a job: until it settles, in vain, given up, and while the daemon stops."""

import asyncio

from postroom.core.delivery import DeliveryState
from support.api_server import HELLO, JOB_1, Api
from support.records import delivery, job


S = DeliveryState


async def test_waiting_for_a_job_ends_when_it_settles(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1))
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(api.get(f"/jobs/{JOB_1}?wait=settled&timeout_s=60"))
        await api.loop.waiting.wait()
        api.outbox.jobs[1] = job(1, delivery(1, S.SENT))
        api.loop.settle.set()
    assert waiting.result().json["status"] == "completed"


async def test_waiting_in_vain_answers_the_job_as_it_stands(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1))
    said = await api.get(f"/jobs/{JOB_1}?wait=settled&timeout_s=0.01")
    assert (said.status, said.json["status"]) == (200, "accepted")


async def test_nobody_waits_for_a_job_that_is_not_there(api: Api) -> None:
    assert (await api.get(f"/jobs/{JOB_1}?wait=settled&timeout_s=0.01")).status == 404


async def test_a_client_that_hangs_up_waits_no_more(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1))
    async with api.raw() as (_, writer):
        writer.write(f"GET /v1/jobs/{JOB_1}?wait=settled HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await api.loop.waiting.wait()
    await api.loop.cancelled.wait()


async def test_a_client_that_closes_its_sending_side_is_taken_for_gone(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1))
    async with api.raw() as (reader, writer):
        writer.write(f"GET /v1/jobs/{JOB_1}?wait=settled HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await api.loop.waiting.wait()
        writer.write_eof()
        assert await reader.read() == b""
    await api.loop.cancelled.wait()


async def test_a_stopping_daemon_answers_who_waits_and_takes_nothing_new(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1))
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(api.get(f"/jobs/{JOB_1}?wait=settled&timeout_s=60"))
        await api.loop.waiting.wait()
        other = await api.get("/healthz")
        await api.server.drain()
    assert other.status == 200
    assert waiting.result().json["status"] == "accepted"
    refused = await api.post("/jobs", HELLO)
    assert (refused.status, refused.code) == (503, "draining")
    assert (await api.get(f"/jobs/{JOB_1}")).status == 200
    assert (await api.get("/readyz")).status == 503
