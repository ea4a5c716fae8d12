"""Mailboxes as they are told: paused, blocked, slowed down, checked."""

from dataclasses import replace

import pytest

from postroom.core.record import MailboxRecord
from postroom.ports.loop import BreakerView, SlowedView
from support.api_server import UID, Api
from support.records import NOW


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
