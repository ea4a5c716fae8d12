"""What the loop knew is there after a restart: breakers, pace, pauses, slow-downs and starts."""

from dataclasses import replace
from pathlib import Path

from postroom.core.breaker import Breaker, BreakerState
from postroom.core.delivery import DeliveryState
from postroom.core.instant import MINUTE, Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.slowing import FORGOTTEN, Slowing
from postroom.core.speed import SpeedMoved
from postroom.ports.looping import Bucket, DomainPause, Start
from support.clock import HandClock
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job, outcome_of


S = DeliveryState


async def test_breakers_pace_and_paused_domains_are_there_after_a_restart(tmp_path: Path) -> None:
    minute = NOON // MINUTE
    buckets = (Bucket("m:support", minute, Lane.HIGH), Bucket("r:main", minute, Lane.HIGH))
    relay = Breaker(
        BreakerState.OPEN, ReasonCode.RELAY_UNREACHABLE, 5, 31, 5, NOON, Instant(NOON + 1), 30.0, 1
    )
    mailbox = Breaker(faults_in_row=2, seen=9)
    until = DomainPause("support", "example.com", Instant(NOON + 1), ReasonCode.RELAY_UNREACHABLE)
    over = DomainPause("support", "example.org", NOON, ReasonCode.RELAY_UNREACHABLE)
    paces = (("m:support", Instant(NOON + 5)), ("r:main", Instant(NOON + 6)))
    async with outbox_in(tmp_path) as outbox:
        for n in range(3):
            done = await outbox.intake.accept(new_job(outbox.intake, lane=Lane.HIGH))
            number = done.deliveries[0].number  # type: ignore[union-attr]
            await outbox.loop.start(Start(number, "main", NOON, buckets, paces))
            await outbox.loop.finish(
                outcome_of(
                    number,
                    1,
                    S.PENDING,
                    give_back=buckets if n == 0 else (),
                    relay_breaker=("main", relay),
                    mailbox_breaker=("support", mailbox),
                    domain_pause=until if n else over,
                )
            )
    async with outbox_in(tmp_path) as outbox:
        state = await outbox.loop.load()
    assert state.buckets == ((buckets[0], 2), (buckets[1], 2))
    assert [(one.id, one.breaker, one.pace_at) for one in state.relays] == [
        ("main", relay, NOON + 6)
    ]
    assert [(one.id, one.breaker, one.pace_at) for one in state.mailboxes] == [
        ("support", mailbox, NOON + 5)
    ]
    assert state.domain_pauses == (until,)


async def test_what_is_slowed_down_is_so_after_a_restart_and_what_is_over_is_not(
    tmp_path: Path,
) -> None:
    slowing = Slowing(ReasonCode.RATE_LIMITED, 60, 4, 0.275, NOON, Instant(NOON + 1), 7)
    old = replace(slowing, told_at=Instant(NOON - FORGOTTEN))
    moves = (
        [("main", None, slowing), ("main", "a.example", slowing), ("main", "b.example", old)],
        [("main", "a.example", replace(slowing, share=0.5)), ("other", "c.example", slowing)],
        [("other", "c.example", None)],
    )
    async with outbox_in(tmp_path) as outbox:
        for moved in moves:
            done = await outbox.intake.accept(new_job(outbox.intake))
            number = done.deliveries[0].number  # type: ignore[union-attr]
            await outbox.loop.start(Start(number, "main", NOON, (), ()))
            speeds = tuple(SpeedMoved(id_, domain, None, after) for id_, domain, after in moved)
            await outbox.loop.finish(outcome_of(number, 1, S.PENDING, speeds=speeds))
    async with outbox_in(tmp_path) as outbox:
        state = await outbox.loop.load()
    assert sorted(state.slowings, key=str) == sorted(
        [
            ("main", None, replace(slowing, good=0)),
            ("main", "a.example", replace(slowing, share=0.5, good=0)),
        ],
        key=str,
    )


async def test_a_breaker_that_opened_between_outcomes_is_kept_too(tmp_path: Path) -> None:
    opened = Breaker(BreakerState.OPEN, ReasonCode.DOUBT_STORM, 0, 0, 0, NOON, NOON, 60.0)
    async with outbox_in(tmp_path) as outbox:
        await outbox.loop.keep_breaker("support", opened)
    async with outbox_in(tmp_path) as outbox:
        state = await outbox.loop.load()
    assert [(one.id, one.breaker) for one in state.mailboxes] == [("support", opened)]


async def test_starts_of_a_day_ago_are_forgotten(tmp_path: Path) -> None:
    clock = HandClock(NOON)
    bucket = Bucket("m:support", NOON // MINUTE, Lane.STANDARD)
    async with outbox_in(tmp_path, clock) as outbox:
        done = await outbox.intake.accept(new_job(outbox.intake))
        await outbox.loop.start(Start(done.deliveries[0].number, "main", NOON, (bucket,), ()))  # type: ignore[union-attr]
        clock.move(24 * 60 * MINUTE)
        assert (await outbox.loop.load()).buckets == ((bucket, 1),)
        clock.move(2 * MINUTE)
        assert (await outbox.loop.load()).buckets == ()
