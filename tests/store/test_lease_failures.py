"""Events that nobody can work on: their failures, dead events, and consumers that are deleted (CONTRACT §4, leases)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postroom.core.instant import Instant
from postroom.ports.accepting import LeaseLost
from postroom.ports.changes import EventsDied, ThreadWaits
from postroom.ports.leasing import Completed, Lease
from support.lease_desk import LeaseDesk, lease_desk, seqs


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[LeaseDesk]:
    async with lease_desk(tmp_path) as opened:
        yield opened


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
