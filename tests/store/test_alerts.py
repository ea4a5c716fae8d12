"""Alerts in the store: raised and cleared with their events, kept over a restart, leased by nobody."""

import sqlite3
from pathlib import Path

import pytest

from postroom.core.alert import Alert, AlertKey, AlertKind, AlertScope, Cause
from postroom.core.alertstate import Moves
from postroom.core.eventtypes import EventType
from postroom.core.instant import MINUTE, Instant
from postroom.ports.changes import LogGrew
from postroom.ports.leasing import LeaseWish
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.desk_store import Told
from support.store_host import NOON, outbox_in


KEY = AlertKey(AlertKind.RELAY_DOWN, AlertScope.RELAY, "main")
DOWN = Alert(KEY, NOON, 12, 1, Cause.RELAY_GONE)
FAILING = Alert(
    AlertKey(AlertKind.FAILURES_CLUSTERING, AlertScope.DOMAIN, "a.test", "support"),
    NOON,
    30.5,
    10,
    Cause.OLD_ADDRESSES,
)
LATER = Instant(NOON + 5 * MINUTE)


async def test_what_is_raised_is_an_event_and_stands_until_it_is_cleared(tmp_path: Path) -> None:
    told = Told()
    async with outbox_in(tmp_path) as outbox:
        outbox.database.watch(told)
        raised = await outbox.alerts.move(Moves((DOWN, FAILING)), LATER)
        assert [one.alert for one in raised] == [DOWN, FAILING]
        assert told.changes == [
            LogGrew(one.seq, one.alert.key.mailbox_id or "", "alert.raised") for one in raised
        ]
    async with outbox_in(tmp_path) as outbox:
        assert await outbox.alerts.find_raised() == raised
        assert await outbox.alerts.move(Moves((), raised[:1]), LATER) == ()
        assert await outbox.alerts.find_raised() == raised[1:]
        log = await outbox.reader.find_events(0, 10)
    assert [(one.type, one.mailbox_id) for one in log] == [
        ("alert.raised", ""),
        ("alert.raised", "support"),
        ("alert.cleared", ""),
    ]
    first, _, last = (one.data["alert"] for one in log)
    assert isinstance(first, dict)
    assert isinstance(last, dict)
    assert first["kind"] == "relay_down"
    assert last == first | {
        "raised_at": "2026-11-30T12:05:00.000000Z",
        "raised_by": last["raised_by"],
        "to_do": "Nothing: it is over.",
    }


async def test_it_can_be_raised_again_after_it_was_cleared(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        raised = await outbox.alerts.move(Moves((DOWN,)), NOON)
        again = await outbox.alerts.move(Moves((DOWN,), raised), LATER)
        assert await outbox.alerts.find_raised() == again


async def test_no_consumer_gets_an_alert(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.alerts.move(Moves((FAILING,)), NOON)
        wish = LeaseWish("agent", ("support",), tuple(EventType), 10, 10, 60.0, None, NOON)
        assert await outbox.leases.acquire(wish) == ()
        await outbox.alerts.move(Moves((DOWN,)), NOON)
        assert await outbox.leases.acquire(wish) == ()
        (agent,) = await outbox.leases.find_consumers()
        assert agent.pending == 0


@pytest.mark.parametrize("spoil", ["cause = 'x'", "kind = 'x'", "name = CAST(x'ff' AS TEXT)"])
async def test_one_that_can_not_be_read_keeps_nobody_from_the_others(
    spoil: str, tmp_path: Path
) -> None:
    def damage(conn: sqlite3.Connection) -> UnitResult[None]:
        conn.execute(f"UPDATE alert SET {spoil} WHERE scope = 'relay'")  # noqa: S608
        return UnitResult(None)

    async with outbox_in(tmp_path) as outbox:
        raised = await outbox.alerts.move(Moves((DOWN, FAILING)), NOON)
        await outbox.database.write(damage, lane=WriteLane.REST)
        assert await outbox.alerts.find_raised() == raised[1:]
        again = await outbox.alerts.move(Moves((DOWN,)), LATER)
        assert await outbox.alerts.find_raised() == (*raised[1:], *again)
