"""Addresses that get nothing more: suppressed, listed, freed, and never freed by a slip."""

import pytest

from support.api_server import UID, Api


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
