"""Completing a lease: what it acknowledges, and the replies that are accepted with it (CONTRACT §4, leases)."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.job import LeaseClaim
from postroom.ports.accepting import Accepted, AlreadyReplied, LeaseLost, Replayed
from postroom.ports.changes import ThreadWaits
from postroom.ports.desk import Actor
from postroom.ports.errors import StorageFull
from postroom.ports.leasing import Completed, NotShown, ReplyStopped
from support.clock import HandClock
from support.lease_desk import LeaseDesk, claim_of, lease_desk, reply_of, seqs
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[LeaseDesk]:
    async with lease_desk(tmp_path) as opened:
        yield opened


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
    new = reply_of(desk, thread, seq)
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
    new = reply_of(desk, thread, seq)
    await desk.complete(lease, new)
    expected = Completed((seq,), (new.number,), (), is_repeat=True)
    desk.pass_s(6.9 * 86_400)
    await desk.outbox.leases.sweep(desk.clock.now())
    assert await desk.complete(lease, reply_of(desk, thread, seq)) == expected
    assert await desk.outbox.leases.check(claim_of(lease), desk.clock.now()) == expected


async def test_a_reply_that_can_not_be_accepted_undoes_the_call(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    lease = await desk.one()
    good = reply_of(desk, thread, seq)
    bad = new_job(desk.outbox.intake, thread_number=999, at=desk.clock.now())
    done = await desk.complete(lease, good, bad)
    assert isinstance(done, ReplyStopped)
    assert done.index == 1
    assert await desk.count("job") == 0
    assert isinstance(await desk.complete(lease, reply_of(desk, thread, seq)), Completed)


async def test_an_event_is_answered_once(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    first = reply_of(desk, thread, seq)
    await desk.complete(await desk.one(), first)
    lease = await desk.one("second")
    stopped = await desk.complete(lease, reply_of(desk, thread, seq))
    assert stopped == ReplyStopped(0, AlreadyReplied(seq, first.number))
    plain = await desk.outbox.intake.accept(
        replace(reply_of(desk, thread, seq), lease=claim_of(lease))
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
    first = reply_of(desk, thread, seq)
    await desk.complete(await desk.one(), first)
    if state is DeliveryState.CANCELLED:
        await desk.outbox.admin.cancel_job(first.number, Actor(1), desk.clock.now())
    job = await desk.outbox.reader.find_job(first.number)
    assert job is not None
    assert job.deliveries[0].state is state
    lease = await desk.one("second")
    assert isinstance(await desk.complete(lease, reply_of(desk, thread, seq)), Completed)


async def test_an_honest_retry_of_a_reply_is_its_first_job(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    lease = await desk.one()
    first = replace(reply_of(desk, thread, seq, key="k"), lease=claim_of(lease))
    assert isinstance(await desk.outbox.intake.accept(first), Accepted)
    done = await desk.complete(lease, reply_of(desk, thread, seq, key="k"))
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
            await desk.complete(lease, reply_of(desk, thread, seq))
        assert isinstance(await desk.complete(lease), Completed)


# -- POST /jobs while somebody holds the thread


async def test_while_a_thread_is_held_only_its_holders_answer(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    lease, other = await desk.one(), await desk.one("another")
    accept = desk.outbox.intake.accept
    assert await accept(reply_of(desk, thread, seq)) == LeaseLost()
    stale = LeaseClaim(lease.number, lease.fence + 1)
    assert await accept(replace(reply_of(desk, thread, seq), lease=stale)) == LeaseLost()
    held = replace(reply_of(desk, thread, seq), lease=claim_of(other))
    assert isinstance(await accept(held), Accepted)


async def test_an_expired_holder_does_not_answer_though_nobody_holds_it_now(
    desk: LeaseDesk,
) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    lease = await desk.one(lease_s=1.0)
    desk.pass_s(1)
    held = replace(reply_of(desk, thread, seq), lease=claim_of(lease))
    assert await desk.outbox.intake.accept(held) == LeaseLost()
    assert isinstance(await desk.outbox.intake.accept(reply_of(desk, thread, seq)), Accepted)
