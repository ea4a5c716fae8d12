import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant
from postroom.core.job import Problem
from postroom.ports.desk import JobFilter
from postroom.ports.errors import StorageFull, StoreUnavailable
from postroom.ports.submitting import Merged, RefusalCode, RefusalKind, Refused, Repeated
from support.api_fakes import FakeSubmitter
from support.api_server import UID, Api, running
from support.records import NOW, delivery, job


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACED = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
S = DeliveryState
HELLO = {"mailbox_id": "support", "subject": "Hello", "text": "Hello.\n", "to": ["ann@example.com"]}
JOB_1 = encode_id(Kind.JOB, 1)


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


async def test_a_job_is_read_by_its_id(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1, S.SENT), delivery(2, S.FAILED))
    said = await api.get(f"/jobs/{JOB_1}")
    assert said.status == 200
    assert said.json["status"] == "partial"
    assert (said.json["thread_id"], said.json["message_id"]) == (None, None)
    assert said.json["request"] == {"subject": "Hello"}


@pytest.mark.parametrize(
    "path",
    [
        "/jobs/job_0000000000009",
        "/jobs/dlv_0000000000001",
        "/jobs/1",
        "/jobs/job_0000000000001/nothing",
        "/jobs/",
        "/jobs/%2F",
        "/threads/thr_0000000000001",
        "/templates",
        "/nothing",
    ],
)
async def test_what_is_not_there_is_not_found(api: Api, path: str) -> None:
    said = await api.get(path)
    assert (said.status, said.code) == (404, "not_found")


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


async def test_jobs_are_listed_a_page_at_a_time(api: Api) -> None:
    api.outbox.jobs = {number: job(number, delivery(number)) for number in range(1, 6)}
    first = (await api.get("/jobs?mailbox_id=support&limit=3")).json
    second = (await api.get(f"/jobs?limit=3&cursor={first['next_cursor']}")).json
    ids = [one["id"] for one in [*first["items"], *second["items"]]]
    assert ids == [encode_id(Kind.JOB, number) for number in (5, 4, 3, 2, 1)]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("status=in_progress", JobFilter(status="in_progress")),
        ("thread_id=thr_0000000000003", JobFilter(thread_number=3)),
        ("recipient=Ann@EXAMPLE.com", JobFilter(recipient="ann@example.com")),
        ("trace_id=t%20x", JobFilter(trace_id="t x")),
        ("conversation_id=c&mailbox_id=m", JobFilter(mailbox_id="m", conversation_id="c")),
        ("idempotency_key=k", JobFilter(idempotency_key="k")),
        ("since=24h", JobFilter(since=Instant(NOW - 86_400_000_000))),
        ("since=2025-11-30T12:00:00%2B01:00", JobFilter(since=NOW)),
    ],
)
async def test_each_filter_reaches_the_outbox(api: Api, query: str, wanted: JobFilter) -> None:
    assert (await api.get(f"/jobs?{query}")).status == 200
    assert api.outbox.did == [("find_jobs", wanted, None, 100)]


@pytest.mark.parametrize(
    ("query", "code", "pointer"),
    [
        ("colour=red", "unknown_field", "/colour"),
        ("status=done", "invalid_request", "/status"),
        ("status=null", "invalid_request", "/status"),
        ("status=", "invalid_request", "/status"),
        ("limit=0", "invalid_request", "/limit"),
        ("limit=x", "invalid_request", "/limit"),
        ("since=yesterday", "invalid_request", "/since"),
        ("since=99999999999d", "invalid_request", "/since"),
        ("cursor=7", "invalid_request", "/cursor"),
        ("recipient=nobody", "invalid_request", "/recipient"),
        ("limit=1&limit=2", "invalid_request", ""),
        ("&".join(f"a{n}=1" for n in range(200)), "invalid_request", ""),
    ],
)
async def test_a_filter_that_can_not_be_is_refused_by_name(
    api: Api, query: str, code: str, pointer: str
) -> None:
    said = await api.get(f"/jobs?{query}")
    assert (said.status, said.code) == (422, code)
    assert [one["pointer"] for one in said.json["errors"]] == [pointer]


async def test_filters_that_no_index_answers_together_are_refused(api: Api) -> None:
    said = await api.get("/jobs?status=failed&trace_id=t")
    assert (said.status, said.code) == (422, "filter_combination")


async def test_a_cancel_says_what_became_of_each_delivery(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1), delivery(2, S.SENT), delivery(3, S.UNCERTAIN))
    said = await api.post(f"/jobs/{JOB_1}/cancel")
    assert said.status == 200
    assert [one["cancel"] for one in said.json["deliveries"]] == [
        "cancelled",
        "too_late",
        "uncertain",
    ]
    assert said.json["deliveries"][0] == {
        "id": "dlv_0000000000001",
        "recipient": "user1@example.com",
        "cancel": "cancelled",
    }
    assert api.outbox.did == [("cancel_job", 1, f"uid:{UID}")]


@pytest.mark.parametrize("body", [None, {}], ids=["no body", "an empty object"])
async def test_a_call_that_takes_nothing_takes_an_empty_body(api: Api, body: object) -> None:
    assert (await api.post(f"/jobs/{JOB_1}/cancel", body)).status == 404
    api.outbox.jobs[1] = job(1, delivery(1))
    assert (await api.post(f"/jobs/{JOB_1}/cancel", body)).status == 200


async def test_a_job_can_be_moved_to_another_time(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1))
    said = await api.post(f"/jobs/{JOB_1}/reschedule", {"send_at": "2025-11-30T11:00:00Z"})
    assert said.status == 200
    assert api.outbox.did == [("reschedule_job", 1, NOW)]


async def test_a_job_that_is_sent_can_not_be_moved(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1, S.SENT))
    said = await api.post(f"/jobs/{JOB_1}/reschedule", {"send_at": "2025-11-30T11:00:00Z"})
    assert (said.status, said.code, said.json["state"]) == (409, "wrong_state", "sent")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({}, "/send_at"), ({"send_at": "tomorrow"}, "/send_at"), ({"send_at": 5}, "/send_at")],
)
async def test_a_time_that_is_none_is_refused(api: Api, body: object, pointer: str) -> None:
    said = await api.post(f"/jobs/{JOB_1}/reschedule", body)
    assert (said.status, said.code) == (422, "invalid_request")
    assert said.json["errors"][0]["pointer"] == pointer
