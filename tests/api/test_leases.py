"""Leases, consumers, threads and the stream as programs ask for them."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from postroom.api.parts import Bounds
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import SECOND, format_instant
from postroom.core.record import EventRecord, HoldRecord, ThreadRecord
from postroom.core.velocity import HoldScope
from postroom.ports.accepting import Accepted, AlreadyReplied, LeaseLost
from postroom.ports.arriving import RawFile
from postroom.ports.changes import EventPublished, ThreadWaits
from postroom.ports.errors import StoreUnavailable
from postroom.ports.leasing import Completed, NotShown, Release, ReplyStopped
from support.api_server import Api, running
from support.clock import FakeClock
from support.lease_fakes import CLAIM, DEAD, LEASE, MAIL, FakeLeases
from support.records import NOW, delivery, job


ID = encode_id(Kind.LEASE, 1)
EVENT = encode_id(Kind.EVENT, 7)
REPLY = {"mailbox_id": "support", "to": ["a@example.com"], "subject": "Re: Hi", "text": "Yes."}


# -- acquire


async def test_a_lease_says_all_that_an_agent_needs(api: Api) -> None:
    api.leases.waiting = [LEASE]
    said = await api.post("/leases", {"consumer": "agents", "mailbox_ids": ["support"]})
    assert said.status == 200
    (lease,) = said.json["leases"]
    assert lease["events"][0]["id"] == EVENT
    assert lease["events"][0]["automation"] == {"kind": "human", "evidence": []}
    assert {name: lease[name] for name in ("id", "fence", "receive_count", "more")} == {
        "id": ID,
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


async def until(condition: Any) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.get_running_loop().run_in_executor(None, int)


async def test_a_long_poll_is_woken_by_what_waits_for_its_consumer(api: Api) -> None:
    async with asyncio.TaskGroup() as group:
        poll = group.create_task(api.post("/leases", {"consumer": "agents", "wait_s": 30}))
        await until(lambda: len(api.leases.wishes) == 1)
        api.bells.committed([ThreadWaits("others", 3)])
        api.bells.committed([EventPublished(7, "support", 3, "delivery.sent", ())])
        api.leases.waiting = [LEASE]
        api.bells.committed([EventPublished(7, "support", 3, "reply.received", ("agents",))])
    assert poll.result().json["leases"][0]["id"] == ID
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
        await until(lambda: not api.server._runner or not _handlers(api))
        slow.gate.set()
        await until(lambda: slow.wishes)
        await api.get("/healthz")
        assert sum(one[0] == "release" for one in slow.did) == given_back


def _handlers(api: Api) -> list[Any]:
    assert api.server._runner is not None
    server = api.server._runner.server
    assert server is not None
    return [one for one in server.connections if one._current_request is not None]


# -- extend, release


async def test_a_lease_is_kept_by_its_holder_alone(api: Api) -> None:
    said = await api.ask("PATCH", f"/v1/leases/{ID}", {"fence": 5, "lease_s": 120})
    assert (said.status, said.json["id"]) == (200, ID)
    assert api.leases.did == [("extend", CLAIM, 120.0)]
    said = await api.ask("PATCH", f"/v1/leases/{ID}", {"fence": 4})
    assert (said.status, said.code) == (409, "lease_lost")


async def test_a_lease_is_given_back_with_delay_and_reason(api: Api) -> None:
    body = {"fence": 5, "delay_s": 2, "reason": "the model is away", "failed": True}
    said = await api.post(f"/leases/{ID}/release", body)
    assert (said.status, said.json) == (200, {"id": ID})
    assert api.leases.did == [("release", CLAIM, Release(2.0, "the model is away", is_failed=True))]
    assert (await api.post(f"/leases/{ID}/release", {"fence": 6})).code == "lease_lost"
    bad = await api.post(f"/leases/{ID}/release", {"fence": 5, "reason": "a\nb"})
    assert bad.json["errors"][0]["pointer"] == "/reason"


@pytest.mark.parametrize("path", ["release", "complete"])
async def test_an_id_of_no_lease_is_not_found(api: Api, path: str) -> None:
    assert (await api.post(f"/leases/job_1/{path}", {"fence": 1})).status == 404
    assert (await api.ask("PATCH", "/v1/leases/x", {"fence": 1})).status == 404


# -- complete


class Stores(FakeLeases):
    """Stores the replies."""

    async def complete(self, claim: Any, ack: Any, replies: Any, at: Any) -> Any:
        done = await super().complete(claim, ack, replies, at)
        results = tuple(Accepted(one.number, (), 0) for one in replies if not isinstance(one, int))
        return replace(done, results=results) if isinstance(done, Completed) else done


@pytest.fixture
async def storing(tmp_path: Path) -> AsyncIterator[Api]:
    async with running(tmp_path, leases=Stores()) as started:
        yield started


async def test_a_lease_is_completed_with_replies(storing: Api) -> None:
    api = storing
    said = await api.post(f"/leases/{ID}/complete", {"fence": 5, "replies": [REPLY, REPLY]})
    assert said.status == 200
    assert (said.json["id"], said.json["acked"], said.json["repeated"]) == (ID, [EVENT], False)
    assert [one["mailbox_id"] for one in said.json["replies"]] == ["support", "support"]
    assert api.leases.did == [("complete", CLAIM, None, 2)]
    assert api.submitter.open == []


async def test_a_completion_repeats_with_the_first_jobs_and_makes_none(storing: Api) -> None:
    api = storing
    body = {"fence": 5, "replies": [REPLY]}
    first = await api.post(f"/leases/{ID}/complete", body)
    again = await api.post(f"/leases/{ID}/complete", body)
    assert again.json["repeated"] is True
    assert again.json["acked"] == first.json["acked"]
    assert [one["id"] for one in again.json["replies"]] == [
        one["id"] for one in first.json["replies"]
    ]
    assert len(api.submitter.seen) == 1


async def test_a_reply_under_a_known_key_is_its_first_job(storing: Api) -> None:
    api = storing
    keyed = {**REPLY, "idempotency_key": "k"}
    first = await api.post("/jobs", keyed)
    said = await api.post(f"/leases/{ID}/complete", {"fence": 5, "replies": [keyed]})
    assert [one["id"] for one in said.json["replies"]] == [first.json["id"]]
    assert said.json["replies"][0]["deduplicated"] is True


async def test_some_events_are_acknowledged_by_their_ids(api: Api) -> None:
    await api.post(f"/leases/{ID}/complete", {"fence": 5, "ack": [EVENT]})
    assert api.leases.did == [("complete", CLAIM, [7], 0)]


async def test_what_was_not_shown_is_named(api: Api) -> None:
    other = encode_id(Kind.EVENT, 8)
    api.leases.answer = NotShown((8,))
    said = await api.post(f"/leases/{ID}/complete", {"fence": 5, "ack": [EVENT, other]})
    assert (said.status, said.json["errors"][0]["pointer"]) == (422, "/ack/1")


async def test_an_expired_holder_is_told_before_anything_is_made(api: Api) -> None:
    said = await api.post(f"/leases/{ID}/complete", {"fence": 4, "replies": [REPLY]})
    assert (said.status, said.code) == (409, "lease_lost")
    assert api.submitter.seen == []


async def test_a_lease_that_is_lost_at_the_last_moment_leaves_nothing(api: Api) -> None:
    api.leases.answer = LeaseLost()
    said = await api.post(f"/leases/{ID}/complete", {"fence": 5, "replies": [REPLY]})
    assert (said.status, said.code) == (409, "lease_lost")
    assert (api.submitter.open, api.outbox.jobs) == ([], {})


async def test_a_second_answer_names_the_first(api: Api) -> None:
    api.leases.answer = ReplyStopped(1, AlreadyReplied(7, 4))
    said = await api.post(f"/leases/{ID}/complete", {"fence": 5, "replies": [REPLY, REPLY]})
    assert (said.status, said.code) == (409, "already_replied")
    assert said.json["job_id"] == encode_id(Kind.JOB, 4)
    assert (api.submitter.open, api.outbox.jobs) == ([], {})


async def test_the_faults_of_a_reply_are_named_where_they_are(api: Api) -> None:
    bad = {**REPLY, "to": ["nobody"]}
    said = await api.post(f"/leases/{ID}/complete", {"fence": 5, "replies": [REPLY, bad]})
    assert (said.status, said.code) == (422, "invalid_job")
    assert said.json["errors"][0]["pointer"] == "/replies/1/to/0"
    assert api.submitter.open == []
    assert api.leases.did == []


async def test_the_faults_of_all_replies_are_told_at_once(api: Api) -> None:
    bad = {**REPLY, "to": ["nobody"]}
    said = await api.post(
        f"/leases/{ID}/complete", {"fence": 5, "replies": [bad, REPLY, {**bad, "bogus": 1}]}
    )
    pointers = [one["pointer"] for one in said.json["errors"]]
    assert said.status == 422
    assert {"/replies/0/to/0", "/replies/2/bogus", "/replies/2/to/0"} == set(pointers)
    assert api.submitter.open == []


async def test_two_answers_to_one_event_in_one_call_are_refused(api: Api) -> None:
    answer = {**REPLY, "in_reply_to_event": EVENT}
    said = await api.post(f"/leases/{ID}/complete", {"fence": 5, "replies": [answer, answer]})
    assert said.json["errors"][0]["pointer"] == "/replies/1/in_reply_to_event"
    assert api.submitter.open == []


async def test_a_store_that_is_away_leaves_nothing_prepared(api: Api) -> None:
    api.submitter.fault = StoreUnavailable("away")
    said = await api.post(f"/leases/{ID}/complete", {"fence": 5, "replies": [REPLY]})
    assert (said.status, said.code) == (503, "store_unavailable")
    assert api.submitter.open == []


# -- consumers and dead events


@pytest.mark.parametrize(
    ("path", "asked"), [("/leases", {"consumer": "one-more"}), ("/consumers", {"name": "one-more"})]
)
async def test_a_consumer_too_many_is_refused(path: str, asked: dict[str, str], api: Api) -> None:
    api.leases.is_full = True
    said = await api.post(path, asked)
    assert (said.status, said.code) == (409, "consumer_limit")


async def test_a_consumer_is_made_listed_and_deleted(api: Api) -> None:
    body = {"name": "crm.sync", "types": ["reply.received"], "start": "now"}
    made = await api.post("/consumers", body)
    assert (made.status, made.json["types"]) == (200, ["reply.received"])
    assert api.leases.did == [("make", "crm.sync", ("reply.received",), True)]
    assert (await api.get("/consumers")).json["items"] == [made.json]
    assert (await api.ask("DELETE", "/v1/consumers/crm.sync")).status == 204
    assert (await api.ask("DELETE", "/v1/consumers/crm.sync")).status == 404


async def test_nobody_is_made_a_consumer_of_alerts(api: Api) -> None:
    body = {"name": "watch", "types": ["reply.received", "alert.cleared"]}
    said = await api.post("/consumers", body)
    assert (said.status, said.json["errors"][0]["pointer"]) == (422, "/types/1")
    assert "GET /v1/events" in said.json["errors"][0]["detail"]
    assert api.leases.did == []


async def test_a_dead_event_is_made_pending_again(api: Api) -> None:
    path = f"/events/{EVENT}/retry"
    assert (await api.post(path, {"consumer": "agents"})).status == 404
    await api.post("/consumers", {"name": "agents"})
    said = await api.post(path, {"consumer": "agents"})
    assert (said.status, said.json) == (200, {"id": EVENT, "consumer": "agents"})
    other = encode_id(Kind.EVENT, 8)
    assert (await api.post(f"/events/{other}/retry", {"consumer": "agents"})).code == "wrong_state"


async def test_dead_letters_are_deliveries_and_events(api: Api) -> None:
    api.leases.dead = (DEAD,)
    said = (await api.get("/dead-letters")).json
    assert said["items"] == []
    (dead,) = said["events"]
    assert dead["event"]["id"] == EVENT
    assert dead["dead_for"][0]["consumer"] == "agents"
    page = (await api.get("/dead-letters?cursor=c0000000000001")).json
    assert page["events"] == []
    page = (await api.get("/dead-letters?events_cursor=c0000000000001")).json
    assert len(page["events"]) == 1


# -- threads and raw messages


async def test_a_thread_tells_its_history(api: Api) -> None:
    number = encode_id(Kind.THREAD, 3)
    assert (await api.get(f"/threads/{number}")).status == 404
    api.conversations.threads[3] = ThreadRecord(
        3, 2, "support", None, {}, NOW, (delivery(1),), (MAIL,), is_whole=True
    )
    said = (await api.get(f"/threads/{number}")).json
    assert (said["version"], said["whole"], said["conversation_id"]) == (2, True, None)
    assert said["deliveries"][0]["id"] == encode_id(Kind.DELIVERY, 1)
    assert said["events"][0]["id"] == EVENT
    assert (said["held"], said["held_at"], said["holds"]) == (False, None, [])


async def test_a_thread_that_a_loop_holds_says_so_and_is_resumed(api: Api) -> None:
    number = encode_id(Kind.THREAD, 3)
    hold = HoldRecord(HoldScope.DOMAIN, "desk.example", "velocity_domain", 7, NOW)
    held = ThreadRecord(3, 2, "support", None, {}, NOW, (), (), is_whole=True, holds=(hold,))
    api.conversations.threads[3] = held
    said = (await api.get(f"/threads/{number}")).json
    assert (said["held"], said["held_at"]) == (True, format_instant(NOW))
    assert said["holds"] == [
        {
            "scope": "domain",
            "name": "desk.example",
            "evidence": "velocity_domain",
            "event_id": EVENT,
            "held_at": format_instant(NOW),
        }
    ]
    answer = await api.post(f"/threads/{number}/resume")
    assert (answer.status, answer.json["id"]) == (200, number)
    assert api.outbox.did[-1][:2] == ("resume_thread", 3)
    assert (await api.post(f"/threads/{encode_id(Kind.THREAD, 4)}/resume")).status == 404
    assert (await api.post("/threads/x/resume")).status == 404


async def test_what_was_received_is_given_to_the_byte(api: Api) -> None:
    api.conversations.raw = {7: b"Subject: x\r\n\r\n\x00\xff", 8: RawFile("aa", 4)}
    api.uploads.spool["aa"] = b"many"
    said = await api.get(f"/events/{EVENT}/raw")
    assert (said.status, said.body) == (200, b"Subject: x\r\n\r\n\x00\xff")
    assert said.headers["content-type"] == "message/rfc822"
    assert (await api.get(f"/events/{encode_id(Kind.EVENT, 8)}/raw")).body == b"many"
    assert (await api.get(f"/events/{encode_id(Kind.EVENT, 9)}/raw")).status == 404
    assert (await api.get("/events/x/raw")).status == 404


# -- the stream


def event(seq: int) -> EventRecord:
    return EventRecord(seq, "reply.received", "support", NOW, {})


def log(api: Api, *seqs: int) -> None:
    api.outbox.events = tuple(event(seq) for seq in seqs)
    api.outbox.span = ("log-1", min(seqs, default=0), max(seqs, default=0))


def published(api: Api) -> None:
    api.bells.committed([EventPublished(0, "support", 3, "reply.received", ())])


class Stream:
    """An open stream."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer

    async def block(self) -> dict[str, str]:
        """The fields of the next block; comments have no name."""
        found: dict[str, str] = {}
        async with asyncio.timeout(5):
            while line := (await self.answer.content.readline()).decode().rstrip("\n"):
                name, _, value = line.partition(":")
                found[name] = value.strip()
        return found

    async def seq(self) -> int:
        found = await self.block()
        assert json.loads(found["data"])["seq"] == int(found["id"])
        return int(found["id"])


