"""The log of events: one by one, read on from any place, and what is said of a place that it has not."""

import pytest

from postroom.core.record import EventRecord
from support.api_outbox import EVENT
from support.api_server import Api


def log(api: Api, *seqs: int, newest: int) -> None:
    api.outbox.events = tuple(
        EventRecord(seq, EVENT.type, EVENT.mailbox_id, EVENT.created_at, EVENT.data) for seq in seqs
    )
    api.outbox.span = ("log-1", min(seqs, default=0), newest)


async def test_an_event_is_told_in_its_envelope(api: Api) -> None:
    log(api, 7, newest=7)
    said = (await api.get("/events")).json
    assert said == {
        "items": [
            {
                "answers": {"job_id": "job_0000000000001", "delivery_id": "dlv_0000000000001"},
                "id": "evt_0000000000007",
                "type": "delivery.sent",
                "seq": 7,
                "log_id": "log-1",
                "schema_version": 1,
                "mailbox_id": "support",
                "created_at": "2025-11-30T11:00:00.000000Z",
            }
        ],
        "next_cursor": None,
        "log_id": "log-1",
    }


async def test_one_event_is_told_as_in_the_log(api: Api) -> None:
    log(api, 5, 7, newest=7)
    (_, newest) = (await api.get("/events")).json["items"]
    assert (await api.get("/events/evt_0000000000007")).json == newest


@pytest.mark.parametrize(
    "name", ["evt_0000000000006", "evt_zzzzzzzzzzzzz", "7", "dlv_0000000000007"]
)
async def test_an_event_that_is_not_there_is_not_found(api: Api, name: str) -> None:
    log(api, 5, 7, newest=7)
    assert (await api.get(f"/events/{name}")).status == 404


async def test_the_log_is_read_on_from_where_it_was_left(api: Api) -> None:
    log(api, 5, 6, 9, newest=9)
    for after, seqs in {"0": [5, 6, 9], "5": [6, 9], "evt_0000000000006": [9], "9": []}.items():
        items = (await api.get(f"/events?after={after}")).json["items"]
        assert [one["seq"] for one in items] == seqs
    page = (await api.get("/events?limit=2")).json
    assert page["next_cursor"] == "6"


@pytest.mark.parametrize(
    ("seqs", "newest", "after", "code"),
    [
        pytest.param([5, 6], 6, "7", "log_reset", id="beyond the end"),
        pytest.param([], 0, "1", "log_reset", id="of an empty log"),
        pytest.param([5, 6], 6, "evt_000000000000v", "log_reset", id="an id beyond the end"),
        pytest.param([5, 6], 6, "3", "log_trimmed", id="before the beginning"),
        pytest.param([], 6, "3", "log_trimmed", id="all of it gone"),
    ],
)
async def test_a_place_that_the_log_has_not_is_gone(
    api: Api, seqs: list[int], newest: int, after: str, code: str
) -> None:
    log(api, *seqs, newest=newest)
    said = await api.get(f"/events?after={after}")
    assert (said.status, said.code, said.json["log_id"]) == (410, code, "log-1")
    assert said.json["oldest_seq"] == min(seqs, default=0)


@pytest.mark.parametrize(
    ("seqs", "newest", "after"), [([5, 6], 6, "4"), ([], 6, "6"), ([], 0, "0")]
)
async def test_the_edges_of_the_log_are_in_it(
    api: Api, seqs: list[int], newest: int, after: str
) -> None:
    log(api, *seqs, newest=newest)
    assert (await api.get(f"/events?after={after}")).status == 200


@pytest.mark.parametrize("after", ["x", "-1", "", "9" * 19, "job_0000000000001"])
async def test_a_place_that_is_none_is_refused(api: Api, after: str) -> None:
    said = await api.get(f"/events?after={after}")
    assert (said.status, said.code) == (422, "invalid_request")
