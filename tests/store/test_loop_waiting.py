"""How what waits is found, what becomes of it when its time is over, and what a changed clock does to it."""

from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.instant import MINUTE, SECOND, Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.ports.changes import DeliveryQuarantined
from postroom.ports.looping import Start
from postroom.store.sqlite import loop_finish, loop_waiting
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.store_host import NOON, outbox_in, rows_in
from support.store_jobs import BUSY, Listener, new_job, outcome_of, seen, start_of, under_way


S = DeliveryState


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
