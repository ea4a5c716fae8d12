from dataclasses import replace

import pytest

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.instant import Instant
from postroom.core.reason import ReasonCode
from postroom.core.record import HistoryRow
from postroom.core.reply import Stage
from postroom.ports.desk import DeliveryFilter, Verdict
from support.api_server import Api
from support.records import NOW, delivery, job


S = DeliveryState
DLV_1 = "/deliveries/dlv_0000000000001"


async def test_a_delivery_is_told_with_its_history(api: Api) -> None:
    row = HistoryRow(
        S.SENDING,
        S.RETRY_SCHEDULED,
        NOW,
        ReasonCode.EXPIRED,
        451,
        "4.2.1",
        "try again later",
        2,
        "loop",
    )
    record = delivery(1, S.RETRY_SCHEDULED, attempts=2, reply_code=451, stage=Stage.RCPT)
    api.outbox.jobs[1] = job(1, replace(record, history=(*record.history, row)))
    said = (await api.get(DLV_1)).json
    assert said["id"] == "dlv_0000000000001"
    assert said["job_id"] == "job_0000000000001"
    assert (said["state"], said["attempts"], said["stage"]) == ("retry_scheduled", 2, "rcpt")
    assert said["next_attempt_at"] == "2025-11-30T11:00:00.000000Z"
    assert said["history"] == [
        {
            "from": None,
            "to": "pending",
            "at": "2025-11-30T11:00:00.000000Z",
            "reason_code": None,
            "reply_code": None,
            "enhanced_status": None,
            "reply_text": None,
            "attempt": None,
            "by": "uid:1000",
        },
        {
            "from": "sending",
            "to": "retry_scheduled",
            "at": "2025-11-30T11:00:00.000000Z",
            "reason_code": "expired",
            "reply_code": 451,
            "enhanced_status": "4.2.1",
            "reply_text": "try again later",
            "attempt": 2,
            "by": "loop",
        },
    ]


async def test_a_delivery_tells_where_its_answers_and_reports_go(api: Api) -> None:
    ways = {"reply_to": ("r-1@reply.example.com",), "return_path": "b-1@reply.example.com"}
    record = delivery(1, S.SENT, settled_at=NOW, subject="Hello", **ways)
    api.outbox.jobs[1] = job(1, record)
    said = (await api.get(DLV_1)).json
    assert said["reply_to"] == ["r-1@reply.example.com"]
    assert said["return_path"] == "b-1@reply.example.com"
    assert (said["subject"], said["settled_at"]) == ("Hello", "2025-11-30T11:00:00.000000Z")
    (listed,) = (await api.get("/deliveries?state=sent")).json["items"]
    assert listed["subject"] == "Hello"
    assert not {"reply_to", "return_path", "history"} & listed.keys()


async def test_a_held_delivery_says_for_what_it_waits(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1, S.HELD, hold_reason=HoldReason.MAILBOX_REMOVED))
    assert (await api.get(DLV_1)).json["hold_reason"] == "mailbox_removed"


async def test_explain_tells_every_gate_in_order(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1))
    said = (await api.get(DLV_1 + "/explain")).json
    assert said == {
        "delivery_id": "dlv_0000000000001",
        "state": "pending",
        "blocked_by": "daily_cap",
        "earliest_at": "2025-12-01T11:00:00.000000Z",
        "gates": [
            {
                "name": "hold",
                "verdict": "passed",
                "value": None,
                "threshold": None,
                "until_at": None,
            },
            {
                "name": "daily_cap",
                "verdict": "blocked",
                "value": "500",
                "threshold": "500",
                "until_at": "2025-12-01T11:00:00.000000Z",
            },
        ],
    }


async def test_the_message_is_given_as_bytes(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1))
    content = b"Date: x\r\n\r\n" + bytes(range(256)) * 1000
    api.messages.content[1] = content
    said = await api.get(DLV_1 + "/raw")
    assert said.headers["content-type"] == "message/rfc822"
    assert said.body == content
    assert (await api.ask("HEAD", f"/v1{DLV_1}/raw")).body == b""


async def test_a_message_without_its_content_is_gone(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1))
    said = await api.get(DLV_1 + "/raw")
    assert (said.status, said.code) == (410, "content_gone")
    assert "pinned file" in said.json["detail"]


@pytest.mark.parametrize("what", ["", "/explain", "/raw"])
@pytest.mark.parametrize("name", ["dlv_0000000000009", "dlv_zzz", "job_0000000000001"])
async def test_a_delivery_that_is_not_there_is_not_found(api: Api, name: str, what: str) -> None:
    said = await api.get(f"/deliveries/{name}{what}")
    assert (said.status, said.code) == (404, "not_found")


async def test_deliveries_are_listed_without_history(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1, S.SENT), delivery(2, S.FAILED))
    said = (await api.get("/deliveries?mailbox_id=support&state=sent&since=1h")).json
    assert [one["id"] for one in said["items"]] == ["dlv_0000000000001"]
    assert "history" not in said["items"][0]
    since = Instant(NOW - 3_600_000_000)
    wanted = DeliveryFilter(mailbox_id="support", state=S.SENT, since=since)
    assert api.outbox.did == [("find_deliveries", wanted, None, 100)]


