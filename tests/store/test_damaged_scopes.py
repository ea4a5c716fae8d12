"""What is damaged of what the loop remembers between runs keeps no daemon from starting, and nothing goes the faster for it."""

from pathlib import Path

import pytest

from postroom.core.breaker import CLOSED, Breaker, BreakerState
from postroom.core.instant import MINUTE, SECOND, Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.slowing import Slowing
from postroom.ports.looping import Bucket, DomainPause
from postroom.store.sqlite.unit import WriteLane
from support.damaging import damage
from support.store_host import NOON, outbox_in


MINUTE_NO = NOON // MINUTE
UNTIL = Instant(NOON + 60 * SECOND)
KEPT = (
    "INSERT INTO mailbox (id, breaker_state, breaker_reason) VALUES ('support', 'open', 'quota.daily')",
    "INSERT INTO relay (id, breaker_state, breaker_reason) VALUES ('main', 'open', 'relay.busy')",
    f"INSERT INTO pace_bucket VALUES ('m:support', {MINUTE_NO}, 0, 7)",  # noqa: S608
    f"INSERT INTO domain_pause VALUES ('support', 'a.example', {UNTIL}, 'greylisted')",  # noqa: S608
    f"INSERT INTO slowing VALUES ('main', 'a.example', 'relay.busy', 60, 4, 0.5, {NOON}, {NOON})",  # noqa: S608
)
NO_TEXT = "CAST(x'ff' AS TEXT)"


@pytest.mark.parametrize("word", ["'x'", NO_TEXT])
async def test_what_holds_something_back_does_so_though_its_reason_can_not_be_read(
    tmp_path: Path, word: str
) -> None:
    spoil = (
        "UPDATE pace_bucket SET lane = 9",
        *(f"UPDATE {table} SET reason_code = {word}" for table in ("domain_pause", "slowing")),  # noqa: S608
        f"UPDATE relay SET breaker_reason = {word}",  # noqa: S608
        "UPDATE mailbox SET breaker_reason = 'x'",
    )
    async with outbox_in(tmp_path) as outbox:
        await outbox.database.write(damage(*KEPT, *spoil), lane=WriteLane.REST)
    async with outbox_in(tmp_path) as outbox:
        state = await outbox.loop.load()
    opened = Breaker(BreakerState.OPEN)
    assert [one.breaker for one in (*state.mailboxes, *state.relays)] == [opened, opened]
    assert state.buckets == ((Bucket("m:support", MINUTE_NO, Lane.STANDARD), 7),)
    assert state.domain_pauses == (
        DomainPause("support", "a.example", UNTIL, ReasonCode.DOMAIN_DEFERRED),
    )
    slowing = Slowing(ReasonCode.RATE_LIMITED, 60, 4, 0.5, NOON, NOON)
    assert state.slowings == (("main", "a.example", slowing),)


async def test_a_state_of_a_breaker_that_can_not_be_read_is_learned_anew(tmp_path: Path) -> None:
    spoil = (f"UPDATE {table} SET breaker_state = 'x'" for table in ("mailbox", "relay"))  # noqa: S608
    async with outbox_in(tmp_path) as outbox:
        await outbox.database.write(damage(*KEPT, *spoil), lane=WriteLane.REST)
    async with outbox_in(tmp_path) as outbox:
        state = await outbox.loop.load()
    assert {one.breaker.state for one in (*state.mailboxes, *state.relays)} == {CLOSED.state}


@pytest.mark.parametrize(
    "name",
    [
        "relay SET id",
        "pace_bucket SET scope",
        "domain_pause SET domain",
        "domain_pause SET mailbox_id",
        "slowing SET relay_id",
        "slowing SET domain",
    ],
)
async def test_what_is_remembered_of_a_damaged_name_is_nobodys(tmp_path: Path, name: str) -> None:
    spoil = f"UPDATE {name} = {NO_TEXT}"
    async with outbox_in(tmp_path) as outbox:
        await outbox.database.write(damage(*KEPT, spoil), lane=WriteLane.REST)
    async with outbox_in(tmp_path) as outbox:
        state = await outbox.loop.load()
    assert [one.id for one in state.mailboxes] == ["support"]


@pytest.mark.parametrize(("figure", "share", "probe_s"), [("9e999", 1.0, 86_400.0), ("-1", 0, 0)])
async def test_figures_that_can_not_be_are_the_nearest_that_can(
    tmp_path: Path, figure: str, share: float, probe_s: float
) -> None:
    spoil = (f"UPDATE {one} = {figure}" for one in ("slowing SET share", "relay SET probe_s"))
    async with outbox_in(tmp_path) as outbox:
        await outbox.database.write(damage(*KEPT, *spoil), lane=WriteLane.REST)
    async with outbox_in(tmp_path) as outbox:
        state = await outbox.loop.load()
    assert [slowing.share for _, _, slowing in state.slowings] == [share]
    assert [one.breaker.probe_s for one in state.relays] == [probe_s]
