"""What waits for mailboxes that are not in the settings is settled, also when the store says no at first."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.ops.chronicle import Chronicle
from postroom.ports.changes import StateMoved
from postroom.ports.desk import Admin
from postroom.ports.errors import StoreBroken, StoreUnavailable
from postroom.service.absent import AbsentKeeper
from support.clock import FakeClock, settle


S = DeliveryState


class Store:
    """Settles mailboxes, or says no so often."""

    def __init__(self, *faults: Exception) -> None:
        self.faults = list(faults)
        self.settled: list[str] = []
        self.refused: list[Exception] = []

    async def settle_mailbox(self, mailbox_id: str, at: Instant) -> None:
        if self.faults:
            raise self.faults.pop(0)
        self.settled.append(mailbox_id)

    def store_refused(self, error: Exception) -> None:
        self.refused.append(error)


@asynccontextmanager
async def keeping(store: Store, clock: FakeClock) -> AsyncIterator[AbsentKeeper]:
    keeper = AbsentKeeper(cast(Admin, store), {"here"}, clock, cast(Chronicle, store))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(keeper.run())
        await settle()
        yield keeper
        task.cancel()


def moved(mailbox_id: str, after: S | None) -> StateMoved:
    return StateMoved(mailbox_id, Lane.STANDARD, S.SENDING, after, None, 1)


@pytest.mark.parametrize(
    ("mailbox_id", "after", "settled"),
    [
        ("gone", S.PENDING, ["gone"]),
        ("gone", S.RETRY_SCHEDULED, ["gone"]),
        ("gone", S.SENT, []),
        ("gone", S.HELD, []),
        ("gone", None, []),
        ("here", S.PENDING, []),
    ],
)
async def test_what_begins_to_wait_for_nobody_is_settled(
    mailbox_id: str, after: S | None, settled: list[str]
) -> None:
    store = Store()
    async with keeping(store, FakeClock()) as keeper:
        keeper.committed([moved(mailbox_id, after)])
        await settle()
        assert store.settled == settled


async def test_mailboxes_that_come_or_go_are_settled_each_once() -> None:
    store = Store()
    async with keeping(store, FakeClock()) as keeper:
        keeper.settle({"a": 1, "b": 2})
        keeper.settle(["a"])
        await settle()
        assert store.settled == ["a", "b"]
        keeper.settle([])
        await settle()
        assert store.settled == ["a", "b"]


async def test_a_store_that_says_no_is_asked_again_and_the_others_come_meanwhile() -> None:
    store, clock = Store(StoreUnavailable("busy")), FakeClock()
    async with keeping(store, clock) as keeper:
        keeper.settle(["a", "b"])
        await settle()
        assert (store.settled, len(store.refused)) == ([], 1)
        clock.advance(5)
        await settle()
        assert store.settled == ["b", "a"]


async def test_a_broken_store_ends_it() -> None:
    store = Store(StoreBroken("gone"))
    keeper = AbsentKeeper(cast(Admin, store), {"here"}, FakeClock(), cast(Chronicle, store))
    keeper.settle(["a"])
    with pytest.raises(StoreBroken):
        await keeper.run()
