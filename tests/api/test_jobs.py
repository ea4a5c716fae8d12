"""A job is handed in: accepted, repeated, merged, refused, and never accepted where it was not stored."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.job import Problem
from postroom.ports.errors import StorageFull, StoreUnavailable
from postroom.ports.submitting import Merged, RefusalCode, RefusalKind, Refused, Repeated
from support.api_server import HELLO, JOB_1, UID, Api, running
from support.api_submitter import FakeSubmitter
from support.records import delivery, job


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACED = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
S = DeliveryState


class Answering(FakeSubmitter):
    """Says one thing to every job."""

    answer: Any = None

    async def submit(self, *asked: object) -> Any:  # type: ignore[override]
        return self.answer


async def test_an_accepted_job_is_answered_with_its_reference(api: Api) -> None:
    said = await api.post("/jobs", HELLO)
    assert said.status == 202
    assert said.headers["location"] == f"/v1/jobs/{JOB_1}"
    assert said.json == {
        "id": JOB_1,
        "status": "accepted",
        "deduplicated": False,
        "mailbox_id": "support",
        "thread_id": "thr_0000000000001",
        "message_id": "<1@example.com>",
        "idempotency_key": "minted",
        "trace_id": "trace-1",
        "created_at": "2025-11-30T11:00:00.000000Z",
        "duplicates_dropped": 0,
        "deliveries": [
            {
                "id": "dlv_0000000000001",
                "recipient": "ann@example.com",
                "state": "pending",
                "thread_id": "thr_0000000000001",
                "message_id": "<1@example.com>",
                "attempts": 0,
                "next_attempt_at": "2025-11-30T11:00:00.000000Z",
                "reason_code": None,
            }
        ],
    }


async def test_the_submitter_learns_who_calls_and_what_the_headers_say(api: Api) -> None:
    await api.post("/jobs", HELLO, headers={"Idempotency-Key": "k", "traceparent": "00-ab-cd-01"})
    assert api.submitter.seen == [(HELLO, UID, "k", "00-ab-cd-01")]


async def test_two_keys_for_one_job_are_refused_and_one_key_said_twice_is_one_key(api: Api) -> None:
    torn = [("Idempotency-Key", "k"), ("Idempotency-Key", "l")]
    said = await api.post("/jobs", HELLO, headers=torn)
    assert (said.status, said.json["errors"][0]["pointer"]) == (422, "/idempotency_key")
    assert api.submitter.seen == []
    twice = [("Idempotency-Key", "k"), ("Idempotency-Key", "k")]
    assert (await api.post("/jobs", HELLO, headers=twice)).status == 202


async def test_the_same_key_again_answers_the_original_with_its_current_state(api: Api) -> None:
    await api.post("/jobs", {**HELLO, "idempotency_key": "k"})
    api.outbox.jobs[1] = job(1, delivery(1, S.SENT))
    again = await api.post("/jobs", {**HELLO, "idempotency_key": "k"})
    assert again.status == 200
    assert (again.json["id"], again.json["deduplicated"]) == (JOB_1, True)
    assert again.json["deliveries"][0]["state"] == "sent"


@pytest.mark.parametrize(
    ("merged", "status", "deduplicated"),
    [
        pytest.param(Merged(queued=1, already=4), 202, False, id="one is new"),
        pytest.param(Merged(queued=0, already=5), 200, True, id="none is new"),
    ],
)
async def test_a_merge_tells_how_many_are_new(
    tmp_path: Path, merged: Merged, status: int, *, deduplicated: bool
) -> None:
    async with running(tmp_path) as api:
        api.outbox.jobs[1] = job(1, delivery(1))
        submitter = Answering(api.outbox)
        submitter.answer = Repeated(1, is_expired=False, duplicates_dropped=0, merged=merged)
        async with running_with(tmp_path, api, submitter) as other:
            said = await other.post("/jobs", HELLO)
    assert said.status == status
    assert (said.json["queued"], said.json["already"]) == (merged.queued, merged.already)
    assert said.json["deduplicated"] is deduplicated


def running_with(tmp_path: Path, api: Api, submitter: FakeSubmitter) -> Any:
    where = tmp_path / "other"
    where.mkdir()
    return running(where, submitter=submitter, reader=api.outbox)


async def test_a_replay_after_retention_answers_what_is_left(tmp_path: Path) -> None:
    async with running(tmp_path) as api:
        api.outbox.jobs[1] = replace(job(1), is_expired=True, final_status="completed")
        submitter = Answering(api.outbox)
        submitter.answer = Repeated(1, is_expired=True, duplicates_dropped=0)
        async with running_with(tmp_path, api, submitter) as other:
            said = await other.post("/jobs", HELLO, headers={"Idempotency-Key": "k", **TRACED})
    assert said.status == 200
    assert (said.json["deliveries"], said.json["expired"]) == ([], True)
    assert not {"priority", "copies", "conversation_id", "request"} & set(said.json)
    assert said.json["status"] == "completed"
    assert (said.json["idempotency_key"], said.json["trace_id"]) == ("k", TRACE)


async def test_a_refusal_names_the_trace_of_the_header(tmp_path: Path) -> None:
    async with running(tmp_path) as api:
        submitter = Answering(api.outbox)
        submitter.answer = Refused(RefusalKind.WRONG, RefusalCode.JOB_EXPIRED, "It can not be.")
        async with running_with(tmp_path, api, submitter) as other:
            said = await other.post("/jobs", HELLO, headers=TRACED)
    assert said.json["trace_id"] == TRACE


@pytest.mark.parametrize("code", list(RefusalCode))
async def test_every_refusal_of_the_submitter_has_its_problem(
    tmp_path: Path, code: RefusalCode
) -> None:
    async with running(tmp_path) as api:
        submitter = Answering(api.outbox)
        fault = Problem("/to/0", "The address must be user@domain.")
        submitter.answer = Refused(
            RefusalKind.WRONG, code, "It can not be.", (fault,), retry_after_s=7, job_number=1
        )
        async with running_with(tmp_path, api, submitter) as other:
            said = await other.post("/jobs", {**HELLO, "trace_id": "my trace\n"})
    assert said.headers["content-type"] == "application/problem+json"
    assert said.headers["retry-after"] == "7"
    assert said.code == code
    assert said.json["status"] == said.status
    assert said.json["errors"] == [{"pointer": "/to/0", "detail": fault.detail}]
    assert said.json["job_id"] == JOB_1
    assert said.json["trace_id"] == "my trace?"


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        pytest.param(StoreUnavailable("SELECT"), 503, "store_unavailable", id="the store is away"),
        pytest.param(StorageFull("/var"), 507, "storage_full", id="the disk is full"),
        pytest.param(KeyError("our secret"), 500, "internal", id="a bug"),
    ],
)
async def test_what_was_not_stored_is_never_accepted(
    api: Api, fault: Exception, status: int, code: str
) -> None:
    api.submitter.fault = fault
    said = await api.post("/jobs", HELLO)
    assert (said.status, said.code) == (status, code)
    assert said.json["retryable"] is True
    assert int(said.headers["retry-after"]) == said.json["retry_after_s"]
    assert str(fault) not in said.body.decode()
    told = "POST /v1/jobs" if status == 500 else "store"
    assert api.faults == [(told, fault)]


async def test_a_client_that_hangs_up_leaves_the_job_it_handed_over(api: Api) -> None:
    api.submitter.gate = asyncio.Event()
    body = json.dumps({**HELLO, "idempotency_key": "k"}).encode()
    async with api.raw() as (_, writer):
        writer.write(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body))
        writer.write(body)
        await api.submitter.begun.wait()
    again = asyncio.ensure_future(api.post("/jobs", {**HELLO, "idempotency_key": "k"}))  # noqa: TID251
    while len(api.submitter.seen) < 2:
        await api.get("/healthz")
    api.submitter.gate.set()
    assert (await again).status == 200
    assert api.submitter.keys == {"k": 1}
