import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.delivery import TRANSITIONS, UNSETTLED, DeliveryState
from postroom.core.mailbox import Lane
from postroom.core.record import JobRecord
from postroom.ops.depth import Depth, Settled
from postroom.ports.changes import JobChanged, RowsGone, StateMoved
from support.records import delivery, job


S = DeliveryState
LANE = Lane.STANDARD


def moved(
    before: S | None, after: S | None, count: int = 1, mailbox: str = "support"
) -> StateMoved:
    return StateMoved(mailbox, LANE, before, after, None, count)


def test_what_waited_before_the_start_counts() -> None:
    depth = Depth({("support", LANE, S.PENDING): 3, ("support", LANE, S.SENT): 9})
    assert depth.depth("support") == 3
    assert depth.counts() == {("support", LANE, S.PENDING): 3, ("support", LANE, S.SENT): 9}


@pytest.mark.parametrize(
    ("change", "left"),
    [
        pytest.param(moved(None, S.PENDING, 2), 4, id="accepted"),
        pytest.param(moved(S.PENDING, S.SENDING), 2, id="under way still counts"),
        pytest.param(moved(S.PENDING, S.SENT), 1, id="sent"),
        pytest.param(moved(S.FAILED, S.PENDING), 3, id="redriven"),
        pytest.param(moved(S.SENT, None), 2, id="removed by retention"),
        pytest.param(moved(None, S.PENDING, 5, "other"), 2, id="another mailbox"),
        pytest.param(RowsGone((1, 2)), 2, id="no change of state"),
    ],
)
def test_the_queue_limit_counts_what_is_not_settled(change: StateMoved, left: int) -> None:
    depth = Depth(
        {
            ("support", LANE, S.PENDING): 2,
            ("support", LANE, S.FAILED): 1,
            ("support", LANE, S.SENT): 1,
        }
    )
    depth.committed([change])
    assert depth.depth("support") == left


def test_a_count_of_nothing_is_not_told() -> None:
    depth = Depth({("support", LANE, S.PENDING): 1})
    depth.committed([moved(S.PENDING, S.SENT)])
    assert depth.counts() == {("support", LANE, S.SENT): 1}


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(sorted(S))), max_size=60))
def test_counts_equal_a_recount_after_any_steps(steps: list[tuple[int, S]]) -> None:
    depth, rows = Depth({}), dict[int, S]()
    for row, after in steps:
        before = rows.get(row)
        if before is None or after in TRANSITIONS[before]:
            depth.committed([moved(before, after)])
            rows[row] = after
    assert depth.counts() == Counter(("support", LANE, state) for state in rows.values())
    assert depth.depth("support") == sum(state in UNSETTLED for state in rows.values())


class OneJob:
    """A reader that knows one job, which a test changes."""

    def __init__(self, *states: S) -> None:
        self.states = states
        self.looked = asyncio.Event()

    async def find_job(self, number: int) -> JobRecord | None:
        self.looked.set()
        if number != 1:
            return None
        return job(1, *(delivery(n, s) for n, s in enumerate(self.states)))


async def test_a_settled_job_is_answered_at_once() -> None:
    job = await Settled(OneJob(S.SENT, S.FAILED)).wait(1, 60)
    assert job is not None
    assert [delivery.state for delivery in job.deliveries] == [S.SENT, S.FAILED]


async def test_no_job_is_not_waited_for() -> None:
    assert await Settled(OneJob(S.PENDING)).wait(2, 60) is None


async def test_a_waiter_wakes_when_its_job_settles() -> None:
    reader = OneJob(S.SENDING)
    settled = Settled(reader)
    async with asyncio.TaskGroup() as group:
        waiter = group.create_task(settled.wait(1, 60))
        await reader.looked.wait()
        settled.committed([JobChanged(9)])
        reader.states = (S.SENT,)
        settled.committed([JobChanged(1)])
    job = waiter.result()
    assert job is not None
    assert job.deliveries[0].state is S.SENT


async def test_a_waiter_whose_time_is_over_gets_the_job_as_it_stands() -> None:
    settled = Settled(OneJob(S.SENDING))
    job = await settled.wait(1, 0.01)
    assert job is not None
    assert job.deliveries[0].state is S.SENDING
    assert not settled._watches
