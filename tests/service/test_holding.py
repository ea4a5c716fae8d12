"""What loops hold and free is gone on with until it is done, also when the store says no at first."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from postroom.core.instant import Instant
from postroom.ops.chronicle import Chronicle
from postroom.ports.changes import HoldsBegun, JobChanged
from postroom.ports.errors import StoreBroken, StoreUnavailable
from postroom.ports.inbox import Inbox
from postroom.service.holding import HoldKeeper
from support.clock import FakeClock, settle


class Store:
    """Has so many steps left, and says no so often."""

    def __init__(self, left: int, *faults: Exception) -> None:
        self.left = left
        self.faults = list(faults)
        self.refused: list[Exception] = []

    async def settle_holds(self, at: Instant) -> bool:
        if self.faults:
            raise self.faults.pop(0)
        if not self.left:
            return False
        self.left -= 1
        return True

    def store_refused(self, error: Exception) -> None:
        self.refused.append(error)


def keeper_of(store: Store, clock: FakeClock) -> HoldKeeper:
    return HoldKeeper(cast(Inbox, store), clock, cast(Chronicle, store))


@asynccontextmanager
async def keeping(store: Store, clock: FakeClock) -> AsyncIterator[HoldKeeper]:
    keeper = keeper_of(store, clock)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(keeper.run())
        await settle()
        yield keeper
        task.cancel()


async def test_what_the_last_run_left_is_done_at_the_start() -> None:
    store = Store(3)
    async with keeping(store, FakeClock()):
        assert store.left == 0


async def test_what_is_begun_is_done_and_nothing_else_wakes_it() -> None:
    store = Store(0)
    async with keeping(store, FakeClock()) as keeper:
        store.left = 2
        keeper.committed([JobChanged(1)])
        await settle()
        assert store.left == 2
        keeper.committed([JobChanged(1), HoldsBegun()])
        await settle()
        assert store.left == 0


async def test_a_store_that_says_no_is_asked_again() -> None:
    store, clock = Store(2, StoreUnavailable("busy")), FakeClock()
    async with keeping(store, clock):
        assert (store.left, len(store.refused)) == (2, 1)
        clock.advance(5)
        await settle()
        assert store.left == 0


async def test_a_broken_store_ends_it() -> None:
    with pytest.raises(StoreBroken):
        await keeper_of(Store(1, StoreBroken("gone")), FakeClock()).run()
