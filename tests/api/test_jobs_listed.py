"""Jobs are read by their id, and listed by what is known of them."""

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant
from postroom.ports.desk import JobFilter
from support.api_server import JOB_1, Api
from support.records import NOW, delivery, job


S = DeliveryState


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
        ("since=%EF%BC%911h", "invalid_request", "/since"),
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
