"""Very many leases that are due at once end bite by bite, and meanwhile none of them is live for anybody."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postroom.ports.accepting import LeaseLost
from postroom.ports.changes import LeaseExpired, ThreadWaits
from postroom.store.sqlite import lease_end
from support.lease_desk import LeaseDesk, lease_desk, reply_of


BITE = 2
MANY = 5


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LeaseDesk]:
    monkeypatch.setattr(lease_end, "BITE", BITE)
    async with lease_desk(tmp_path) as opened:
        for _ in range(MANY):
            await opened.event(await opened.thread())
        yield opened


async def test_the_sweep_comes_again_at_once_until_all_is_ended(desk: LeaseDesk) -> None:
    leases = await desk.lease(max_threads=MANY, lease_s=10.0)
    desk.pass_s(10)
    desk.heard.clear()
    now = desk.clock.now()
    for left in (MANY - BITE, MANY - 2 * BITE):
        assert await desk.outbox.leases.sweep(now) == now
        assert len([one for one in desk.heard if isinstance(one, LeaseExpired)]) == MANY - left
    assert await desk.outbox.leases.sweep(now) is None
    expired = [one.lease for one in desk.heard if isinstance(one, LeaseExpired)]
    assert expired == [one.number for one in leases]
    assert len([one for one in desk.heard if isinstance(one, ThreadWaits)]) == MANY


async def test_a_lease_that_the_sweep_has_not_come_to_is_its_holders_no_more(
    desk: LeaseDesk,
) -> None:
    leases = await desk.lease(max_threads=MANY, lease_s=10.0)
    desk.pass_s(10)
    last = leases[-1]
    assert await desk.complete(last, reply_of(desk, last.thread.number, last.events[0].seq)) == (
        LeaseLost()
    )
    assert await desk.extend(leases[-2]) == LeaseLost()
    assert await desk.count("job") == 0


async def test_a_thread_that_the_sweep_has_not_come_to_is_given_when_it_has(
    desk: LeaseDesk,
) -> None:
    await desk.lease(max_threads=MANY, lease_s=10.0)
    desk.pass_s(10)
    first = await desk.lease(max_threads=MANY)
    assert len(first) == BITE
    assert len(await desk.lease(max_threads=MANY)) == BITE
    assert len(await desk.lease(max_threads=MANY)) == MANY - 2 * BITE


async def test_the_same_attempt_gets_no_lease_that_is_over(desk: LeaseDesk) -> None:
    leases = await desk.lease(max_threads=MANY, lease_s=10.0, attempt_id="once")
    desk.pass_s(10)
    again = await desk.lease(max_threads=MANY, attempt_id="once")
    assert not {one.number for one in again} & {one.number for one in leases}


async def test_a_clock_that_goes_back_is_followed_bite_by_bite(desk: LeaseDesk) -> None:
    await desk.lease(max_threads=MANY, lease_s=3600.0)
    desk.pass_s(-86_400)
    now = desk.clock.now()
    assert [await desk.outbox.leases.sweep(now) for _ in range(2)] == [now, now]
    due = await desk.outbox.leases.sweep(now)
    assert due == now + lease_end.MAX_LEASE


async def test_delays_that_are_over_end_bite_by_bite(desk: LeaseDesk) -> None:
    for lease in await desk.lease(max_threads=MANY):
        await desk.release(lease, delay_s=5)
    desk.pass_s(5)
    assert len(await desk.lease(max_threads=MANY)) == BITE
    assert len(await desk.lease(max_threads=MANY)) == BITE
