"""Consumers are made and deleted; what they could not handle is a dead letter."""

import pytest

from postroom.core.ids import Kind, encode_id
from support.api_server import Api
from support.lease_fakes import DEAD, MAIL_ID


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
    path = f"/events/{MAIL_ID}/retry"
    assert (await api.post(path, {"consumer": "agents"})).status == 404
    await api.post("/consumers", {"name": "agents"})
    said = await api.post(path, {"consumer": "agents"})
    assert (said.status, said.json) == (200, {"id": MAIL_ID, "consumer": "agents"})
    other = encode_id(Kind.EVENT, 8)
    assert (await api.post(f"/events/{other}/retry", {"consumer": "agents"})).code == "wrong_state"


async def test_dead_letters_are_deliveries_and_events(api: Api) -> None:
    api.leases.dead = (DEAD,)
    said = (await api.get("/dead-letters")).json
    assert said["items"] == []
    (dead,) = said["events"]
    assert dead["event"]["id"] == MAIL_ID
    assert dead["dead_for"][0]["consumer"] == "agents"
    page = (await api.get("/dead-letters?cursor=c0000000000001")).json
    assert page["events"] == []
    page = (await api.get("/dead-letters?events_cursor=c0000000000001")).json
    assert len(page["events"]) == 1
