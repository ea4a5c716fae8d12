"""What a consumer may hold, for how long, and what is left when it ends (CONTRACT §4, leases)."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.eventtypes import DEFAULT_TYPES, EventType
from postroom.core.instant import SECOND, Instant
from postroom.core.job import LeaseClaim
from postroom.ports.accepting import Accepted, AlreadyReplied, LeaseLost, NewJob, Replayed
from postroom.ports.changes import EventsDied, LeaseExpired, LeaseTimed, ThreadWaits
from postroom.ports.desk import Actor
from postroom.ports.errors import StorageFull
from postroom.ports.leasing import Completed, Lease, NotShown, Released, ReplyStopped
from support.clock import HandClock
from support.lease_desk import LeaseDesk, claim_of, lease_desk, seqs
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job


OTHER = EventType.AUTO_REPLY_RECEIVED


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[LeaseDesk]:
    async with lease_desk(tmp_path) as opened:
        yield opened


def reply(desk: LeaseDesk, thread: int, seq: int, **more: Any) -> NewJob:
    new = new_job(desk.outbox.intake, thread_number=thread, at=desk.clock.now(), **more)
    return replace(new, answers=seq)


# -- acquire


async def test_nothing_waits_for_nobody(desk: LeaseDesk) -> None:
    assert await desk.lease() == ()


async def test_a_new_consumer_begins_with_the_oldest_event(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    expected = [await desk.event(thread), await desk.event(thread)]
    lease = await desk.one()
    assert (seqs(lease), lease.receive_count, lease.has_more) == (expected, 1, False)
    assert (lease.thread.number, lease.expires_at) == (thread, NOON + 60 * SECOND)
    assert LeaseTimed(lease.expires_at) in desk.heard


async def test_the_thread_that_waits_longest_comes_first(desk: LeaseDesk) -> None:
    old, new = await desk.thread(), await desk.thread("sales")
    await desk.event(old)
    await desk.event(new)
    await desk.event(old)
    leases = await desk.lease(mailbox_ids=("sales", "support"), max_threads=5)
    assert [one.thread.number for one in leases] == [old, new]
    assert await desk.lease("agent", mailbox_ids=("sales", "support")) == ()


async def test_a_consumer_gets_only_the_mailboxes_that_it_asks_for(desk: LeaseDesk) -> None:
    await desk.event(await desk.thread("sales"))
    assert await desk.lease() == ()
    assert await desk.lease(mailbox_ids=("sales",))


async def test_a_held_thread_is_given_to_nobody_else_of_the_consumer(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    await desk.event(thread)
    await desk.one()
    await desk.event(thread)
    assert await desk.lease() == ()
    assert len((await desk.one("another")).events) == 2


async def test_events_come_in_order_and_no_more_than_asked_for(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    expected = [await desk.event(thread) for _ in range(3)]
    lease = await desk.one(max_events=2)
    assert (seqs(lease), lease.has_more) == (expected[:2], True)


async def test_a_lease_shows_at_most_a_mebibyte_and_at_least_one_event(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    large = await desk.event(thread, text="x" * 1_200_000)
    halves = [await desk.event(thread, text="x" * 600_000) for _ in range(2)]
    lease = await desk.one()
    assert (seqs(lease), lease.has_more) == ([large], True)
    assert isinstance(await desk.complete(lease), Completed)
    lease = await desk.one()
    assert (seqs(lease), lease.has_more) == (halves[:1], True)


async def test_one_call_gives_no_more_than_the_loop_can_answer(desk: LeaseDesk) -> None:
    for _ in range(8):
        await desk.event(await desk.thread(), text="x" * 1_000_000)
    first = await desk.lease(max_threads=100)
    assert len(first) == 5
    assert len(await desk.lease(max_threads=100)) == 3


async def test_a_lease_lasts_an_hour_at_most(desk: LeaseDesk) -> None:
    await desk.event(await desk.thread())
    assert (await desk.one(lease_s=7200.0)).expires_at == NOON + 3600 * SECOND


async def test_the_same_attempt_gets_the_same_leases(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    first = await desk.event(thread)
    lease = await desk.one(attempt_id="try-1")
    await desk.event(thread)
    again = await desk.one(attempt_id="try-1")
    assert (again.number, again.fence, seqs(again)) == (lease.number, lease.fence, [first])
    assert (again.receive_count, again.has_more) == (1, True)
    assert await desk.lease(attempt_id="try-2") == ()
    assert isinstance(await desk.complete(lease), Completed)
    assert (await desk.one(attempt_id="try-1")).number != lease.number


async def test_an_event_that_retention_took_is_not_leased(desk: LeaseDesk) -> None:
    gone, kept = await desk.thread(), await desk.thread()
    seq = await desk.event(gone)
    await desk.event(kept)
    await desk.release(await desk.one())
    await desk.forget_event(seq)
    assert (await desk.one()).thread.number == kept
    assert await desk.lease() == ()


# -- types


async def test_by_default_a_consumer_is_not_woken_by_machines(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    for kind in EventType:
        await desk.event(thread, kind)
    lease = await desk.one()
    assert {event.type for event in lease.events} == set(DEFAULT_TYPES)


async def test_who_asks_for_a_type_gets_it_alone(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    await desk.event(thread)
    asked = await desk.event(thread, OTHER)
    assert seqs(await desk.one("curious", types=(OTHER,))) == [asked]


async def test_types_only_widen_and_for_what_comes_after(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    await desk.event(thread, OTHER)
    assert await desk.lease() == ()
    assert await desk.lease(types=(OTHER,)) == ()
    later = [await desk.event(thread, OTHER), await desk.event(thread)]
    assert seqs(await desk.one(types=(EventType.DELIVERY_SENT,))) == later
    (record,) = await desk.outbox.leases.find_consumers()
    assert set(record.types) == {*DEFAULT_TYPES, OTHER, EventType.DELIVERY_SENT}


@pytest.mark.parametrize("kind", [EventType.MESSAGE_RECEIVED, EventType.DELIVERY_BOUNCED])
async def test_mail_that_was_not_accepted_is_for_those_who_ask(
    desk: LeaseDesk, kind: EventType
) -> None:
    thread = await desk.thread()
    before = await desk.event(thread, kind, accepted=False)
    plain = await desk.event(thread, kind)
    assert seqs(await desk.one()) == [plain]
    assert seqs(await desk.one("asking", types=(kind,))) == [before, plain]


# -- fence, expiry, crash


async def test_an_expired_holder_can_do_nothing(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    lease = await desk.one(lease_s=10.0)
    desk.pass_s(10)
    assert await desk.complete(lease, reply(desk, thread, seq)) == LeaseLost()
    assert await desk.extend(lease) == LeaseLost()
    assert await desk.release(lease) == LeaseLost()
    assert await desk.outbox.leases.check(claim_of(lease), desk.clock.now()) == LeaseLost()
    again = await desk.one()
    assert (again.fence, again.receive_count) == (lease.fence + 1, 2)
    stale = LeaseClaim(again.number, lease.fence)
    now = desk.clock.now()
    assert await desk.outbox.leases.complete(stale, None, (), now) == LeaseLost()
    assert await desk.count("job") == 0


async def test_a_lease_lives_until_its_last_moment(desk: LeaseDesk) -> None:
    await desk.event(await desk.thread())
    lease = await desk.one(lease_s=10.0)
    desk.pass_s(9.999)
    assert isinstance(await desk.complete(lease), Completed)


async def test_the_fence_rises_over_restarts_and_new_consumers(tmp_path: Path) -> None:
    async with lease_desk(tmp_path) as desk:
        thread = await desk.thread()
        await desk.event(thread)
        lease = await desk.one()
        assert await desk.release(lease) == Released(is_repeat=False)
    async with lease_desk(tmp_path) as desk:
        second = await desk.one()
        assert second.fence > lease.fence
        assert await desk.outbox.leases.drop_consumer("agent", desk.clock.now())
        assert (await desk.one()).fence > second.fence


async def test_a_lease_outlives_a_crash_of_the_daemon(tmp_path: Path) -> None:
    async with lease_desk(tmp_path) as desk:
        await desk.event(await desk.thread())
        lease = await desk.one()
    async with lease_desk(tmp_path) as desk:
        assert await desk.lease() == ()
        assert isinstance(await desk.complete(lease), Completed)


async def test_the_sweep_ends_what_is_due_and_says_when_to_come_again(desk: LeaseDesk) -> None:
    thread, other = await desk.thread(), await desk.thread()
    for one in (thread, other):
        await desk.event(one)
    await desk.one(lease_s=10.0)
    later = await desk.one(lease_s=20.0)
    desk.pass_s(10)
    desk.heard.clear()
    assert await desk.outbox.leases.sweep(desk.clock.now()) == later.expires_at
    expired = LeaseExpired("agent", "support", thread, 1)
    assert desk.heard == [expired, ThreadWaits("agent", thread)]
    desk.pass_s(10)
    assert await desk.outbox.leases.sweep(desk.clock.now()) is None


@pytest.mark.parametrize("back_s", [3600, 86_400, 400 * 86_400])
async def test_a_clock_that_goes_back_keeps_no_thread_for_longer_than_an_hour(
    desk: LeaseDesk, back_s: int
) -> None:
    first, second = await desk.thread(), await desk.thread()
    for one in (first, second):
        await desk.event(one)
    lease = await desk.one(lease_s=3600.0)
    await desk.release(await desk.one(), delay_s=90_000)
    desk.pass_s(-back_s)
    assert await desk.lease() == ()
    desk.pass_s(3599)
    assert await desk.lease() == (), "never given twice"
    desk.pass_s(1)
    assert (await desk.one()).receive_count == 2
    assert await desk.complete(lease) == LeaseLost()
    desk.pass_s(86_400)
    assert len(await desk.lease(max_threads=2)) == 2


async def test_a_clock_that_leaps_ends_leases_and_their_holders_are_refused(
    desk: LeaseDesk,
) -> None:
    await desk.event(await desk.thread())
    lease = await desk.one()
    desk.pass_s(86_400)
    again = await desk.one()
    assert await desk.complete(lease) == LeaseLost()
    assert isinstance(await desk.complete(again), Completed)


# -- extend


async def test_extending_shows_what_came_in(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    first = await desk.event(thread)
    lease = await desk.one(lease_s=10.0)
    later = await desk.event(thread)
    desk.pass_s(5)
    longer = await desk.extend(lease, 30.0)
    assert isinstance(longer, Lease)
    assert (seqs(longer), longer.receive_count) == ([first, later], 1)
    assert longer.expires_at == NOON + 35 * SECOND
    done = await desk.complete(longer)
    assert isinstance(done, Completed)
    assert done.acked == (first, later)


async def test_extending_keeps_to_the_caps(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    first = await desk.event(thread, text="x" * 900_000)
    lease = await desk.one()
    await desk.event(thread, text="x" * 200_000)
    longer = await desk.extend(lease)
    assert isinstance(longer, Lease)
    assert (seqs(longer), longer.has_more) == ([first], True)


async def test_extending_shows_no_more_events_than_were_asked_for(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    first = await desk.event(thread)
    lease = await desk.one(max_events=1)
    await desk.event(thread)
    longer = await desk.extend(lease)
    assert isinstance(longer, Lease)
    assert (seqs(longer), longer.has_more) == ([first], True)


# -- release


async def test_a_released_thread_comes_back_at_once_or_after_its_delay(desk: LeaseDesk) -> None:
    await desk.event(await desk.thread())
    assert await desk.release(await desk.one(), delay_s=2) == Released(is_repeat=False)
    assert await desk.lease() == ()
    desk.pass_s(1.999)
    assert await desk.lease() == ()
    desk.pass_s(0.001)
    lease = await desk.one()
    assert lease.receive_count == 2
    await desk.release(lease)
    assert (await desk.one()).receive_count == 3


async def test_a_release_repeats_and_after_it_nothing_else_is_possible(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    await desk.event(thread)
    lease = await desk.one()
    await desk.release(lease, is_failed=True)
    assert await desk.release(lease, is_failed=True) == Released(is_repeat=True)
    assert await desk.complete(lease) == LeaseLost()
    assert await desk.extend(lease) == LeaseLost()
    row = await desk.outbox.database.read(
        lambda conn: tuple(conn.execute("SELECT failures, receives FROM pending").fetchone())
    )
    assert row == (1, 1)
    assert ThreadWaits("agent", thread) in desk.heard


# -- complete


async def test_completing_acknowledges_what_was_shown_and_no_more(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    first = await desk.event(thread)
    lease = await desk.one()
    unseen = await desk.event(thread)
    desk.heard.clear()
    assert await desk.complete(lease) == Completed((first,), (), (), is_repeat=False)
    assert ThreadWaits("agent", thread) in desk.heard
    assert seqs(await desk.one()) == [unseen]


async def test_completing_may_acknowledge_some(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    first, second = await desk.event(thread), await desk.event(thread)
    lease = await desk.one()
    assert isinstance(await desk.complete(lease, ack=[second]), Completed)
    again = await desk.one()
    assert (seqs(again), again.receive_count) == ([first], 2)


async def test_what_the_lease_does_not_show_can_not_be_acknowledged(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    first = await desk.event(thread)
    lease = await desk.one()
    unseen = await desk.event(thread)
    assert await desk.complete(lease, ack=[first, unseen]) == NotShown((unseen,))
    assert isinstance(await desk.complete(lease), Completed)


async def test_the_reply_is_accepted_with_the_acknowledgement(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    lease = await desk.one()
    new = reply(desk, thread, seq)
    done = await desk.complete(lease, new)
    assert isinstance(done, Completed)
    assert (done.jobs, done.is_repeat) == ((new.number,), False)
    assert isinstance(done.results[0], Accepted)
    job = await desk.outbox.reader.find_job(new.number)
    assert job is not None
    assert job.deliveries[0].thread_number == thread


async def test_completing_repeats_with_the_first_result(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    lease = await desk.one()
    new = reply(desk, thread, seq)
    await desk.complete(lease, new)
    expected = Completed((seq,), (new.number,), (), is_repeat=True)
    desk.pass_s(6.9 * 86_400)
    await desk.outbox.leases.sweep(desk.clock.now())
    assert await desk.complete(lease, reply(desk, thread, seq)) == expected
    assert await desk.outbox.leases.check(claim_of(lease), desk.clock.now()) == expected


async def test_a_reply_that_can_not_be_accepted_undoes_the_call(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    lease = await desk.one()
    good = reply(desk, thread, seq)
    bad = new_job(desk.outbox.intake, thread_number=999, at=desk.clock.now())
    done = await desk.complete(lease, good, bad)
    assert isinstance(done, ReplyStopped)
    assert done.index == 1
    assert await desk.count("job") == 0
    assert isinstance(await desk.complete(lease, reply(desk, thread, seq)), Completed)


async def test_an_event_is_answered_once(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    first = reply(desk, thread, seq)
    await desk.complete(await desk.one(), first)
    lease = await desk.one("second")
    stopped = await desk.complete(lease, reply(desk, thread, seq))
    assert stopped == ReplyStopped(0, AlreadyReplied(seq, first.number))
    plain = await desk.outbox.intake.accept(
        replace(reply(desk, thread, seq), lease=claim_of(lease))
    )
    assert plain == AlreadyReplied(seq, first.number)
    assert isinstance(await desk.complete(lease), Completed)


@pytest.mark.parametrize("state", [DeliveryState.CANCELLED, DeliveryState.FAILED])
async def test_an_answer_that_came_to_nothing_may_be_given_again(
    desk: LeaseDesk, state: DeliveryState
) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    if state is DeliveryState.FAILED:
        now = desk.clock.now()
        await desk.outbox.admin.suppress(None, "alice@example.com", "gone", Actor(1), now)
    first = reply(desk, thread, seq)
    await desk.complete(await desk.one(), first)
    if state is DeliveryState.CANCELLED:
        await desk.outbox.admin.cancel_job(first.number, Actor(1), desk.clock.now())
    job = await desk.outbox.reader.find_job(first.number)
    assert job is not None
    assert job.deliveries[0].state is state
    lease = await desk.one("second")
    assert isinstance(await desk.complete(lease, reply(desk, thread, seq)), Completed)


async def test_an_honest_retry_of_a_reply_is_its_first_job(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    lease = await desk.one()
    first = replace(reply(desk, thread, seq, key="k"), lease=claim_of(lease))
    assert isinstance(await desk.outbox.intake.accept(first), Accepted)
    done = await desk.complete(lease, reply(desk, thread, seq, key="k"))
    assert isinstance(done, Completed)
    assert (done.jobs, done.results) == (
        (first.number,),
        (Replayed(first.number, is_expired=False),),
    )


async def test_full_disk_takes_acknowledgements_and_no_replies(tmp_path: Path) -> None:
    room, clock = [1 << 40], HandClock(NOON)
    async with outbox_in(tmp_path, clock, free=lambda directory: room[0]) as outbox:
        desk = LeaseDesk(outbox, clock)
        thread = await desk.thread()
        seq = await desk.event(thread)
        lease = await desk.one()
        room[0] = 0
        desk.pass_s(10)
        with pytest.raises(StorageFull):
            await desk.complete(lease, reply(desk, thread, seq))
        assert isinstance(await desk.complete(lease), Completed)


# -- POST /jobs while somebody holds the thread


async def test_while_a_thread_is_held_only_its_holders_answer(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    lease, other = await desk.one(), await desk.one("another")
    accept = desk.outbox.intake.accept
    assert await accept(reply(desk, thread, seq)) == LeaseLost()
    stale = LeaseClaim(lease.number, lease.fence + 1)
    assert await accept(replace(reply(desk, thread, seq), lease=stale)) == LeaseLost()
    held = replace(reply(desk, thread, seq), lease=claim_of(other))
    assert isinstance(await accept(held), Accepted)


async def test_an_expired_holder_does_not_answer_though_nobody_holds_it_now(
    desk: LeaseDesk,
) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    lease = await desk.one(lease_s=1.0)
    desk.pass_s(1)
    held = replace(reply(desk, thread, seq), lease=claim_of(lease))
    assert await desk.outbox.intake.accept(held) == LeaseLost()
    assert isinstance(await desk.outbox.intake.accept(reply(desk, thread, seq)), Accepted)


# -- dead events


async def fail(desk: LeaseDesk, times: int, how: str = "release") -> list[int]:
    """Fail so often; what the last lease showed."""
    shown: list[int] = []
    for _ in range(times):
        lease = await desk.one(lease_s=10.0)
        shown = seqs(lease)
        if how == "release":
            await desk.release(lease, is_failed=True)
        else:
            desk.pass_s(10)
    return shown


@pytest.mark.parametrize("how", ["release", "expiry"])
async def test_after_ten_failures_an_event_is_dead_and_later_ones_flow(
    desk: LeaseDesk, how: str
) -> None:
    thread = await desk.thread()
    poison, later = await desk.event(thread), await desk.event(thread)
    assert await fail(desk, 10, how) == [poison]
    assert seqs(await desk.one()) == [later]
    died = [change for change in desk.heard if isinstance(change, EventsDied)]
    assert died == [EventsDied("agent", "support", thread, (poison,))]
    (dead,) = (await desk.outbox.leases.find_dead_events(None, None, 10)).items
    assert dead.event.seq == poison
    assert [(one.consumer, one.receive_count) for one in dead.dead_for] == [("agent", 10)]
    (record,) = await desk.outbox.leases.find_consumers()
    assert (record.pending, record.dead, record.leased) == (1, 1, 1)


async def test_an_event_beside_a_poisonous_one_gets_its_own_chance(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    innocent, poison = await desk.event(thread), await desk.event(thread)
    assert await fail(desk, 5) == [innocent, poison]
    lease = await desk.one()
    assert (seqs(lease), lease.has_more) == ([innocent], True)
    longer = await desk.extend(lease)
    assert isinstance(longer, Lease)
    assert seqs(longer) == [innocent]
    await desk.complete(lease)
    await fail(desk, 5)
    assert await desk.lease() == ()


async def test_a_release_that_is_no_failure_never_kills(desk: LeaseDesk) -> None:
    await desk.event(await desk.thread())
    for _ in range(12):
        await desk.release(await desk.one())
    assert (await desk.one()).receive_count == 13


async def test_a_dead_event_can_be_made_pending_again(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    retry = desk.outbox.leases.retry_event
    assert await retry(seq, "agent") is None
    await fail(desk, 9)
    assert await retry(seq, "agent") is False
    await fail(desk, 1)
    assert await desk.lease() == ()
    desk.heard.clear()
    assert await retry(seq, "agent") is True
    assert await retry(seq + 1, "agent") is None
    assert desk.heard == [ThreadWaits("agent", thread)]
    assert await fail(desk, 9) == [seq]
    assert isinstance(await desk.complete(await desk.one()), Completed)


async def test_dead_events_come_in_pages_newest_first(desk: LeaseDesk) -> None:
    await desk.lease()
    made = [await desk.event(await desk.thread()) for _ in range(3)]
    for _ in range(10):
        for lease in await desk.lease(max_threads=3):
            await desk.release(lease, is_failed=True)
    find = desk.outbox.leases.find_dead_events
    page = await find(None, None, 2)
    assert [one.event.seq for one in page.items] == [made[2], made[1]]
    rest = await find(None, page.next_cursor, 2)
    assert ([one.event.seq for one in rest.items], rest.next_cursor) == ([made[0]], None)
    assert (await find(Instant(desk.clock.now() + 1), None, 2)).items == ()


# -- consumers


async def test_a_consumer_may_begin_now(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    await desk.event(thread)
    leases, now = desk.outbox.leases, desk.clock.now()
    record = await leases.make_consumer("fresh", None, now, from_now=True)
    assert (record.name, set(record.types), record.pending) == ("fresh", set(DEFAULT_TYPES), 0)
    later = await desk.event(thread)
    assert seqs(await desk.one("fresh")) == [later]
    wider = await leases.make_consumer("fresh", (OTHER,), now, from_now=False)
    assert set(wider.types) == {*DEFAULT_TYPES, OTHER}
    assert wider.pending == 1


async def test_a_deleted_consumer_leaves_nothing_and_its_holders_are_refused(
    desk: LeaseDesk,
) -> None:
    await desk.event(await desk.thread())
    lease = await desk.one()
    drop = desk.outbox.leases.drop_consumer
    assert await drop("agent", desk.clock.now()) is True
    assert await drop("agent", desk.clock.now()) is False
    assert await desk.complete(lease) == LeaseLost()
    assert await desk.outbox.leases.find_consumers() == ()
    assert (await desk.one()).receive_count == 1
