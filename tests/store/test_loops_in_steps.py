"""What a loop holds is many deliveries: they are held and freed step by step, and meanwhile nothing goes that must not."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.inmail import AutomationKind
from postroom.core.instant import MINUTE
from postroom.ports.accepting import Accepted
from postroom.ports.changes import HoldsBegun, ThreadFreed, ThreadHeld
from postroom.store.sqlite import hold_begin, hold_end
from support.robots import HELD, ROBOT, WAITS, House, house
from support.store_jobs import new_job


S = DeliveryState
K = AutomationKind
BITE = 4
MANY = 2 * BITE + 2


@pytest.fixture(autouse=True)
def _small_bites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold_begin, "BITE", BITE)
    monkeypatch.setattr(hold_end, "BITE", BITE)


async def fill(at: House, to: str = ROBOT) -> list[int]:
    """So many wait, since yesterday."""
    numbers = [(await at.write(to)).deliveries[0].number for _ in range(MANY)]
    at.pass_(24 * 60 * MINUTE)
    return numbers


async def make_loop(at: House) -> None:
    """The robot writes from its address, each time in a thread of its own."""
    await at.send()
    for _ in range(6):
        await at.hear()


async def make_loop_of_domain(at: House) -> None:
    """A help desk has an address for each ticket."""
    for number in range(6):
        await at.send(f"answer-{number}@desk.example")
        await at.hear(f"ticket-{number}@desk.example")


async def states(at: House, numbers: list[int]) -> Counter[Any]:
    return Counter([await at.state(number) for number in numbers])


async def settle(at: House) -> int:
    """How many steps were left."""
    steps = 0
    while await at.outbox.inbox.settle_holds(at.now):
        steps += 1
    return steps


@pytest.mark.parametrize("loop", [make_loop, make_loop_of_domain])
async def test_many_are_held_step_by_step_and_told_once(tmp_path: Path, loop: Any) -> None:
    async with house(tmp_path) as at:
        numbers = await fill(at)
        await loop(at)
        assert await states(at, numbers) == {HELD: BITE, WAITS: MANY - BITE}
        assert at.changes(ThreadHeld) == []
        assert at.changes(HoldsBegun) != []
        assert await settle(at) >= 2
        assert await states(at, numbers) == {HELD: MANY}
        (told,) = at.changes(ThreadHeld)
        assert told.deliveries == MANY
        assert told.scopes[0] == "thread"


async def test_of_one_job_to_many_in_one_thread_all_are_held(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        others = [f"reader-{number}@customer.example" for number in range(MANY)]
        done = await at.outbox.intake.accept(new_job(at.outbox.intake, ROBOT, *others))
        assert isinstance(done, Accepted)
        numbers = [one.number for one in done.deliveries]
        thread = done.deliveries[0].thread_number
        assert {one.thread_number for one in done.deliveries} == {thread}
        at.pass_(24 * 60 * MINUTE)
        await at.send(thread=thread)
        for _ in range(6):
            await at.hear(thread=thread)
        await settle(at)
        assert await states(at, numbers) == {HELD: MANY + 1}
        assert [one.deliveries for one in at.changes(ThreadHeld)] == [MANY + 1]


async def test_what_a_loop_has_not_come_to_yet_does_not_start_and_what_is_new_begins_held(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as at:
        numbers = await fill(at)
        await make_loop(at)
        assert await at.state(numbers[-1]) == WAITS
        assert await at.start(numbers[-1]) is None
        assert await at.state(numbers[-1]) == HELD
        assert (await at.write()).deliveries[0].state is S.HELD


async def test_a_crash_between_two_steps_is_gone_on_from(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        numbers = await fill(at)
        await make_loop(at)
    async with house(tmp_path) as at:
        at.mails = 100
        assert await settle(at) >= 2
        assert await states(at, numbers) == {HELD: MANY}
        assert [one.deliveries for one in at.changes(ThreadHeld)] == [MANY]
        await at.hear(ROBOT, K.HUMAN)
        assert await states(at, numbers) == {WAITS: BITE, HELD: MANY - BITE}
    async with house(tmp_path) as at:
        assert await settle(at) >= 2
        assert await states(at, numbers) == {WAITS: MANY}
        (freed,) = at.changes(ThreadFreed)
        assert (freed.by, freed.deliveries) == ("intake", MANY)


async def test_a_loop_that_ends_while_it_is_being_held_is_told_of_and_holds_nothing(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as at:
        numbers = await fill(at)
        await make_loop(at)
        await at.hear(ROBOT, K.HUMAN)
        await settle(at)
        assert await states(at, numbers) == {WAITS: MANY}
        assert [one.deliveries for one in at.changes(ThreadHeld)] == [BITE]
        assert [one.deliveries for one in at.changes(ThreadFreed)] == [BITE]


async def test_what_another_loop_holds_is_passed_by_and_stays(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        held = await fill(at)
        await make_loop(at)
        await settle(at)
        thread = (await at.write("bob@other.example")).deliveries[0].thread_number
        await at.send("bob@other.example", thread)
        for _ in range(6):
            await at.hear("bob@other.example", thread=thread)
        last = (await at.write("bob@other.example", thread)).deliveries[0].number
        assert await at.state(last) == HELD
        await at.hear("bob@other.example", K.HUMAN, thread=thread)
        await settle(at)
        assert await at.state(last) == WAITS
        assert await states(at, held) == {HELD: MANY}
