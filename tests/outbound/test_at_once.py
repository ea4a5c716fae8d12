"""The delivery loop where two things happen at once: nothing that waits is forgotten, and no place is held for ever."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from postroom.core.changeover import change_mailbox
from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant, Moment
from postroom.core.mailbox import DomainPace, Lane, Pace
from postroom.core.world import DomainState
from postroom.outbound.dispatch import Dispatcher
from postroom.outbound.flight import Flights
from postroom.outbound.line import Line
from postroom.ports.changes import MailboxPaused, RowsGone
from postroom.ports.errors import StoreUnavailable
from postroom.ports.looping import WaitingRow
from postroom.ports.relay import Dialogue, Envelope
from support.loop import Loop, loop, mailbox
from support.loop_outbox import FakeOutbox
from support.loop_parts import SENT


FAILED, PENDING, SENT_STATE = DeliveryState.FAILED, DeliveryState.PENDING, DeliveryState.SENT


def pause(run: Loop, *, is_paused: bool = True) -> None:
    told = MailboxPaused("box", is_paused=is_paused, by="uid:0", reason="")
    run.dispatcher.committed([told])


def within(run: Loop, seconds: float) -> Instant:
    return Instant(run.clock.now() + int(seconds * SECOND))


def answer_after(run: Loop, seconds: float) -> None:
    async def answer() -> Dialogue:
        await run.clock.sleep(seconds)
        return SENT

    def script(envelope: Envelope) -> Dialogue | Awaitable[Dialogue]:
        return answer() if envelope.recipient else SENT

    run.pools["main"].script = script


async def test_what_runs_out_while_others_are_ended_is_ended_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = loop(mailbox())
    first = run.store.add("box", not_after=within(run, 1))
    second = run.store.add("box", not_after=within(run, 2))
    pause(run)
    go_on = asyncio.Event()
    end_expired = FakeOutbox.end_expired

    async def slow(store: FakeOutbox, now: Instant, limit: int) -> int:
        count = await end_expired(store, now, limit)
        await go_on.wait()
        return count

    monkeypatch.setattr(FakeOutbox, "end_expired", slow)
    async with run:
        await run.run(1.5, step=0.5)
        assert run.store.state(first) is FAILED
        await run.run(1.5, step=0.5)
        assert run.store.state(second) is PENDING
        go_on.set()
        await run.run(1)
        assert run.store.state(second) is FAILED


async def test_what_the_store_did_not_end_is_ended_when_it_answers_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = loop(mailbox())
    number = run.store.add("box", not_after=within(run, 1))
    pause(run)
    end_expired, faults = FakeOutbox.end_expired, [StoreUnavailable("later")] * 3

    async def sick(store: FakeOutbox, now: Instant, limit: int) -> int:
        if faults:
            raise faults.pop()
        return await end_expired(store, now, limit)

    monkeypatch.setattr(FakeOutbox, "end_expired", sick)
    async with run:
        await run.run(6)
        assert run.store.state(number) is FAILED
    assert run.told.lines.count(("store_refused", "later")) == 3


async def test_waits_of_a_clock_that_went_back_are_shortened_when_the_store_answers_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = loop(mailbox())
    year = Instant(run.clock.now() + 365 * 24 * 3600 * SECOND)
    number = run.store.add("box", due_at=year, state=DeliveryState.RETRY_SCHEDULED)
    pull_in, faults = FakeOutbox.pull_in, [StoreUnavailable("later")] * 3

    async def sick(store: FakeOutbox, *given: Any) -> int:
        if faults:
            raise faults.pop()
        return await pull_in(store, *given)

    monkeypatch.setattr(FakeOutbox, "pull_in", sick)
    async with run:
        await run.run(2 * 3600, step=60)
        assert run.store.state(number) is SENT_STATE


async def test_what_is_moved_in_time_while_the_store_refuses_its_mark_goes_at_that_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = loop(mailbox())
    answer_after(run, 3)
    mark, refusals = FakeOutbox.mark, [StoreUnavailable("later")]

    async def refused_mark(store: FakeOutbox, *given: Any) -> Any:
        if refusals:
            raise refusals.pop()
        return await mark(store, *given)

    monkeypatch.setattr(FakeOutbox, "mark", refused_mark)
    number = run.store.add("box")
    async with run:
        await run.run(1)
        run.store.move(number, within(run, 1))
        await run.run(60)
        assert run.store.state(number) is SENT_STATE


async def test_what_is_launched_in_the_moment_of_the_end_does_not_hold_it_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = loop(mailbox())
    launch = Flights.launch

    def launch_last(flights: Flights, *given: Any) -> None:
        launch(flights, *given)
        run.dispatcher.drain()
        run.dispatcher.interrupt()

    monkeypatch.setattr(Flights, "launch", launch_last)
    number = run.store.add("box")
    async with run:
        assert run.store.state(number) is not SENT_STATE
        assert run.task is not None
        assert run.task.done()
        assert (run.host.in_slots, run.flights.is_empty) == (0, True)


async def test_an_answer_of_the_relay_outlives_the_end_of_a_drain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = loop(mailbox())
    run.store.finish_failures += [StoreUnavailable("later")] * 2
    number = run.store.add("box")
    async with run:
        run.dispatcher.drain()
        run.dispatcher.interrupt()
        await run.run(2)
        assert run.store.state(number) is SENT_STATE


async def test_a_drain_that_waits_for_a_relay_does_nothing_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = loop(mailbox(pace=Pace(per_second=1)))
    answer_after(run, 100)
    for _ in range(3):
        run.store.add("box")
    turns = []
    turn = Dispatcher._turn

    def counted(dispatcher: Dispatcher, group: asyncio.TaskGroup) -> None:
        turns.append(run.clock.now())
        turn(dispatcher, group)

    monkeypatch.setattr(Dispatcher, "_turn", counted)
    async with run:
        run.dispatcher.drain()
        await run.run(30)
        assert len(turns) < 10


async def test_what_waits_long_for_a_relay_of_before_says_nothing_about_the_new_one() -> None:
    run = loop(mailbox())
    run.pools["main"].is_slow = True
    answer_after(run, 600)
    for _ in range(3):
        run.store.add("box")
    async with run:
        await run.run(20)
        world, now = run.worlds["box"], Moment(run.clock.now(), run.clock.monotonic())
        change_mailbox(world.mailbox, mailbox(relay_id="another"), now)  # as a reload does
        await run.run(30)
        assert world.mailbox.breaker.is_closed


async def test_mailboxes_in_which_nothing_waits_cost_those_nothing_that_end_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = loop(*(mailbox(f"idle{n}") for n in range(5)), mailbox())
    pause(run)
    for box in run.worlds:
        run.store.add(box)
    asked: list[str] = []
    forget = Line.forget

    def counted(line: Line, number: int) -> None:
        asked.append(line.world.mailbox.mailbox.id)
        forget(line, number)

    monkeypatch.setattr(Line, "forget", counted)
    async with run:
        run.dispatcher.committed([RowsGone((6,))])
        assert asked == ["box"]
        assert not run.dispatcher.queues()


async def test_a_row_of_a_domain_that_is_held_back_while_rows_are_read_is_tried_once_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = loop(mailbox(pace=Pace(per_second=1)))
    answer_after(run, 3)
    find_waiting, go_on = FakeOutbox.find_waiting, asyncio.Event()

    async def slow(
        store: FakeOutbox, box: str, lane: Lane, **given: object
    ) -> tuple[WaitingRow, ...]:
        found = await find_waiting(store, box, lane, **given)
        if given["domain"] is None and given["after"] is not None:
            await go_on.wait()
        return found

    monkeypatch.setattr(FakeOutbox, "find_waiting", slow)
    for _ in range(4):
        run.store.add("box")
    async with run:
        world = run.worlds["box"]
        world.mailbox.domains["customer.example"] = DomainState(
            DomainPace(concurrency=2), None
        )  # as a reload does
        for _ in range(12):
            run.store.add("box")
        await run.run(4)  # the third of the domain has to wait: it gets a feed of its own
        pause(run)
        go_on.set()
        await run.run(5)
        pause(run, is_paused=False)
        answer_after(run, 1.5)
        await run.run(60)
        assert run.store.starts == list(range(1, 17))
        assert (run.host.in_slots, world.mailbox.in_flight) == (0, 0)
