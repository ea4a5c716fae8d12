"""Leases as agents ask for them: what they hold, waiting for one, keeping it and giving it back."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from postroom.core.ids import Kind, encode_id
from postroom.core.instant import SECOND
from postroom.ports.changes import EventPublished, ThreadWaits
from postroom.ports.leasing import Release
from support.api_outbox import FakeOutbox
from support.api_server import Api, handlers, running, until
from support.clock import FakeClock
from support.lease_fakes import CLAIM, LEASE, LEASE_ID, MAIL_ID, FakeLeases
from support.records import NOW, job


# -- acquire


async def test_a_lease_says_all_that_an_agent_needs(api: Api) -> None:
    api.leases.waiting = [LEASE]
    said = await api.post("/leases", {"consumer": "agents", "mailbox_ids": ["support"]})
    assert said.status == 200
    (lease,) = said.json["leases"]
    assert lease["events"][0]["id"] == MAIL_ID
    assert lease["events"][0]["automation"] == {"kind": "human", "evidence": []}
    assert {name: lease[name] for name in ("id", "fence", "receive_count", "more")} == {
        "id": LEASE_ID,
        "fence": 5,
        "receive_count": 1,
        "more": False,
    }
    assert lease["thread"] == {
        "id": encode_id(Kind.THREAD, 3),
        "version": 2,
        "mailbox_id": "support",
        "conversation_id": "conv_1",
        "metadata": {"run": "r"},
    }


async def test_what_is_not_said_has_its_default(api: Api) -> None:
    said = await api.post("/leases")
    assert said.json == {"leases": []}
    (wish,) = api.leases.wishes
    assert (wish.consumer, wish.mailbox_ids, wish.types) == ("default", ("support",), None)
    assert (wish.max_threads, wish.max_events, wish.lease_s) == (1, 100, 60.0)
    assert wish.attempt_id is None


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ({"mailbox_ids": ["support", "other"]}, "unknown_mailbox", "/mailbox_ids/1"),
        ({"mailbox_ids": []}, "invalid_request", "/mailbox_ids"),
        ({"consumer": "a/b"}, "invalid_request", "/consumer"),
        ({"types": ["mail.received"]}, "invalid_request", "/types/0"),
        ({"types": ["alert.raised"]}, "invalid_request", "/types/0"),
        ({"wait_s": 31}, "invalid_request", "/wait_s"),
        ({"lease_s": 3601}, "invalid_request", "/lease_s"),
        ({"lease_s": 0}, "invalid_request", "/lease_s"),
        ({"max_events": 101}, "invalid_request", "/max_events"),
        ({"max_threads": 0}, "invalid_request", "/max_threads"),
        ({"wait": 3}, "unknown_field", "/wait"),
    ],
)
async def test_a_wish_that_can_not_be_is_refused(
    api: Api, body: object, code: str, pointer: str
) -> None:
    said = await api.post("/leases", body)
    assert (said.status, said.code) == (422, code)
    assert said.json["errors"][0]["pointer"].startswith(pointer)


async def test_a_long_poll_is_woken_by_what_waits_for_its_consumer(api: Api) -> None:
    async with asyncio.TaskGroup() as group:
        poll = group.create_task(api.post("/leases", {"consumer": "agents", "wait_s": 30}))
        await until(lambda: len(api.leases.wishes) == 1)
        api.bells.committed([ThreadWaits("others", 3)])
        api.bells.committed([EventPublished(7, "support", 3, "delivery.sent", ())])
        api.leases.waiting = [LEASE]
        api.bells.committed([EventPublished(7, "support", 3, "reply.received", ("agents",))])
    assert poll.result().json["leases"][0]["id"] == LEASE_ID
    assert len(api.leases.wishes) == 2


async def test_a_long_poll_in_vain_ends_when_its_time_is_up(api: Api) -> None:
    asked = asyncio.get_running_loop().time()
    said = await api.post("/leases", {"wait_s": 0.2})
    assert said.json == {"leases": []}
    assert asyncio.get_running_loop().time() - asked >= 0.2


async def test_a_draining_daemon_sends_pollers_away_at_once(api: Api) -> None:
    async with asyncio.TaskGroup() as group:
        poll = group.create_task(api.post("/leases", {"wait_s": 30}))
        await until(lambda: api.leases.wishes)
        await api.server.drain()
    assert poll.result().json == {"leases": [], "draining": True}


class Slow(FakeLeases):
    """Grants when it is let to."""

    gate: asyncio.Event
    asked: asyncio.Event

    async def acquire(self, wish: Any) -> Any:
        self.asked.set()
        await self.gate.wait()
        return await super().acquire(wish)


@pytest.mark.parametrize(
    ("attempt", "given_back"),
    [({}, 1), ({"attempt_id": "try-1"}, 0)],
    ids=["for others", "for its next try"],
)
async def test_what_is_granted_to_a_vanished_caller_is_given_back(
    tmp_path: Path, attempt: dict[str, str], given_back: int
) -> None:
    slow = Slow(waiting=[LEASE])
    slow.gate, slow.asked = asyncio.Event(), asyncio.Event()
    async with running(tmp_path, leases=slow) as api:
        async with asyncio.TaskGroup() as group:
            poll = group.create_task(api.post("/leases", {"wait_s": 30, **attempt}))
            await slow.asked.wait()
            poll.cancel()
        await until(lambda: not api.server._runner or not handlers(api))
        slow.gate.set()
        await until(lambda: slow.wishes)
        await api.get("/healthz")
        assert sum(one[0] == "release" for one in slow.did) == given_back


class Silent(FakeOutbox):
    """A reader that does not say which log it is before it is let to."""

    gate: asyncio.Event
    asked: asyncio.Event

    async def event_span(self) -> tuple[str, int, int]:
        self.asked.set()
        await self.gate.wait()
        return await super().event_span()


async def test_who_vanishes_while_the_log_is_asked_for_its_name_keeps_no_lease(
    tmp_path: Path,
) -> None:
    silent, leases = Silent(), FakeLeases(waiting=[LEASE])
    silent.gate, silent.asked = asyncio.Event(), asyncio.Event()
    async with running(tmp_path, reader=silent, leases=leases) as api:
        async with asyncio.TaskGroup() as group:
            poll = group.create_task(api.post("/leases", {"wait_s": 30}))
            await silent.asked.wait()
            poll.cancel()
        await until(lambda: not handlers(api))
        silent.gate.set()
        await api.get("/healthz")
        assert len(leases.wishes) == sum(one[0] == "release" for one in leases.did)


# -- extend, release


async def test_a_lease_is_kept_by_its_holder_alone(api: Api) -> None:
    said = await api.ask("PATCH", f"/v1/leases/{LEASE_ID}", {"fence": 5, "lease_s": 120})
    assert (said.status, said.json["id"]) == (200, LEASE_ID)
    assert api.leases.did == [("extend", CLAIM, 120.0)]
    said = await api.ask("PATCH", f"/v1/leases/{LEASE_ID}", {"fence": 4})
    assert (said.status, said.code) == (409, "lease_lost")


async def test_a_lease_is_given_back_with_delay_and_reason(api: Api) -> None:
    body = {"fence": 5, "delay_s": 2, "reason": "the model is away", "failed": True}
    said = await api.post(f"/leases/{LEASE_ID}/release", body)
    assert (said.status, said.json) == (200, {"id": LEASE_ID})
    assert api.leases.did == [("release", CLAIM, Release(2.0, "the model is away", is_failed=True))]
    assert (await api.post(f"/leases/{LEASE_ID}/release", {"fence": 6})).code == "lease_lost"
    bad = await api.post(f"/leases/{LEASE_ID}/release", {"fence": 5, "reason": "a\nb"})
    assert bad.json["errors"][0]["pointer"] == "/reason"


@pytest.mark.parametrize("path", ["release", "complete"])
async def test_an_id_of_no_lease_is_not_found(api: Api, path: str) -> None:
    assert (await api.post(f"/leases/job_1/{path}", {"fence": 1})).status == 404
    assert (await api.ask("PATCH", "/v1/leases/x", {"fence": 1})).status == 404


def test_the_clock_of_the_lease_is_the_daemons() -> None:
    assert LEASE.expires_at == FakeClock(NOW).now() + 60 * SECOND
    assert job(1).number == 1
