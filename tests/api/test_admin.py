import hashlib
from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.api.routes.attachments import clean_filename
from postroom.core.mailbox import Lane
from postroom.core.record import EventRecord, MailboxRecord
from postroom.ports.loop import BreakerView, SlowedView
from support.api_fakes import EVENT
from support.api_server import UID, Api
from support.records import NOW


# -- alerts


async def test_what_stands_is_told_with_what_to_do(api: Api) -> None:
    (alert,) = (await api.get("/stats")).json["alerts"]
    at = "2025-11-30T11:00:00.000000Z"
    words = {name: alert.pop(name) for name in ("means", "likely", "to_do")}
    assert alert == {
        "kind": "relay_down",
        "scope": "relay",
        "name": "main",
        "mailbox_id": None,
        "since_at": at,
        "raised_at": at,
        "figure": 12,
        "threshold": 1,
        "cause": "relay_gone",
        "event_id": "evt_0000000000007",
    }
    assert all(words.values())


# -- suppressions


async def test_an_address_is_suppressed_listed_and_freed(api: Api) -> None:
    body = {"mailbox_id": "support", "address": "Gone@Example.com", "reason": "asked to"}
    said = await api.post("/suppressions", body)
    record = {
        "mailbox_id": "support",
        "address": "gone@example.com",
        "reason": "asked to",
        "by": f"uid:{UID}",
        "created_at": "2025-11-30T11:00:00.000000Z",
    }
    assert (said.status, said.json) == (200, record)
    assert (await api.get("/suppressions")).json == {"items": [record], "next_cursor": None}
    path = "/v1/suppressions?mailbox_id=support&address=gone@EXAMPLE.com"
    assert (await api.ask("DELETE", path)).status == 204
    assert (await api.ask("DELETE", path)).status == 404


async def test_an_address_can_be_suppressed_for_all_mailboxes(api: Api) -> None:
    said = await api.post(
        "/suppressions", {"mailbox_id": None, "address": "gone@example.com", "reason": None}
    )
    assert said.json["mailbox_id"] is None


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ({"recipient": "a@example.com"}, "unknown_field", "/recipient"),
        ({}, "invalid_request", "/address"),
        ({"address": "a, b@example.com"}, "invalid_request", "/address"),
        ({"address": "a@example.com", "mailbox_id": "x"}, "unknown_mailbox", "/mailbox_id"),
        ({"address": "a@example.com", "reason": "a\nb"}, "invalid_request", "/reason"),
    ],
)
async def test_a_suppression_that_can_not_be_is_refused(
    api: Api, body: object, code: str, pointer: str
) -> None:
    said = await api.post("/suppressions", body)
    assert (said.status, said.code) == (422, code)
    assert said.json["errors"][0]["pointer"] == pointer


async def test_nobody_is_freed_by_a_slip(api: Api) -> None:
    for query in ("", "?mailbox_id=support", "?address=", "?address=a"):
        assert (await api.ask("DELETE", "/v1/suppressions" + query)).status == 422


# -- attachments


async def test_a_file_is_staged_and_read_back(api: Api) -> None:
    content = bytes(range(256)) * 2000
    name = quote("Übersicht 1.pdf")
    headers = {"Content-Type": "application/PDF; x=y"}
    said = await api.post(f"/attachments?filename={name}", data=content, headers=headers)
    assert said.status == 201
    ref = said.json["ref"]
    assert said.headers["location"] == f"/v1/attachments/{ref}"
    assert said.json == {
        "ref": ref,
        "size_bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "content_type": "application/pdf",
        "filename": "Übersicht 1.pdf",
    }
    back = await api.get(f"/attachments/{ref}")
    assert (back.status, back.body) == (200, content)
    assert back.headers["content-type"] == "application/pdf"
    assert back.headers["content-disposition"] == (
        "attachment; filename*=UTF-8''%C3%9Cbersicht%201.pdf"
    )
    head = await api.ask("HEAD", f"/v1/attachments/{ref}")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(content))


async def test_a_file_larger_than_any_body_is_streamed(api: Api) -> None:
    said = await api.post("/attachments?filename=a", data=bytes(3 << 20))
    assert (said.status, said.json["size_bytes"]) == (201, 3 << 20)


async def test_a_file_that_is_cut_off_is_not_staged(api: Api) -> None:
    async with api.raw() as (_, writer):
        head = b"POST /v1/attachments?filename=a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"
        writer.write(head)
        await writer.drain()
    while not api.uploads.broken:
        await api.get("/healthz")
    assert api.uploads.files == {}


