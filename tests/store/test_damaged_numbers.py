"""Numbers that name no row any more: what happened is stored all the same, and nobody waits behind what is damaged."""

from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.instant import Instant
from postroom.core.record import DeliveryRecord
from postroom.ports.arriving import Published
from postroom.ports.desk import Actor, DeliveryFilter
from postroom.store.sqlite.unit import WriteLane
from support.arrivals import PostOffice, in_mail, token_of
from support.damaging import damage
from support.lease_desk import lease_desk, seqs
from support.store_host import NOON, change, outbox_in, rows_in
from support.store_jobs import new_job, outcome_of, start_of, under_way


@pytest.mark.parametrize("lost", ["job", "thread"])
async def test_what_became_of_a_delivery_is_stored_though_its_job_or_thread_is_lost(
    tmp_path: Path, lost: str
) -> None:
    async with outbox_in(tmp_path) as outbox:
        started = await under_way(outbox)
        await outbox.loop.mark(1, started.claim, NOON)
        await outbox.intake.accept(new_job(outbox.intake, not_after=Instant(NOON + 1)))
        change(tmp_path, f"UPDATE delivery SET {lost} = 77")  # noqa: S608
        sent = outcome_of(1, started.claim, DeliveryState.SENT)
        assert await outbox.loop.finish(sent) is DeliveryState.SENT
        assert await outbox.loop.end_expired(Instant(NOON + 2), 10) == 1
    told = [kind for (kind,) in rows_in(tmp_path, "SELECT type FROM event ORDER BY seq")]
    assert told == ["delivery.sent", "delivery.failed"]


async def test_one_whose_job_is_lost_is_set_aside_at_its_start(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        change(tmp_path, "UPDATE delivery SET job = 77")
        assert await outbox.loop.start(start_of(1)) is None
        found = await outbox.reader.find_delivery(1)
        assert found is not None
        assert (found.state, found.hold_reason) == (DeliveryState.HELD, HoldReason.UNREADABLE)
        answers = await outbox.admin.release(1, Actor(0), NOON)
        assert isinstance(answers, DeliveryRecord)


async def test_an_event_whose_thread_is_lost_is_leased_and_keeps_no_other_from_an_agent(
    tmp_path: Path,
) -> None:
    async with lease_desk(tmp_path) as desk:
        lost = await desk.event(await desk.thread())
        later = await desk.event(await desk.thread())
        spoil = damage(f"UPDATE pending SET thread = 77 WHERE seq = {lost}")  # noqa: S608
        await desk.outbox.database.write(spoil, lane=WriteLane.REST)
        first, second = await desk.lease(max_threads=2)
        assert [seqs(first), seqs(second)] == [[lost], [later]]
        assert first.thread.mailbox_id == "support"
        desk.pass_s(3600)
        await desk.outbox.leases.sweep(desk.clock.now())
        first, second = await desk.lease(max_threads=2)
        await desk.complete(first)
        await desk.complete(second)
        assert await desk.lease() == ()


async def test_an_answer_into_a_thread_that_is_lost_begins_one(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        office = PostOffice(outbox)
        await office.sent()
        change(tmp_path, "UPDATE delivery SET thread = 77")
        taken = await office.publish(in_mail(), token_of(1))
        assert isinstance(taken, Published)
        assert taken.thread_number != 77
        assert await outbox.inbox.find_received(0, 9) == ()


async def test_a_body_that_can_not_be_read_is_told_as_gone(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        spoil = damage("UPDATE body SET segments = '{'")
        await outbox.database.write(spoil, lane=WriteLane.REST)
        assert await outbox.reader.find_body(1) is None
        assert await outbox.reader.find_body(2) is None


async def test_a_job_whose_mailbox_can_not_be_read_keeps_nobody_from_acting_on_many(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        for _ in range(2):
            await outbox.intake.accept(new_job(outbox.intake))
        spoil = damage("UPDATE job SET mailbox_id = CAST(x'ff' AS TEXT) WHERE number = 1")
        await outbox.database.write(spoil, lane=WriteLane.REST)
        failed = DeliveryFilter(state=DeliveryState.FAILED)
        done = await outbox.admin.retry_deliveries(failed, Actor(0), NOON, dry_run=False, limit=9)
        assert done.matched == 0
