"""The keeper of doubts: it wakes when the next one is due, sleeps else, and does nothing by a clock that is not believed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import cast

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import DoubtPolicy, Lane, Mailbox, OnUncertain
from postroom.ops.chronicle import Chronicle
from postroom.ops.clocktrust import ClockTrust
from postroom.ports.changes import Change, StateMoved
from postroom.ports.doubting import PolicyDone, PolicyTurn
from postroom.ports.errors import StoreBroken, StoreUnavailable
from postroom.service.doubting import BITE, DoubtKeeper
from support.clock import FakeClock, settle
from support.store_host import NOON


S = DeliveryState
QUARTER = 900
NOTHING = PolicyDone(0, None)


class Told:
    """What the log would say."""

    def __init__(self) -> None:
        self.faults: list[Exception] = []

    def store_refused(self, error: Exception) -> None:
        self.faults.append(error)


class Doubts:
    """A store that says these answers in turn."""

    def __init__(self, *answers: PolicyDone | Exception) -> None:
        self.answers = list(answers)
        self.turns: list[PolicyTurn] = []

    async def settle_due(self, turn: PolicyTurn) -> PolicyDone:
        self.turns.append(turn)
        answer = self.answers.pop(0) if self.answers else NOTHING
        if isinstance(answer, Exception):
            raise answer
        return answer


def box(kind: OnUncertain, id_: str = "support", after_s: float = QUARTER) -> Mailbox:
    policy = DoubtPolicy(kind, timedelta(seconds=after_s))
    return Mailbox(id_, f"{id_}@example.com", "", "main", on_uncertain=policy)


@asynccontextmanager
async def keeping(
    doubts: Doubts, clock: FakeClock, *boxes: Mailbox, told: Told | None = None
) -> AsyncIterator[DoubtKeeper]:
    trust = ClockTrust(clock, None)
    mailboxes = {one.id: one for one in boxes or (box(OnUncertain.RESEND),)}
    keeper = DoubtKeeper(doubts, mailboxes, clock, trust, cast(Chronicle, told or Told()))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(keeper.run())
        await settle()
        yield keeper
        task.cancel()


def doubt(mailbox_id: str = "support", after: S = S.UNCERTAIN) -> list[Change]:
    return [StateMoved(mailbox_id, Lane.STANDARD, S.SENDING, after, None, 1)]


async def pass_(clock: FakeClock, seconds: float) -> None:
    clock.advance(seconds)
    await settle()


async def test_doubts_that_waited_before_the_start_are_looked_at_at_once() -> None:
    clock, doubts = FakeClock(NOON), Doubts()
    async with keeping(doubts, clock):
        until = Instant(NOON - QUARTER * SECOND)
        assert doubts.turns == [PolicyTurn("support", OnUncertain.RESEND, until, NOON, BITE)]


async def test_it_sleeps_until_the_next_is_due() -> None:
    clock, doubts = FakeClock(NOON), Doubts(PolicyDone(0, Instant(NOON - 600 * SECOND)))
    async with keeping(doubts, clock):
        for _ in range(4):
            await pass_(clock, 74)
        assert len(doubts.turns) == 1
        await pass_(clock, 4)
        assert [one.at for one in doubts.turns] == [NOON, NOON + 300 * SECOND]


async def test_while_nothing_is_in_doubt_nobody_wakes() -> None:
    clock, doubts = FakeClock(NOON), Doubts()
    async with keeping(doubts, clock) as keeper:
        await pass_(clock, 86_400)
        assert (len(doubts.turns), clock._sleepers) == (1, [])
        keeper.committed(doubt(after=S.SENT))
        keeper.committed(doubt("unknown"))
        await settle()
        assert clock._sleepers == []
        keeper.committed(doubt())
        await settle()
        assert len(clock._sleepers) == 1


async def test_a_new_doubt_is_decided_when_its_time_has_come() -> None:
    clock, doubts = FakeClock(NOON), Doubts()
    async with keeping(doubts, clock) as keeper:
        await pass_(clock, 100)
        keeper.committed(doubt())
        await pass_(clock, QUARTER - 1)
        assert len(doubts.turns) == 1
        await pass_(clock, 1)
        assert [one.at for one in doubts.turns] == [NOON, NOON + (QUARTER + 100) * SECOND]


async def test_a_second_doubt_does_not_put_off_the_first() -> None:
    clock, doubts = FakeClock(NOON), Doubts()
    async with keeping(doubts, clock) as keeper:
        keeper.committed(doubt())
        await pass_(clock, 100)
        keeper.committed(doubt())
        await pass_(clock, QUARTER - 100)
        assert [one.at for one in doubts.turns] == [NOON, NOON + QUARTER * SECOND]


async def test_a_small_jump_of_the_clock_is_seen_within_a_minute() -> None:
    clock, doubts = FakeClock(NOON), Doubts()
    async with keeping(doubts, clock) as keeper:
        keeper.committed(doubt())
        await settle()
        clock.jump(QUARTER)
        await pass_(clock, 60)
        assert len(doubts.turns) == 2


async def test_many_are_decided_in_bites_without_waiting() -> None:
    clock = FakeClock(NOON)
    doubts = Doubts(PolicyDone(BITE, Instant(NOON - 10_000 * SECOND)), PolicyDone(3, None))
    async with keeping(doubts, clock):
        assert len(doubts.turns) == 2


async def test_where_every_mailbox_holds_nothing_is_asked() -> None:
    clock, doubts = FakeClock(NOON), Doubts()
    async with keeping(doubts, clock, box(OnUncertain.HOLD)) as keeper:
        keeper.committed(doubt())
        await pass_(clock, 86_400)
        assert (doubts.turns, clock._sleepers) == ([], [])


async def test_each_mailbox_has_its_own_policy() -> None:
    clock, doubts = FakeClock(NOON), Doubts()
    boxes = box(OnUncertain.RESEND), box(OnUncertain.ASSUME_SENT, "sales", 60)
    async with keeping(doubts, clock, *boxes) as keeper:
        keeper.committed([*doubt(), *doubt("sales")])
        await pass_(clock, 60)
        await pass_(clock, QUARTER - 60)
        told = [(one.mailbox_id, one.kind, (one.at - NOON) // SECOND) for one in doubts.turns]
        assert told == [
            ("support", OnUncertain.RESEND, 0),
            ("sales", OnUncertain.ASSUME_SENT, 0),
            ("sales", OnUncertain.ASSUME_SENT, 60),
            ("support", OnUncertain.RESEND, QUARTER),
        ]


@pytest.mark.parametrize("hours", [2, 87_600, -2, -87_600])
async def test_by_a_clock_that_is_not_believed_nothing_is_decided_for_a_day(hours: int) -> None:
    clock, doubts = FakeClock(NOON), Doubts()
    async with keeping(doubts, clock) as keeper:
        keeper.committed(doubt())
        clock.jump(hours * 3600)
        for _ in range(24 * 60 - 5):
            await pass_(clock, 60)
        assert len(doubts.turns) == 1
        for _ in range(30):
            await pass_(clock, 60)
        assert len(doubts.turns) >= 2


async def test_a_clock_that_is_set_back_keeps_nobody_longer_than_the_policy_says() -> None:
    clock, doubts = FakeClock(NOON), Doubts(NOTHING, PolicyDone(0, Instant(NOON - 3000 * SECOND)))
    async with keeping(doubts, clock) as keeper:
        keeper.committed(doubt())
        clock.jump(-3000)
        await pass_(clock, 60)
        assert len(doubts.turns) == 2
        for _ in range(15):
            await pass_(clock, 60)
        assert len(doubts.turns) == 3


async def test_a_store_that_is_away_is_asked_again_soon() -> None:
    clock, told = FakeClock(NOON), Told()
    fault = StoreUnavailable("away")
    doubts = Doubts(fault)
    async with keeping(doubts, clock, told=told):
        await pass_(clock, 4)
        assert (len(doubts.turns), told.faults) == (1, [fault])
        await pass_(clock, 1)
        assert len(doubts.turns) == 2


async def test_a_broken_store_ends_it() -> None:
    doubts = Doubts(StoreBroken("gone"))
    with pytest.raises(ExceptionGroup) as caught:
        async with keeping(doubts, FakeClock(NOON)):
            await settle()
    assert caught.group_contains(StoreBroken)


async def test_a_policy_that_comes_is_looked_at_at_once_and_one_that_goes_is_forgotten() -> None:
    clock, doubts = FakeClock(NOON), Doubts()
    async with keeping(doubts, clock, box(OnUncertain.HOLD)) as keeper:
        assert doubts.turns == []
        keeper.switch({"support": box(OnUncertain.RESEND, after_s=60)})
        await settle()
        assert [one.kind for one in doubts.turns] == [OnUncertain.RESEND]
        keeper.switch({})
        keeper.committed(doubt())
        await pass_(clock, 120)
        assert len(doubts.turns) == 1


async def test_a_policy_that_goes_in_the_middle_of_its_turn_settles_nothing_more() -> None:
    clock = FakeClock(NOON)
    keepers: list[DoubtKeeper] = []

    class Changing(Doubts):
        async def settle_due(self, turn: PolicyTurn) -> PolicyDone:
            keepers[0].switch({})
            await super().settle_due(turn)
            return PolicyDone(BITE, Instant(NOON - 10_000 * SECOND))

    doubts = Changing()
    async with keeping(doubts, clock, box(OnUncertain.HOLD)) as keeper:
        keepers.append(keeper)
        keeper.switch({"support": box(OnUncertain.RESEND)})
        await settle()
        await pass_(clock, QUARTER)
        assert len(doubts.turns) == 1


async def test_a_store_that_says_no_about_a_mailbox_that_goes_is_not_asked_again() -> None:
    clock = FakeClock(NOON)
    keepers: list[DoubtKeeper] = []

    class Failing(Doubts):
        async def settle_due(self, turn: PolicyTurn) -> PolicyDone:
            keepers[0].switch({})
            return await super().settle_due(turn)

    doubts = Failing(StoreUnavailable("busy"))
    async with keeping(doubts, clock, box(OnUncertain.HOLD)) as keeper:
        keepers.append(keeper)
        keeper.switch({"support": box(OnUncertain.RESEND)})
        await settle()
        await pass_(clock, 60)
        assert len(doubts.turns) == 1
