"""What concerns all mail: a backup, the clock, what is held."""

from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.ports.desk import DeliveryFilter
from postroom.ports.errors import StorageFull, StoreUnavailable
from support.api_fakes import FakeBackups, FakeTrust
from support.api_outbox import EVENT
from support.api_server import Api, running
from support.records import delivery, job


async def test_a_backup_is_streamed_and_closed(tmp_path: Path) -> None:
    backups = FakeBackups()
    async with running(tmp_path, backups=backups) as api:
        said = await api.post("/backup")
        assert (said.status, said.body) == (200, b"tar, the rest")
        assert said.headers["content-type"] == "application/x-tar"
        assert said.headers["x-postroom-expected-bytes"] == "4711"
        assert "content-length" not in said.headers
    assert backups.closed == 1


async def test_a_backup_that_breaks_off_does_not_look_whole(tmp_path: Path) -> None:
    backups = FakeBackups([b"tar, ", OSError("gone")])
    async with running(tmp_path, backups=backups) as api:
        with pytest.raises(aiohttp.ClientPayloadError):
            await api.post("/backup")
    assert backups.closed == 1


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"is_operator": lambda uid: False}, 403, "not_allowed"),
        ({"backups": FakeBackups(is_busy=True)}, 409, "backup_under_way"),
        ({"backups": FakeBackups(fault=StorageFull("no"))}, 507, "storage_full"),
        ({"backups": FakeBackups(fault=StoreUnavailable("no"))}, 503, "store_unavailable"),
    ],
    ids=["somebody else", "another one", "no room", "no store"],
)
async def test_a_backup_that_can_not_be_made_is_refused(
    tmp_path: Path, changed: dict[str, object], status: int, code: str
) -> None:
    async with running(tmp_path, **changed) as api:
        said = await api.post("/backup")
        assert (said.status, said.code) == (status, code)


async def test_a_doubted_clock_is_told_and_an_operator_confirms_it(tmp_path: Path) -> None:
    async with running(tmp_path, trust=FakeTrust(is_odd=True)) as api:
        assert (await api.get("/clock")).json["is_doubted"]
        assert (await api.post("/clock/confirm")).json["is_doubted"] is False
        assert (await api.get("/clock")).json == {
            "at": "2025-11-30T11:00:00.000000Z",
            "is_doubted": False,
        }


async def test_nobody_else_confirms_the_clock(tmp_path: Path) -> None:
    trust = FakeTrust(is_odd=True)
    async with running(tmp_path, trust=trust, is_operator=lambda uid: False) as api:
        said = await api.post("/clock/confirm")
        assert (said.status, said.code, trust.is_odd) == (403, "not_allowed", True)


async def test_a_held_delivery_is_released_and_another_is_not(api: Api) -> None:
    held = replace(delivery(1, DeliveryState.HELD), hold_reason=HoldReason.RESTORED)
    api.outbox.jobs[1] = job(1, held, delivery(2, DeliveryState.SENT))
    said = await api.post("/deliveries/dlv_0000000000001/release")
    assert (said.status, said.json["state"]) == (200, "pending")
    said = await api.post("/deliveries/dlv_0000000000002/release")
    assert (said.status, said.code) == (409, "wrong_state")
    assert (await api.post("/deliveries/dlv_0000000000009/release")).status == 404
    assert (await api.post("/deliveries/x/release")).status == 404
    assert (await api.get("/holds")).json == {
        "items": [{"mailbox_id": "support", "hold_reason": "restored", "deliveries": 1}],
        "next_cursor": None,
    }


async def test_all_that_a_restore_held_are_released_or_cancelled_at_once(api: Api) -> None:
    body = {"filter": {"mailbox_id": "support", "hold_reason": "restored"}, "limit": 7}
    assert (await api.post("/deliveries/release", body)).json == {"matched": 4, "done": 4}
    assert (await api.post("/deliveries/cancel", body)).json == {"matched": 2, "done": 2}
    asked = DeliveryFilter("support", hold_reason=HoldReason.RESTORED)
    assert api.outbox.did == [
        ("release_deliveries", asked, False, 7),
        ("cancel_deliveries", asked, False, 7),
    ]
    body = {"filter": {"state": "held", "hold_reason": "restored"}}
    assert (await api.post("/deliveries/release", body)).code == "filter_combination"
    assert (await api.post("/deliveries/release", {"filter": {}})).code == "invalid_request"


LEAP = 1 << 32


@pytest.mark.parametrize(
    ("after", "status", "seqs"),
    [
        (0, 200, [4711, LEAP + 4800]),
        (4710, 200, [4711, LEAP + 4800]),
        (4711, 200, [LEAP + 4800]),
        (4712, 410, []),
        (4799, 410, []),
        (LEAP + 4799, 200, [LEAP + 4800]),
        (LEAP + 4800, 200, []),
        (LEAP + 4801, 410, []),
    ],
)
async def test_whoever_read_what_a_restore_lost_is_told(
    api: Api, after: int, status: int, seqs: list[int]
) -> None:
    api.outbox.events = (replace(EVENT, seq=4711), replace(EVENT, seq=LEAP + 4800))
    api.outbox.span = ("log-2", 4711, LEAP + 4800)
    said = await api.get(f"/events?after={after}")
    assert said.status == status
    if status == 200:
        assert [one["seq"] for one in said.json["items"]] == seqs
    else:
        assert (said.code, said.json["log_id"]) == ("log_reset", "log-2")
        assert (await api.get(f"/events/stream?after={after}")).code == "log_reset"


async def test_before_the_first_event_after_a_restore_what_was_lost_is_lost(api: Api) -> None:
    api.outbox.events = (replace(EVENT, seq=4711),)
    api.outbox.span = ("log-2", 4711, LEAP + 4711)
    assert (await api.get("/events?after=4711")).status == 200
    assert (await api.get("/events?after=4712")).code == "log_reset"