async def opened(api: Api, query: str = "", **headers: str) -> Stream:
    url = f"http://localhost/v1/events/stream{query}"
    answer = await api.session.get(url, headers=headers)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/event-stream"
    stream = Stream(answer)
    assert await stream.block() == {"retry": "2000"}
    return stream


async def test_a_stream_begins_now_and_goes_on(api: Api) -> None:
    log(api, 1, 2)
    stream = await opened(api)
    log(api, 1, 2, 3, 5)
    published(api)
    assert [await stream.seq(), await stream.seq()] == [3, 5]
    log(api, 1, 2, 3, 5, 6)
    published(api)
    assert await stream.seq() == 6


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("?after=2", {}),
        (f"?after={encode_id(Kind.EVENT, 2)}", {}),
        ("", {"Last-Event-ID": "2"}),
        ("", {"Last-Event-ID": encode_id(Kind.EVENT, 2)}),
        ("?after=1", {"Last-Event-ID": "2"}),
    ],
)
async def test_a_stream_resumes_exactly(api: Api, query: str, headers: dict[str, str]) -> None:
    log(api, 1, 2, 3, 4)
    stream = await opened(api, query, **headers)
    assert [await stream.seq(), await stream.seq()] == [3, 4]


async def test_a_long_backlog_comes_whole_and_in_order(api: Api) -> None:
    log(api, *range(1, 251))
    stream = await opened(api, "?after=0")
    assert [await stream.seq() for _ in range(250)] == list(range(1, 251))


