"""How the daemon is: health, readiness, version, signals and metrics."""

from postroom.core.mailbox import Lane
from support.api_server import Api


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


# -- events


def test_priorities_have_words() -> None:
    assert [lane.word for lane in Lane] == ["high", "standard", "bulk"]