@pytest.mark.parametrize("path", ["att_nothing", "att_0000000000009", "%2e%2e"])
async def test_a_file_that_is_not_there_is_not_found(api: Api, path: str) -> None:
    assert (await api.get(f"/attachments/{path}")).status == 404
    assert (await api.ask("HEAD", f"/v1/attachments/{path}")).status == 404


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a.doc", "a.doc"),
        ("a\r\nBcc: b", "a__Bcc: b"),
        ("..", None),
        ("/", None),
        ("x" * 300 + ".pdf", "x" * 146 + ".pdf"),
        ("ü" * 300, "ü" * 75),
    ],
)
def test_a_name_is_made_harmless(given_name: str, kept: str | None) -> None:
    assert clean_filename(given_name) == kept


@given(st.text(max_size=400))
def test_no_name_leaves_its_place(name: str) -> None:
    kept = clean_filename(name)
    if kept is not None:
        assert 0 < len(kept.encode()) <= 150
        assert not set(kept) & set("/\\\r\n\0")
        assert kept not in {".", ".."}


async def test_a_file_without_a_name_is_refused(api: Api) -> None:
    for query in ("", "?filename=", "?filename=..", "?filename=a&x=1"):
        assert (await api.post("/attachments" + query, data=b"x")).status == 422


async def test_a_strange_type_is_not_believed(api: Api) -> None:
    headers = {"Content-Type": 'text/html"'}
    said = await api.post("/attachments?filename=a", data=b"x", headers=headers)
    assert said.json["content_type"] == "application/octet-stream"


# -- mailboxes


async def test_mailboxes_are_told_with_their_pause_and_breakers(api: Api) -> None:
    gone = MailboxRecord("old", None, None, None, NOW)
    api.outbox.stored_mailboxes["old"] = gone
    api.loop.breakers = (BreakerView("open", "auth_failed", NOW), BreakerView("closed", None, None))
    old, support = (await api.get("/mailboxes")).json["items"]
    assert (old["state"], old["removed_at"]) == ("removed", "2025-11-30T11:00:00.000000Z")
    assert (support["state"], support["address"]) == ("blocked", "support@example.com")
    assert support["breaker"] == {
        "state": "open",
        "reason": "auth_failed",
        "probe_at": "2025-11-30T11:00:00.000000Z",
    }


async def test_a_mailbox_whose_relay_proves_itself_is_not_blocked_and_has_no_probe_to_wait_for(
    api: Api,
) -> None:
    api.loop.breakers = (
        BreakerView("closed", None, NOW),
        BreakerView("half_open", "relay.unreachable", NOW),
    )
    (support,) = (await api.get("/mailboxes")).json["items"]
    assert support["state"] == "active"
    assert support["breaker"] == {"state": "closed", "reason": None, "probe_at": None}
    assert support["relay_breaker"] == {
        "state": "half_open",
        "reason": "relay.unreachable",
        "probe_at": None,
    }


async def test_mailboxes_say_what_is_slowed_down_and_how_fast_it_was(api: Api) -> None:
    relay = SlowedView(None, "rate.limited", 30.0, 2, 60, 4, NOW)
    api.loop.slowed = (relay, replace(relay, domain="example.com", per_minute=1.25))
    (support,) = (await api.get("/mailboxes")).json["items"]
    assert support["state"] == "active"
    assert support["slowed"][0] == {
        "domain": None,
        "reason": "rate.limited",
        "per_minute": 30.0,
        "at_once": 2,
        "was_per_minute": 60,
        "was_at_once": 4,
        "since_at": "2025-11-30T11:00:00.000000Z",
    }
    assert [one["domain"] for one in support["slowed"]] == [None, "example.com"]


async def test_a_mailbox_is_paused_and_set_going(api: Api) -> None:
    paused = (await api.post("/mailboxes/support/pause", {"reason": "moving"})).json
    assert (paused["state"], paused["paused_reason"]) == ("paused", "moving")
    assert paused["paused_by"] == f"uid:{UID}"
    assert (await api.get("/mailboxes")).json["items"][0]["state"] == "paused"
    assert (await api.post("/mailboxes/support/resume")).json["state"] == "active"


async def test_a_check_tells_each_step_and_what_to_do(api: Api) -> None:
    said = (await api.post("/mailboxes/support/check")).json
    assert (said["mailbox_id"], said["ok"]) == ("support", False)
    assert said["checks"][1] == {
        "step": "connect",
        "result": "failed",
        "detail": "refused",
        "fix": "Check host and port.",
    }


@pytest.mark.parametrize("act", ["pause", "resume", "check"])
async def test_an_unknown_mailbox_is_not_found(api: Api, act: str) -> None:
    assert (await api.post(f"/mailboxes/nobody/{act}")).status == 404


async def test_a_reason_is_one_line(api: Api) -> None:
    assert (await api.post("/mailboxes/support/pause", {"reason": "a\nb"})).status == 422


# -- events


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


def test_priorities_have_words() -> None:
    assert [lane.word for lane in Lane] == ["high", "standard", "bulk"]
