"""How the daemon is: health, readiness, version, signals and metrics."""

import pytest

from postroom.core.instant import Instant, format_instant
from postroom.core.mailbox import Lane
from postroom.ports.loop import Readiness
from support.api_server import Api
from support.records import NOW


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


def test_priorities_have_words() -> None:
    assert [lane.word for lane in Lane] == ["high", "standard", "bulk"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/stats", "/metrics"])
async def test_health_is_told_with_and_without_the_base_path(api: Api, path: str) -> None:
    assert (await api.ask("GET", path)).status == 200
    assert (await api.ask("GET", "/v1" + path)).status == 200
    assert (await api.ask("GET", "/jobs")).status == 404


async def test_a_daemon_that_is_not_ready_says_why(api: Api) -> None:
    api.signals.ready = Readiness(is_ready=False, detail="Recovery is under way.")
    said = await api.get("/readyz")
    assert (said.status, said.code) == (503, "not_ready")
    assert said.json["detail"] == "Recovery is under way."


async def test_the_signals_are_told_in_all_and_by_mailbox(api: Api) -> None:
    said = (await api.get("/stats")).json
    assert said["depth"] == {"pending": 2, "sent": 7}
    assert said["oldest_due_age_s"] == 3.0
    assert said["mailboxes"]["support"] == {
        "depth": {"high": {"pending": 2}, "bulk": {"sent": 7}},
        "oldest_due_age_s": {"high": 3.0},
        "outcomes": {"sent": 7},
        "last_minute": {"accepted": 9, "sent": 7, "failed": 1, "deferred": 2},
        "paused_by": None,
    }
    assert said["mailboxes"]["news"]["paused_by"] == "uid:0"
    assert said["last_minute"]["sent"] == 7


async def test_what_stands_behind_the_signals_is_told(api: Api) -> None:
    said = (await api.get("/stats")).json
    assert said["breakers"] == [
        {
            "scope": "relay",
            "id": "main",
            "state": "open",
            "reason": "relay.unreachable",
            "probe_at": format_instant(Instant(NOW + 1_000_000)),
        }
    ]
    assert said["pace"] == [
        {"scope": "mailbox", "id": "support", "per": "minute", "used": 7, "allowed": 60}
    ]
    assert said["connections"] == {"main": 2}
    assert said["consumers"] == {"agents": {"events": 5, "leased": 1, "oldest_age_s": 90.0}}
    assert said["unclaimed"] == {"events": 4, "leased": 0, "oldest_age_s": 10.0}
    assert (said["lease_expiries"], said["events_dead"]) == (3, 1)
    assert said["inbound"] == {
        "received": 20,
        "refused": 6,
        "set_aside": 1,
        "waiting": 2,
        "oldest_age_s": 7.0,
        "sessions": 1,
    }
    assert said["store"] == {
        "commits": 5,
        "commit_s": 0.5,
        "waiting": 1,
        "wal_bytes": 4_096,
        "disk_free_bytes": 1 << 30,
        "disk_kept_bytes": 1 << 28,
        "disk_free_files": 90_000,
        "disk_kept_files": 1_000,
    }


async def test_metrics_are_in_the_format_of_prometheus(api: Api) -> None:
    said = await api.get("/metrics")
    assert said.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b"postroom_queue_depth 2" in said.body


async def test_the_version_is_told(api: Api) -> None:
    assert (await api.get("/version")).json == {"name": "postroom", "version": "1.2.3", "api": "v1"}
