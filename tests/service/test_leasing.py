"""Leases and delays end in time, also while nobody asks, and whoever polls is woken by that."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from postroom.core.instant import SECOND, Instant
from postroom.ops.bells import CommitBells
from postroom.ops.chronicle import Chronicle
from postroom.ports.changes import EventPublished, LeaseTimed, ThreadWaits
from postroom.ports.errors import StoreUnavailable
from postroom.ports.leasing import Leases
from postroom.service.leasing import LeaseKeeper
from support.clock import FakeClock
from support.lease_desk import LeaseDesk
from support.store_host import NOON, outbox_in


class Told:
    """What the log would say."""

    def __init__(self) -> None:
        self.faults: list[Exception] = []

    def store_refused(self, error: Exception) -> None:
        self.faults.append(error)


class Sweeps:
    """Leases of which only the sweep counts; `answers` are said in turn."""

    def __init__(self, *answers: Instant | Exception | None) -> None:
        self.answers = list(answers)
        self.swept: list[Instant] = []
        self.happened = asyncio.Event()

    async def sweep(self, at: Instant) -> Instant | None:
        self.swept.append(at)
        self.happened.set()
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


@asynccontextmanager
async def keeping(leases: object, clock: FakeClock, told: Told) -> AsyncIterator[LeaseKeeper]:
    keeper = LeaseKeeper(cast(Leases, leases), clock, cast(Chronicle, told))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(keeper.run())
        yield keeper
        task.cancel()


async def swept(sweeps: Sweeps, times: int) -> None:
    async with asyncio.timeout(5):
        while len(sweeps.swept) < times:
            sweeps.happened.clear()
            await sweeps.happened.wait()


async def test_the_keeper_sweeps_at_start_and_then_sleeps_until_something_is_timed() -> None:
    clock, sweeps = FakeClock(NOON), Sweeps(None, None)
    async with keeping(sweeps, clock, Told()) as keeper:
        await swept(sweeps, 1)
        assert keeper._wait_s() is None
        clock.advance(30)
        keeper.committed([LeaseTimed(Instant(NOON + 30 * SECOND))])
        await swept(sweeps, 2)
    assert sweeps.swept == [NOON, NOON + 30 * SECOND]


async def test_what_is_due_earlier_goes_first() -> None:
    clock = FakeClock(NOON)
    sweeps = Sweeps(Instant(NOON + 40 * SECOND))
    async with keeping(sweeps, clock, Told()) as keeper:
        await swept(sweeps, 1)
        await asyncio.get_running_loop().run_in_executor(None, int)
        assert keeper._wait_s() == 40
        keeper.committed([LeaseTimed(Instant(NOON + 10 * SECOND))])
        assert keeper._wait_s() == 10
        keeper.committed([LeaseTimed(Instant(NOON + 20 * SECOND)), ThreadWaits("a", 1)])
        assert keeper._wait_s() == 10


async def test_a_jump_of_the_clock_is_seen_within_a_minute() -> None:
    clock = FakeClock(NOON)
    sweeps = Sweeps(Instant(NOON + 3600 * SECOND))
    async with keeping(sweeps, clock, Told()) as keeper:
        await swept(sweeps, 1)
        await asyncio.get_running_loop().run_in_executor(None, int)
        assert keeper._wait_s() == 60


async def test_a_store_that_is_away_is_asked_again_soon() -> None:
    clock, told = FakeClock(NOON), Told()
    fault = StoreUnavailable("away")
    sweeps = Sweeps(fault)
    async with keeping(sweeps, clock, told) as keeper:
        await swept(sweeps, 1)
        await asyncio.get_running_loop().run_in_executor(None, int)
        assert keeper._wait_s() == 5
    assert told.faults == [fault]


async def test_an_expired_lease_wakes_whoever_waits(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        clock = FakeClock(NOON)
        desk = LeaseDesk(outbox, clock)  # type: ignore[arg-type]
        bells = CommitBells()
        async with keeping(outbox.leases, clock, Told()) as keeper:
            for observer in (bells, keeper):
                outbox.database.watch(observer)
            await desk.event(await desk.thread())
            lease = await desk.one(lease_s=1.0)
            with bells.hear_consumer("agent") as bell, bells.hear_consumer("other") as other:
                clock.advance(1)
                keeper.committed([LeaseTimed(lease.expires_at)])
                async with asyncio.timeout(5):
                    await bell.wait()
                assert not other.is_set()
            assert (await desk.one()).receive_count == 2


@pytest.mark.parametrize(
    ("change", "rings"),
    [
        (EventPublished(1, "support", 1, "reply.received", ("a",)), {"log", "a"}),
        (EventPublished(1, "support", 1, "delivery.sent", ()), {"log"}),
        (ThreadWaits("b", 1), {"b"}),
        (LeaseTimed(NOON), set()),
    ],
    ids=["an event for a", "an event for nobody", "a thread of b", "something timed"],
)
def test_a_bell_rings_for_what_matters(change: object, rings: set[str]) -> None:
    bells = CommitBells()
    with (
        bells.hear_log() as log,
        bells.hear_consumer("a") as first,
        bells.hear_consumer("a") as twin,
        bells.hear_consumer("b") as second,
    ):
        bells.committed([change])  # type: ignore[list-item]
        rung = {"log": log, "a": first, "b": second}
        assert {name for name, bell in rung.items() if bell.is_set()} == rings
        assert twin.is_set() == first.is_set()
    assert (bells._log, bells._consumers) == (set(), {})
