"""Starts, marks and outcomes: what each leaves, what each refuses, and how what waits is found."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.breaker import Breaker, BreakerState
from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.instant import MINUTE, SECOND, Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.record import DeliveryRecord
from postroom.core.reply import SmtpReply, Stage
from postroom.core.slowing import FORGOTTEN, Slowing
from postroom.core.speed import SpeedMoved
from postroom.ports.changes import (
    DeliveryQuarantined,
    EventPublished,
    JobChanged,
    RowsWaiting,
    StateMoved,
)
from postroom.ports.desk import Actor, CancelAnswer, Verdict
from postroom.ports.looping import (
    Bucket,
    DomainPause,
    MarkStopped,
    Start,
    Started,
)
from postroom.store.sqlite import loop_finish, loop_waiting
from postroom.store.sqlite.outbox import Outbox
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.clock import HandClock
from support.store_host import NOON, outbox_in, rows_in
from support.store_jobs import new_job, outcome_of, start_of


S = DeliveryState
ACTOR = Actor(1000)
OK = SmtpReply(250, "2.0.0", "queued as 4711", b"250 2.0.0 queued as 4711\r\n")
BUSY = SmtpReply(450, "4.2.1", "mailbox busy", b"450 4.2.1 mailbox busy\r\n")


class Listener:
    def __init__(self) -> None:
        self.heard: list[object] = []

    def committed(self, changes: object) -> None:
        self.heard += changes  # type: ignore[arg-type]


async def under_way(outbox: Outbox, **more: object) -> Started:
    done = await outbox.intake.accept(new_job(outbox.intake, **more))  # type: ignore[arg-type]
    started = await outbox.loop.start(start_of(done.deliveries[0].number))  # type: ignore[union-attr]
    assert started is not None
    return started


async def seen(outbox: Outbox, number: int) -> DeliveryRecord:
    found = await outbox.reader.find_delivery(number)
    assert found is not None
    return found


async def test_a_start_takes_a_waiting_row_once(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        assert (one.claim, one.date_at, one.series_started_at) == (1, NOON, NOON)
        assert one.body.segments == (b"Content-Type: text/plain\r\n\r\nHello\r\n",)
        assert await outbox.loop.start(start_of(one.number)) is None
        assert await outbox.loop.start(start_of(4711)) is None
        assert (await seen(outbox, one.number)).state is S.SENDING


async def test_date_and_series_stay_those_of_the_first_start_and_the_claim_rises(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        again = outcome_of(one.number, 1, S.RETRY_SCHEDULED, due_at=Instant(NOON + SECOND))
        await outbox.loop.finish(again)
        two = await outbox.loop.start(start_of(one.number, Instant(NOON + SECOND)))
        assert two is not None
        assert (two.claim, two.date_at, two.series_started_at) == (2, NOON, NOON)
        assert (two.attempts, two.series_attempts) == (1, 1)


async def test_the_mark_is_made_once_and_a_sent_copy_closes_it(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        assert await outbox.loop.mark(one.number, one.claim, NOON) == NOON
        assert (await seen(outbox, one.number)).marked_at == NOON
        assert isinstance(await outbox.loop.mark(one.number, one.claim, NOON), MarkStopped)
        sent = outcome_of(
            one.number, one.claim, S.SENT, stage=Stage.DOT, reply=OK, relay_message_id="4711"
        )
        assert await outbox.loop.finish(sent) is S.SENT
        now = await seen(outbox, one.number)
        assert (now.state, now.attempts, now.marked_at) == (S.SENT, 1, None)
        assert (now.reply_code, now.relay_message_id, now.settled_by) == (250, "4711", "loop")
        assert now.history[-1].attempt == 1
        assert rows_in(tmp_path, "SELECT settled_status FROM job") == [("completed",)]
        (event,) = await outbox.reader.find_events(0, 10)
        assert event.type == "delivery.sent"
        assert event.data["delivery"]["reply"] == {  # type: ignore[index]
            "code": 250,
            "enhanced_status": "2.0.0",
            "text": "queued as 4711",
        }


async def test_memory_hears_of_every_step(tmp_path: Path) -> None:
    listener = Listener()
    async with outbox_in(tmp_path) as outbox:
        done = await outbox.intake.accept(new_job(outbox.intake))
        number = done.deliveries[0].number  # type: ignore[union-attr]
        outbox.database.watch(listener)
        await outbox.loop.start(start_of(number))
        await outbox.loop.mark(number, 1, NOON)
        later = Instant(NOON + SECOND)
        await outbox.loop.finish(outcome_of(number, 1, S.RETRY_SCHEDULED, due_at=later))
        await outbox.loop.start(start_of(number, later))
        await outbox.loop.finish(outcome_of(number, 2, S.FAILED, reason_code=ReasonCode.EXPIRED))
    lane = Lane.STANDARD
    assert listener.heard == [
        StateMoved("support", lane, S.PENDING, S.SENDING, None, 1),
        StateMoved("support", lane, S.SENDING, S.RETRY_SCHEDULED, None, 1),
        RowsWaiting("support", lane, later, "example.com"),
        StateMoved("support", lane, S.RETRY_SCHEDULED, S.SENDING, None, 1),
        StateMoved("support", lane, S.SENDING, S.FAILED, ReasonCode.EXPIRED, 1),
        JobChanged(1),
        EventPublished(1, "support", 1, "delivery.failed", ()),
    ]


async def suppress(outbox: Outbox) -> None:
    await outbox.admin.suppress("support", "ALICE@example.com", "asked", ACTOR, NOON)


async def pause(outbox: Outbox) -> None:
    await outbox.admin.pause("support", "maintenance", ACTOR, NOON)


async def cancel(outbox: Outbox) -> None:
    await outbox.admin.cancel_job(1, ACTOR, NOON)


async def nothing(outbox: Outbox) -> None:
    pass


STOPS = [
    (suppress, None, MarkStopped(S.FAILED, ReasonCode.RECIPIENT_SUPPRESSED)),
    (pause, None, MarkStopped(S.PENDING, ReasonCode.MAILBOX_PAUSED)),
    (cancel, None, MarkStopped(S.CANCELLED, ReasonCode.CANCELLED)),
    (nothing, Instant(NOON + 1), MarkStopped(S.FAILED, ReasonCode.EXPIRED)),
]


@pytest.mark.parametrize(
    ("act", "not_after", "expected"),
    STOPS,
    ids=["suppressed", "paused", "cancelled", "too late"],
)
async def test_what_is_committed_before_the_mark_stops_it(
    tmp_path: Path, act, not_after: Instant | None, expected: MarkStopped
) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox, not_after=not_after)
        await act(outbox)
        assert await outbox.loop.mark(one.number, one.claim, Instant(NOON + 2)) == expected
        now = await seen(outbox, one.number)
        assert (now.state, now.attempts, now.marked_at) == (expected.state, 0, None)
        late = outcome_of(one.number, one.claim, S.SENT)
        assert await outbox.loop.finish(late) is expected.state
        assert (await seen(outbox, one.number)).attempts == 0


@pytest.mark.parametrize(("act", "not_after", "expected"), STOPS[:1], ids=["suppressed"])
async def test_a_resent_copy_that_is_stopped_is_in_doubt_again(
    tmp_path: Path, act, not_after: Instant | None, expected: MarkStopped
) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox, not_after=not_after)
        await outbox.loop.mark(one.number, one.claim, NOON)
        await outbox.loop.finish(outcome_of(one.number, one.claim, S.UNCERTAIN))
        kept = await seen(outbox, one.number)
        assert (kept.state, kept.marked_at) == (S.UNCERTAIN, NOON)
        await outbox.admin.resolve(one.number, Verdict.RESEND, ACTOR, NOON)
        two = await outbox.loop.start(start_of(one.number))
        assert two is not None
        assert two.doubts == 1
        await act(outbox)
        stopped = await outbox.loop.mark(two.number, two.claim, NOON)
        assert stopped == MarkStopped(S.UNCERTAIN, expected.reason_code)


@pytest.mark.parametrize(
    ("act", "not_after", "expected"), [STOPS[0], STOPS[3]], ids=["suppressed", "too late"]
)
async def test_what_may_not_be_sent_any_more_is_not_even_started(
    tmp_path: Path, act, not_after: Instant | None, expected: MarkStopped
) -> None:
    async with outbox_in(tmp_path) as outbox:
        done = await outbox.intake.accept(new_job(outbox.intake, not_after=not_after))
        number = done.deliveries[0].number  # type: ignore[union-attr]
        await act(outbox)
        assert await outbox.loop.start(start_of(number, Instant(NOON + 2))) is None
        now = await seen(outbox, number)
        assert (now.state, now.reason_code) == (expected.state, expected.reason_code)
        assert now.history[-1].before is S.PENDING


async def test_after_the_mark_a_cancel_is_too_late_but_remembered(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        await outbox.loop.mark(one.number, one.claim, NOON)
        answers = await outbox.admin.cancel_job(1, ACTOR, NOON)
        assert answers is not None
        assert [one.answer for one in answers] == [CancelAnswer.TOO_LATE]
        later = outcome_of(
            one.number, one.claim, S.RETRY_SCHEDULED, reply=BUSY, due_at=Instant(NOON + SECOND)
        )
        assert await outbox.loop.finish(later) is S.CANCELLED
        now = await seen(outbox, one.number)
        assert (now.reason_code, now.due_at, now.reply_code) == (ReasonCode.CANCELLED, None, 450)


async def test_an_outcome_of_an_older_claim_changes_nothing(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        await outbox.loop.finish(outcome_of(one.number, 1, S.RETRY_SCHEDULED, due_at=NOON))
        await outbox.loop.start(start_of(one.number))
        assert await outbox.loop.finish(outcome_of(one.number, 1, S.SENT)) is S.SENDING
        assert isinstance(await outbox.loop.mark(one.number, 1, NOON), MarkStopped)
        assert await outbox.loop.mark(one.number, 2, NOON) == NOON


async def test_a_postponement_by_us_is_no_attempt_and_a_withdrawn_mark_leaves_no_doubt(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        await outbox.loop.mark(one.number, one.claim, NOON)
        back = outcome_of(
            one.number,
            one.claim,
            S.RETRY_SCHEDULED,
            reason_code=ReasonCode.RELAY_UNREACHABLE,
            counts_attempt=False,
            is_deferral=True,
            withdraws_mark=True,
            counts_series=False,
        )
        await outbox.loop.finish(back)
        now = await seen(outbox, one.number)
        assert (now.attempts, now.deferrals, now.marked_at, now.doubts) == (0, 1, None, 0)
        assert now.due_at == NOON
        assert now.history[-1].attempt is None


async def test_what_the_server_said_can_not_keep_sent_from_being_stored(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        evil = SmtpReply(250, "2.0.0\udcff", "ok \udce4\x00", b"250 ok \xe4\r\n")
        sent = outcome_of(
            one.number, one.claim, S.SENT, reply=evil, relay_message_id="\udc80", stage=Stage.DOT
        )
        assert await outbox.loop.finish(sent) is S.SENT
        assert rows_in(tmp_path, "SELECT state, reply_raw FROM delivery") == [
            ("sent", b"250 ok \xe4\r\n")
        ]


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


async def test_what_waits_is_found_in_order_by_cursor_and_without_the_domains_to_skip(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        for n, domain in enumerate(["a.example", "b.example", "a.example", "c.example"]):
            due = Instant(NOON - n)
            await outbox.intake.accept(new_job(outbox.intake, f"u@{domain}", due_at=due))
        await outbox.intake.accept(new_job(outbox.intake, mailbox_id="sales", lane=Lane.BULK))

        async def find(domain=None, skip=frozenset(), after=None, limit=9):  # type: ignore[no-untyped-def]
            rows = await outbox.loop.find_waiting(
                "support", Lane.STANDARD, domain=domain, skip=skip, after=after, limit=limit
            )
            return [row.number for row in rows]

        assert await find() == [4, 3, 2, 1]
        assert await find(after=(Instant(NOON - 2), 3)) == [2, 1]
        assert await find(after=(Instant(NOON - 3), 9), limit=1) == [3]
        assert await find(skip=frozenset({"a.example", "c.example"})) == [2]
        assert await find(domain="a.example") == [3, 1]
        assert await find(domain="a.example", after=(Instant(NOON - 2), 3)) == [1]
        assert await outbox.loop.find_mailbox_queues() == (
            ("sales", Lane.BULK),
            ("support", Lane.STANDARD),
        )


@pytest.mark.parametrize(
    ("statement", "given", "plan"),
    [
        (
            loop_waiting._COMMON.format(skip="?"),
            ("m", 1, 0, "d", 9),
            "SEARCH delivery USING INDEX delivery_due (mailbox_id=? AND lane=? AND due_at>?)",
        ),
        (
            loop_waiting._COMMON_SAME.format(skip="?"),
            ("m", 1, 0, 0, "d", 9),
            "SEARCH delivery USING INDEX delivery_due (mailbox_id=? AND lane=? AND due_at=? AND number>?)",
        ),
        (
            loop_waiting._OF_DOMAIN,
            ("m", "d", 1, 0, 9),
            "SEARCH delivery USING INDEX delivery_due_domain (mailbox_id=? AND domain=? AND lane=? AND due_at>?)",
        ),
        (
            loop_waiting._OF_DOMAIN_SAME,
            ("m", "d", 1, 0, 0, 9),
            "SEARCH delivery USING INDEX delivery_due_domain (mailbox_id=? AND domain=? AND lane=? AND due_at=? AND number>?)",
        ),
        (
            loop_waiting._NEXT_QUEUE,
            (b"m", 1),
            "SEARCH delivery USING INDEX delivery_due ((mailbox_id,lane)>(?,?))",
        ),
        (
            loop_finish._PAST_NOT_AFTER,
            (0, 9),
            "SEARCH delivery USING INDEX delivery_not_after (not_after>? AND not_after<?)",
        ),
    ],
    ids=[
        "common queue",
        "same time",
        "domain queue",
        "same time there",
        "queues",
        "not_after",
    ],
)
async def test_the_loops_questions_walk_their_index(
    tmp_path: Path, statement: str, given: tuple[object, ...], plan: str
) -> None:
    async with outbox_in(tmp_path) as outbox:
        steps = await outbox.database.read(
            lambda conn: conn.execute(f"EXPLAIN QUERY PLAN {statement}", given).fetchall()
        )
    assert [step["detail"] for step in steps] == [plan]


async def test_the_cursor_goes_through_rows_of_one_time(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        for _ in range(5):
            await outbox.intake.accept(new_job(outbox.intake, "u@a.example"))
        for domain in (None, "a.example"):
            found: list[int] = []
            after = None
            while rows := await outbox.loop.find_waiting(
                "support", Lane.STANDARD, domain=domain, skip=frozenset(), after=after, limit=2
            ):
                found += [row.number for row in rows]
                after = (rows[-1].due_at, rows[-1].number)
            assert found == [1, 2, 3, 4, 5]


async def test_what_waits_past_its_not_after_fails_and_keeps_what_the_relay_said_last(
    tmp_path: Path,
) -> None:
    later = Instant(NOON + 10 * SECOND)
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox, not_after=later)
        beyond = outcome_of(
            one.number, one.claim, S.RETRY_SCHEDULED, reply=BUSY, due_at=Instant(NOON + MINUTE)
        )
        await outbox.loop.finish(beyond)
        assert await outbox.loop.end_expired(later, 10) == 0
        assert await outbox.loop.end_expired(Instant(later + 1), 10) == 1
        now = await seen(outbox, one.number)
        assert (now.state, now.reason_code, now.reply_code) == (S.FAILED, ReasonCode.EXPIRED, 450)


async def test_time_spent_waiting_for_us_does_not_count_towards_the_lifetime(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        due_at = Instant(NOON + MINUTE)
        again = outcome_of(one.number, one.claim, S.RETRY_SCHEDULED, reply=BUSY, due_at=due_at)
        await outbox.loop.finish(again)
        early = Instant(due_at - 1)
        assert await outbox.loop.start(Start(one.number, "main", early, (), ())) is None
        late = Instant(due_at + 60 * MINUTE)
        started = await outbox.loop.start(Start(one.number, "main", late, (), ()))
        assert started is not None
        assert started.series_started_at == one.series_started_at + 60 * MINUTE
        assert started.date_at == one.date_at


async def _pause(outbox: Outbox, one: Started) -> None:
    await outbox.admin.pause("support", "", ACTOR, NOON)
    assert isinstance(await outbox.loop.mark(one.number, one.claim, NOON), MarkStopped)
    await outbox.admin.resume("support", ACTOR, NOON)


async def _remove(outbox: Outbox, one: Started) -> None:
    await outbox.admin.note_mailboxes(frozenset(), NOON)
    assert isinstance(await outbox.loop.mark(one.number, one.claim, NOON), MarkStopped)
    await outbox.admin.hold_missing_mailboxes(frozenset({"support"}), NOON)


async def _wait_for_nothing(outbox: Outbox, one: Started) -> None:
    """It stays under way, and the next start of the daemon finds it so."""


@pytest.mark.parametrize("put_back", [_pause, _remove, _wait_for_nothing])
async def test_what_is_put_back_time_and_again_has_no_longer_life_for_it(
    tmp_path: Path, put_back: Callable[[Outbox, Started], Awaitable[None]]
) -> None:
    at = NOON
    for _ in range(3):
        async with outbox_in(tmp_path) as outbox:
            if at == NOON:
                await outbox.admin.hold_missing_mailboxes(frozenset({"support"}), NOON)
                await outbox.intake.accept(new_job(outbox.intake))
            at = Instant(at + 60 * MINUTE)
            started = await outbox.loop.start(replace(start_of(1), at=at))
            assert isinstance(started, Started)
            assert started.series_started_at == at
            await put_back(outbox, started)


DAMAGE = {
    "a body of nonsense": "UPDATE body SET segments = '[7, {\"sha\": 1}]' WHERE number = 1",
    "no JSON": "UPDATE body SET segments = 'nonsense' WHERE number = 1",
    "no body": "UPDATE job SET body = NULL WHERE number = 1",
    "a condition of nonsense": "UPDATE delivery SET if_json = '{' WHERE number = 1",
    "a condition of another kind": "UPDATE delivery SET if_json = '[7]' WHERE number = 1",
    "a recipient of other bytes": "UPDATE delivery SET recipient = CAST(x'ff40' AS TEXT) WHERE number = 1",
    "an id of other bytes": "UPDATE delivery SET message_id = CAST(x'3cff' AS TEXT) WHERE number = 1",
}


@pytest.mark.parametrize("sql", DAMAGE.values(), ids=DAMAGE)
async def test_a_row_that_can_not_be_read_is_set_aside_and_stops_nobody(
    tmp_path: Path, sql: str
) -> None:
    def damage(conn):  # type: ignore[no-untyped-def]
        conn.execute(sql)
        return UnitResult(None)

    told = Listener()

    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        await outbox.intake.accept(new_job(outbox.intake))
        await outbox.database.write(damage, lane=WriteLane.REST)
        outbox.database.watch(told)
        assert await outbox.loop.start(start_of(1)) is None
        held = "SELECT state, hold_reason FROM delivery WHERE number = 1"
        assert rows_in(tmp_path, held) == [(S.HELD, HoldReason.UNREADABLE)]
        assert [one for one in told.heard if isinstance(one, DeliveryQuarantined)] == [
            DeliveryQuarantined(1, 1, "support")
        ]
        assert await outbox.loop.start(start_of(2)) is not None
        assert await outbox.loop.find_mailbox_queues() == ()


async def test_retries_beyond_the_longest_wait_are_pulled_in_and_send_times_stay(
    tmp_path: Path,
) -> None:
    far, latest = Instant(NOON + 100_000 * MINUTE), Instant(NOON + 60 * MINUTE)
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        again = outcome_of(one.number, one.claim, S.RETRY_SCHEDULED, reply=BUSY, due_at=far)
        await outbox.loop.finish(again)
        planned = await outbox.intake.accept(new_job(outbox.intake, due_at=far))
        assert await outbox.loop.pull_in("support", Lane.STANDARD, NOON, latest, 10) == 1
        assert (await seen(outbox, one.number)).due_at == latest
        assert (await seen(outbox, planned.deliveries[0].number)).due_at == far  # type: ignore[union-attr]
        assert await outbox.loop.pull_in("support", Lane.STANDARD, NOON, latest, 10) == 0


async def test_what_was_due_before_the_clock_went_back_is_due_and_send_times_stay(
    tmp_path: Path,
) -> None:
    back = Instant(NOON - 1_000_000 * MINUTE)
    latest = Instant(back + 60 * MINUTE)
    async with outbox_in(tmp_path) as outbox:
        one = await under_way(outbox)
        put_back = outcome_of(one.number, one.claim, S.PENDING, due_at=NOON)
        await outbox.loop.finish(put_back)
        plain = await outbox.intake.accept(new_job(outbox.intake, due_at=NOON))
        planned = await outbox.intake.accept(new_job(outbox.intake, due_at=Instant(NOON + 1)))
        numbers = [one.number, *(it.deliveries[0].number for it in (plain, planned))]  # type: ignore[union-attr]
        assert await outbox.loop.pull_in("support", Lane.STANDARD, back, latest, 1) == 1
        assert await outbox.loop.pull_in("support", Lane.STANDARD, back, latest, 10) == 1
        assert [(await seen(outbox, number)).due_at for number in numbers] == [
            back,
            back,
            NOON + 1,
        ]
        assert await outbox.loop.pull_in("support", Lane.STANDARD, back, latest, 10) == 0
