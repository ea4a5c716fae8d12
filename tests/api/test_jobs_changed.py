"""A job is cancelled or moved to another time, as far as that still can be."""

import pytest

from postroom.core.delivery import DeliveryState
from support.api_server import JOB_1, UID, Api
from support.records import NOW, delivery, job


S = DeliveryState


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
