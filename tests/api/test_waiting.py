"""`GET /waiting`: what each lane waits for, of the whole daemon or a part of it."""

from dataclasses import replace

import pytest

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.ports.loop import GateReport, GateVerdict, QueueView
from support.api_server import Api
from support.records import NOW, delivery, job


PACED = GateReport("mailbox_pace", GateVerdict.BLOCKED, 60, 60, NOW)
QUEUES = (
    QueueView("support", Lane.HIGH, None, 1, PACED, 2, None),
    QueueView("support", Lane.BULK, "customer.example", None, None, 0, NOW),
)
AT = "2025-11-30T11:00:00.000000Z"


async def test_each_lane_says_how_much_waits_and_for_what(api: Api) -> None:
    api.loop.queues = QUEUES
    said = (await api.get("/waiting")).json
    assert (said["in_flight"], said["slots"]) == (1, 200)
    assert [(one["mailbox_id"], one["priority"], one["depth"]) for one in said["items"]] == [
        ("support", "high", {"pending": 2}),
        ("support", "bulk", {}),
    ]
    high, bulk = said["items"]
    assert (high["relay"], high["oldest_due_age_s"], bulk["oldest_due_age_s"]) == ("main", 3.0, 0.0)
    assert high["queues"] == [
        {
            "domain": None,
            "first_id": "dlv_0000000000001",
            "blocked_by": "mailbox_pace",
            "value": 60,
            "threshold": 60,
            "until_at": AT,
            "read": 2,
            "next_at": None,
        }
    ]
    (later,) = bulk["queues"]
    assert (later["domain"], later["first_id"], later["blocked_by"], later["next_at"]) == (
        "customer.example",
        None,
        None,
        AT,
    )


async def test_it_says_what_is_held_and_what_is_tried_again_and_why(api: Api) -> None:
    held = replace(delivery(1, DeliveryState.HELD), hold_reason=HoldReason.RESTORED)
    again = delivery(2, DeliveryState.RETRY_SCHEDULED, reason_code=ReasonCode.RECIPIENT_DEFERRED)
    api.outbox.jobs[1] = job(1, held, again)
    api.signals.more_depth["support", Lane.HIGH, DeliveryState.RETRY_SCHEDULED] = 1
    said = (await api.get("/waiting")).json
    assert said["holds"] == [{"mailbox_id": "support", "hold_reason": "restored", "deliveries": 1}]
    assert said["retries"] == [
        {
            "mailbox_id": "support",
            "priority": "standard",
            "reason_code": "recipient.deferred",
            "deliveries": 1,
            "next_at": AT,
        }
    ]
    assert (await api.get("/waiting?priority=standard")).json["retries"] == said["retries"]
    assert (await api.get("/waiting?priority=bulk")).json["retries"] == []


@pytest.mark.parametrize(
    ("asked", "lanes"),
    [
        ("?mailbox_id=support", ["high", "bulk"]),
        ("?relay=main", ["high", "bulk"]),
        ("?priority=bulk", ["bulk"]),
        ("?mailbox_id=support&relay=main&priority=high", ["high"]),
        ("?priority=standard", []),
    ],
)
async def test_a_part_of_it_can_be_asked_for(asked: str, lanes: list[str], api: Api) -> None:
    api.loop.queues = QUEUES
    said = (await api.get(f"/waiting{asked}")).json
    assert [one["priority"] for one in said["items"]] == lanes


@pytest.mark.parametrize(
    "asked", ["?mailbox_id=nobody", "?relay=nobody", "?mailbox_id=support&relay=nobody"]
)
async def test_what_does_not_exist_is_not_found(asked: str, api: Api) -> None:
    said = await api.get(f"/waiting{asked}")
    assert (said.status, said.json["code"]) == (404, "not_found")
