import asyncio
from pathlib import Path
from typing import Any

from postroom.ports.errors import StoreUnavailable
from postroom.ports.submitting import SubmitResult
from support.api_outbox import FakeOutbox
from support.api_server import Api, running
from support.api_submitter import FakeSubmitter
from support.clock import settle


def mail(name: str, **more: object) -> dict[str, object]:
    return {
        "mailbox_id": "support",
        "subject": "Hi",
        "text": "Hi.",
        "to": [f"{name}@example.com"],
        **more,
    }


async def test_each_job_of_a_batch_is_answered_on_its_own_and_in_order(api: Api) -> None:
    first = mail("ann", idempotency_key="k1")
    items = [first, mail("bob", to=[]), mail("eve", idempotency_key="k2"), first, "nonsense"]
    said = await api.post("/jobs/batch", {"jobs": items})
    assert said.status == 200
    results = said.json["results"]
    assert [one["status"] for one in results] == [202, 422, 202, 200, 422]
    assert results[0]["job"]["id"] == results[3]["job"]["id"]
    assert results[3]["job"]["deduplicated"] is True
    assert results[1]["problem"]["errors"][0]["pointer"] == "/to"


async def test_a_batch_goes_to_the_store_at_once(api: Api) -> None:
    api.submitter.gate = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        jobs = [mail(f"u{n}") for n in range(50)]
        waiting = group.create_task(api.post("/jobs/batch", {"jobs": jobs}))
        while len(api.submitter.seen) < 50:
            await api.get("/healthz")
        api.submitter.gate.set()
    assert {one["status"] for one in waiting.result().json["results"]} == {202}


class Timed(FakeSubmitter):
    """Notes in which turn of the loop each job is judged."""

    now = 0
    turns: tuple[int, ...] = ()

    async def prepare(self, *asked: Any) -> Any:
        self.turns = (*self.turns, self.now)
        return await super().prepare(*asked)

    async def count(self) -> None:
        while True:
            await settle(1)
            self.now += 1


async def test_others_have_their_turn_between_the_jobs_of_a_batch(tmp_path: Path) -> None:
    outbox = FakeOutbox()
    submitter = Timed(outbox)
    async with (
        running(tmp_path, reader=outbox, submitter=submitter) as api,
        asyncio.TaskGroup() as group,
    ):
        counting = group.create_task(submitter.count())
        await api.post("/jobs/batch", {"jobs": [mail(f"u{n}") for n in range(20)]})
        counting.cancel()
    assert len(set(submitter.turns)) == len(submitter.turns) == 20


class SlowFirst(FakeSubmitter):
    """Takes its time over the first job it is given, until another one is done."""

    done: asyncio.Event | None = None

    async def submit(self, *asked: Any) -> SubmitResult:
        if self.done is None:
            self.done = asyncio.Event()
            await self.done.wait()
            return await super().submit(*asked)
        result = await super().submit(*asked)
        self.done.set()
        return result


async def test_the_first_under_a_key_is_the_one_that_is_accepted(tmp_path: Path) -> None:
    first = mail("ann", idempotency_key="k1")
    outbox = FakeOutbox()
    async with running(tmp_path, reader=outbox, submitter=SlowFirst(outbox)) as api:
        said = await api.post("/jobs/batch", {"jobs": [first, first, mail("bob")]})
    assert [one["status"] for one in said.json["results"]] == [202, 200, 202]


async def test_a_store_that_fails_fails_each_job_not_the_batch(api: Api) -> None:
    api.submitter.fault = StoreUnavailable("busy")
    said = await api.post("/jobs/batch", {"jobs": [mail("ann"), mail("bob")]})
    assert [one["status"] for one in said.json["results"]] == [503, 503]
    assert said.json["results"][0]["problem"]["retryable"] is True


async def test_a_bug_in_one_job_is_no_bug_in_the_others(api: Api) -> None:
    api.submitter.fault = KeyError("x")
    said = await api.post("/jobs/batch", {"jobs": [mail("ann")]})
    assert [one["status"] for one in said.json["results"]] == [500]
    assert len(api.faults) == 1


async def test_a_batch_has_its_limits(api: Api) -> None:
    many = await api.post("/jobs/batch", {"jobs": [{}] * 1001})
    assert (many.status, many.code) == (422, "batch_too_large")
    crowd = [mail("x", to=["a@example.com"] * 1001)] * 10
    wide = await api.post("/jobs/batch", {"jobs": crowd})
    assert (wide.status, wide.code) == (422, "batch_too_large")
    fat = await api.post("/jobs/batch", {"jobs": [mail("x", text="x" * (1 << 20)), mail("y")]})
    assert [one["status"] for one in fat.json["results"]] == [413, 202]
    assert (await api.ask("POST", "/v1/jobs/batch", data=b" " * ((8 << 20) + 1))).status == 413
    assert len(api.submitter.seen) == 1


async def test_one_key_can_not_stand_for_many_jobs(api: Api) -> None:
    said = await api.post("/jobs/batch", {"jobs": []}, headers={"Idempotency-Key": "k"})
    assert (said.status, said.code) == (422, "invalid_request")


async def test_a_batch_of_nothing_is_nothing(api: Api) -> None:
    assert (await api.post("/jobs/batch", {"jobs": []})).json == {"results": []}


async def test_what_is_beside_the_jobs_is_refused(api: Api) -> None:
    said = await api.post("/jobs/batch", {"jobs": [], "mailbox_id": "support"})
    assert (said.status, said.code) == (422, "unknown_field")
    assert said.json["errors"][0]["pointer"] == "/mailbox_id"
