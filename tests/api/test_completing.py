"""A lease is completed: with replies or without, once, all of it or nothing."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.core.ids import Kind, encode_id
from postroom.ports.accepting import Accepted, AlreadyReplied, LeaseLost
from postroom.ports.errors import StoreUnavailable
from postroom.ports.leasing import Completed, NotShown, ReplyStopped
from support.api_server import Api, running
from support.lease_fakes import CLAIM, LEASE_ID, MAIL_ID, FakeLeases


REPLY = {"mailbox_id": "support", "to": ["a@example.com"], "subject": "Re: Hi", "text": "Yes."}


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
    said = await api.post(f"/leases/{LEASE_ID}/complete", {"fence": 5, "replies": [REPLY, REPLY]})
    assert said.status == 200
    assert (said.json["id"], said.json["acked"], said.json["repeated"]) == (
        LEASE_ID,
        [MAIL_ID],
        False,
    )
    assert [one["mailbox_id"] for one in said.json["replies"]] == ["support", "support"]
    assert api.leases.did == [("complete", CLAIM, None, 2)]
    assert api.submitter.open == []


async def test_a_completion_repeats_with_the_first_jobs_and_makes_none(storing: Api) -> None:
    api = storing
    body = {"fence": 5, "replies": [REPLY]}
    first = await api.post(f"/leases/{LEASE_ID}/complete", body)
    again = await api.post(f"/leases/{LEASE_ID}/complete", body)
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
    said = await api.post(f"/leases/{LEASE_ID}/complete", {"fence": 5, "replies": [keyed]})
    assert [one["id"] for one in said.json["replies"]] == [first.json["id"]]
    assert said.json["replies"][0]["deduplicated"] is True


async def test_some_events_are_acknowledged_by_their_ids(api: Api) -> None:
    await api.post(f"/leases/{LEASE_ID}/complete", {"fence": 5, "ack": [MAIL_ID]})
    assert api.leases.did == [("complete", CLAIM, [7], 0)]


async def test_what_was_not_shown_is_named(api: Api) -> None:
    other = encode_id(Kind.EVENT, 8)
    api.leases.answer = NotShown((8,))
    said = await api.post(f"/leases/{LEASE_ID}/complete", {"fence": 5, "ack": [MAIL_ID, other]})
    assert (said.status, said.json["errors"][0]["pointer"]) == (422, "/ack/1")


async def test_an_expired_holder_is_told_before_anything_is_made(api: Api) -> None:
    said = await api.post(f"/leases/{LEASE_ID}/complete", {"fence": 4, "replies": [REPLY]})
    assert (said.status, said.code) == (409, "lease_lost")
    assert api.submitter.seen == []


async def test_a_lease_that_is_lost_at_the_last_moment_leaves_nothing(api: Api) -> None:
    api.leases.answer = LeaseLost()
    said = await api.post(f"/leases/{LEASE_ID}/complete", {"fence": 5, "replies": [REPLY]})
    assert (said.status, said.code) == (409, "lease_lost")
    assert (api.submitter.open, api.outbox.jobs) == ([], {})


async def test_a_second_answer_names_the_first(api: Api) -> None:
    api.leases.answer = ReplyStopped(1, AlreadyReplied(7, 4))
    said = await api.post(f"/leases/{LEASE_ID}/complete", {"fence": 5, "replies": [REPLY, REPLY]})
    assert (said.status, said.code) == (409, "already_replied")
    assert said.json["job_id"] == encode_id(Kind.JOB, 4)
    assert (api.submitter.open, api.outbox.jobs) == ([], {})


async def test_the_faults_of_a_reply_are_named_where_they_are(api: Api) -> None:
    bad = {**REPLY, "to": ["nobody"]}
    said = await api.post(f"/leases/{LEASE_ID}/complete", {"fence": 5, "replies": [REPLY, bad]})
    assert (said.status, said.code) == (422, "invalid_job")
    assert said.json["errors"][0]["pointer"] == "/replies/1/to/0"
    assert api.submitter.open == []
    assert api.leases.did == []


async def test_the_faults_of_all_replies_are_told_at_once(api: Api) -> None:
    bad = {**REPLY, "to": ["nobody"]}
    said = await api.post(
        f"/leases/{LEASE_ID}/complete", {"fence": 5, "replies": [bad, REPLY, {**bad, "bogus": 1}]}
    )
    pointers = [one["pointer"] for one in said.json["errors"]]
    assert said.status == 422
    assert {"/replies/0/to/0", "/replies/2/bogus", "/replies/2/to/0"} == set(pointers)
    assert api.submitter.open == []


@pytest.mark.parametrize(
    ("reply", "status", "code", "pointers"),
    [
        pytest.param(b'{"text":"\xff"}', 400, "not_json", [], id="no UTF-8"),
        pytest.param(b"1e999", 422, "invalid_request", ["/replies/1"], id="no number that fits"),
    ],
)
async def test_a_reply_that_can_not_be_read_is_told_of_like_a_job_that_can_not(
    api: Api, reply: bytes, status: int, code: str, pointers: list[str]
) -> None:
    body = b'{"fence":5,"replies":[' + json.dumps(REPLY).encode() + b"," + reply + b"]}"
    said = await api.post(f"/leases/{LEASE_ID}/complete", data=body)
    assert (said.status, said.code) == (status, code)
    assert [one["pointer"] for one in said.json.get("errors", [])] == pointers
    assert (api.submitter.open, api.leases.did, api.faults) == ([], [], [])


async def test_two_answers_to_one_event_in_one_call_are_refused(api: Api) -> None:
    answer = {**REPLY, "in_reply_to_event": MAIL_ID}
    said = await api.post(f"/leases/{LEASE_ID}/complete", {"fence": 5, "replies": [answer, answer]})
    assert said.json["errors"][0]["pointer"] == "/replies/1/in_reply_to_event"
    assert api.submitter.open == []


async def test_a_store_that_is_away_leaves_nothing_prepared(api: Api) -> None:
    api.submitter.fault = StoreUnavailable("away")
    said = await api.post(f"/leases/{LEASE_ID}/complete", {"fence": 5, "replies": [REPLY]})
    assert (said.status, said.code) == (503, "store_unavailable")
    assert api.submitter.open == []
