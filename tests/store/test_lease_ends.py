"""How long a lease lives: its end, crashes and clocks, and what extending and releasing it does (CONTRACT §4, leases)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postroom.core.instant import SECOND
from postroom.core.job import LeaseClaim
from postroom.ports.accepting import LeaseLost
from postroom.ports.changes import LeaseExpired, ThreadWaits
from postroom.ports.leasing import Completed, Lease, Released
from support.lease_desk import LeaseDesk, claim_of, lease_desk, reply_of, seqs
from support.store_host import NOON


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[LeaseDesk]:
    async with lease_desk(tmp_path) as opened:
        yield opened


# -- fence, expiry, crash


async def test_an_expired_holder_can_do_nothing(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    seq = await desk.event(thread)
    lease = await desk.one(lease_s=10.0)
    desk.pass_s(10)
    assert await desk.complete(lease, reply_of(desk, thread, seq)) == LeaseLost()
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