@pytest.mark.parametrize(
    ("after", "status", "code"),
    [
        ("20", 410, "log_reset"),
        ("3", 410, "log_trimmed"),
        ("nonsense", 422, "invalid_request"),
        ("9" * 30, 422, "invalid_request"),
    ],
)
async def test_a_stream_never_begins_with_a_gap(
    api: Api, after: str, status: int, code: str
) -> None:
    log(api, 7, 8, 9)
    said = await api.get("/events/stream", headers={"Last-Event-ID": after})
    assert (said.status, said.code) == (status, code)


async def test_a_silent_stream_pings_and_says_bye_at_the_end(tmp_path: Path) -> None:
    bounds = Bounds(ping=timedelta(milliseconds=20))
    async with running(tmp_path, bounds=bounds) as api:
        stream = await opened(api)
        assert await stream.block() == {"": "ping"}
        await api.server.drain()
        found = await stream.block()
        while "event" not in found:
            found = await stream.block()
        assert found == {"event": "bye", "data": "{}"}
        assert await stream.answer.content.read() == b""


async def test_a_reader_that_takes_nothing_is_hung_up_on(tmp_path: Path) -> None:
    bounds = Bounds(stall=timedelta(milliseconds=100))
    async with running(tmp_path, bounds=bounds) as api:
        large: dict[str, object] = {"text": "x" * 1_000_000}
        api.outbox.events = tuple(replace(event(seq), data=large) for seq in range(1, 40))
        api.outbox.span = ("log-1", 1, 39)
        async with api.raw() as (reader, writer):
            reader._limit = 1  # type: ignore[attr-defined]
            writer.write(b"GET /v1/events/stream?after=0 HTTP/1.1\r\nHost: x\r\n\r\n")
            await until(lambda: not _handlers(api) and _served(api))
    assert api.faults == []


def _served(api: Api) -> bool:
    assert api.server._runner is not None
    server = api.server._runner.server
    assert server is not None
    return bool(server.requests_count) and not server.connections


def test_the_clock_of_the_lease_is_the_daemons() -> None:
    assert LEASE.expires_at == FakeClock(NOW).now() + 60 * SECOND
    assert job(1).number == 1