async def test_a_domain_is_looked_for_as_it_is_stored(api: Api) -> None:
    assert (await api.get("/deliveries?domain=B%C3%BCcher.Example")).status == 200
    assert api.outbox.did[0][1] == DeliveryFilter(domain="xn--bcher-kva.example")
    assert (await api.get("/deliveries?domain=a@b")).status == 422


async def test_two_filters_on_deliveries_are_refused(api: Api) -> None:
    said = await api.get("/deliveries?state=failed&reason_code=expired")
    assert (said.status, said.code) == (422, "filter_combination")


async def test_dead_letters_are_those_that_ended_unsent(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1, S.FAILED), delivery(2, S.UNCERTAIN), delivery(3))
    said = (await api.get("/dead-letters?since=24h")).json
    assert [one["state"] for one in said["items"]] == ["failed", "uncertain"]
    assert api.outbox.did == [("find_dead", Instant(NOW - 86_400_000_000), None, 100)]


async def test_a_failed_delivery_is_redriven(api: Api) -> None:
    api.outbox.jobs[1] = job(1, delivery(1, S.FAILED))
    said = await api.post(DLV_1 + "/retry")
    assert (said.status, said.json["state"]) == (200, "pending")


@pytest.mark.parametrize(
    ("path", "body"), [("/retry", None), ("/resolve", {"as": "resend"})], ids=["retry", "resolve"]
)
async def test_what_is_sent_stays_sent(api: Api, path: str, body: object) -> None:
    api.outbox.jobs[1] = job(1, delivery(1, S.SENT))
    said = await api.post(DLV_1 + path, body)
    assert (said.status, said.code, said.json["state"]) == (409, "wrong_state", "sent")
    assert said.json["detail"]


@pytest.mark.parametrize(
    ("word", "state"), [("sent", S.SENT), ("resend", S.PENDING), ("failed", S.FAILED)]
)
async def test_doubt_is_settled_by_hand(api: Api, word: str, state: S) -> None:
    api.outbox.jobs[1] = job(1, delivery(1, S.UNCERTAIN))
    said = await api.post(DLV_1 + "/resolve", {"as": word})
    assert (said.status, said.json["state"]) == (200, state)


@pytest.mark.parametrize(
    "body", [{}, {"as": "perhaps"}, {"verdict": "sent"}, {"as": "sent", "x": 1}]
)
async def test_doubt_is_not_settled_by_nonsense(api: Api, body: object) -> None:
    assert (await api.post(DLV_1 + "/resolve", body)).status == 422


@pytest.mark.parametrize("path", ["/retry", "/resolve"])
async def test_nothing_is_done_to_what_is_not_there(api: Api, path: str) -> None:
    for name in ("dlv_0000000000009", "x"):
        assert (
            await api.post(
                f"/deliveries/{name}{path}", {"as": "sent"} if path == "/resolve" else {}
            )
        ).status == 404


@pytest.mark.parametrize("is_dry", [True, False], ids=["dry run", "for real"])
async def test_all_that_a_filter_meets_is_acted_on(api: Api, *, is_dry: bool) -> None:
    body = {"filter": {"mailbox_id": "support", "state": "failed"}, "dry_run": is_dry, "limit": 9}
    wanted = DeliveryFilter(mailbox_id="support", state=S.FAILED)
    retried = (await api.post("/deliveries/retry", body)).json
    cancelled = (await api.post("/deliveries/cancel", body)).json
    resolved = (await api.post("/deliveries/resolve", {**body, "as": "sent"})).json
    assert [retried["matched"], cancelled["matched"], resolved["matched"]] == [3, 2, 1]
    done = [retried["done"], cancelled["done"], resolved["done"]]
    assert done == ([0, 0, 0] if is_dry else [3, 2, 1])
    assert api.outbox.did == [
        ("retry_deliveries", wanted, is_dry, 9),
        ("cancel_deliveries", wanted, is_dry, 9),
        ("resolve_deliveries", wanted, Verdict.SENT, is_dry, 9),
    ]


@pytest.mark.parametrize("path", ["retry", "cancel", "resolve"])
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, None),
        ({"filter": {}}, "/filter"),
        ({"filter": {"colour": "red"}}, "/filter/colour"),
        ({"filter": {"state": "dead"}}, "/filter/state"),
        ({"filter": {"since": "soon"}}, "/filter/since"),
        ({"filter": {"domain": "a@b"}}, "/filter/domain"),
        ({"filter": {"state": "failed"}, "limit": 0}, "/limit"),
        ({"filter": {"state": "failed"}, "dry_run": "no"}, "/dry_run"),
    ],
)
async def test_a_bulk_filter_that_can_not_be_acts_on_nothing(
    api: Api, path: str, body: dict[str, object], pointer: str | None
) -> None:
    said = await api.post(
        f"/deliveries/{path}", {**body, **({"as": "sent"} if path == "resolve" else {})}
    )
    assert said.status == 422
    assert pointer in {None, said.json["errors"][0]["pointer"]}
    assert api.outbox.did == []
