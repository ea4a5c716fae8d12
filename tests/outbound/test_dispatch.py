"""The delivery loop on a fake clock: who goes when, once, and what is stored of it."""

from datetime import timedelta

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import Pace, RetryPolicy
from postroom.core.reason import ReasonCode
from postroom.core.reply import Stage
from postroom.ports.errors import RelayFault, StoreUnavailable
from postroom.ports.looping import MarkStopped, WaitingRow
from postroom.ports.relay import Dialogue, Envelope
from support.clock import settle
from support.loop import FAILED, PENDING, SENDING, SENT_STATE, loop, mailbox, states
from support.loop_parts import SENT, refused


async def test_what_is_due_is_sent_and_what_comes_later_too() -> None:
    run = loop(mailbox())
    first = run.store.add("box")
    async with run:
        assert run.store.state(first) is SENT_STATE
        second = run.store.add("box")
        await settle()
        assert run.store.state(second) is SENT_STATE
    assert [e.recipient for e in run.pools["main"].envelopes] == [
        "r1@customer.example",
        "r2@customer.example",
    ]


async def test_the_next_start_does_not_wait_for_the_outcome_before_it_to_be_stored() -> None:
    run = loop(mailbox(concurrency=1))
    run.store.finish_failures.append(StoreUnavailable("later"))
    first, second, third = (run.store.add("box") for _ in range(3))
    async with run:
        assert run.store.state(first) is SENDING  # sent, and not stored yet
        assert run.store.starts == [first, second]
        await run.run(2)
        assert states(run, [first, second, third]) == {SENT_STATE: 3}


async def test_a_send_time_is_kept() -> None:
    run = loop(mailbox())
    later = run.store.add("box", due_at=Instant(run.clock.now() + 90 * SECOND))
    async with run:
        await run.run(89)
        assert run.store.state(later) is PENDING
        await run.run(2)
        assert run.store.state(later) is SENT_STATE


async def test_three_thousand_rows_all_go_once() -> None:
    run = loop(mailbox())
    numbers = [run.store.add("box") for _ in range(3000)]
    async with run:
        await settle(3000)
        assert states(run, numbers) == {SENT_STATE: 3000}
    assert len(run.store.starts) == len(set(run.store.starts))


async def test_a_temporary_refusal_is_tried_again_with_growing_waits_until_the_ceiling() -> None:
    policy = RetryPolicy(timedelta(seconds=300), 2.0, timedelta(hours=1), 0.0, 5)
    run = loop(mailbox(retry=policy))
    run.pools["main"].script = lambda envelope: refused(Stage.RCPT, 451, "try again later")
    number = run.store.add("box")
    tries = []
    async with run:
        for minute in range(90):
            before = run.store.rows[number].attempts
            await run.run(60, step=60)
            if run.store.rows[number].attempts > before:
                tries.append(minute + 1)
        assert tries == [5, 15, 35, 75]
        assert run.store.state(number) is FAILED
        outcome = run.store.rows[number].outcome
        assert outcome is not None
        assert outcome.reason_code is ReasonCode.EXPIRED
        assert outcome.reply is not None
        assert outcome.reply.code == 451


@pytest.mark.parametrize(
    ("state", "sent_at_last"),
    [(DeliveryState.CANCELLED, False), (DeliveryState.PENDING, True)],
    ids=["cancelled", "paused for a moment"],
)
async def test_what_the_mark_stops_is_not_sent(state: DeliveryState, *, sent_at_last: bool) -> None:
    run = loop(mailbox())
    number = run.store.add("box")
    run.store.stops[number] = MarkStopped(state, ReasonCode.CANCELLED)
    async with run:
        await run.run(5)
        assert (run.store.state(number) is SENT_STATE) is sent_at_last
        assert run.host.in_slots == 0


async def test_an_outcome_that_the_store_refuses_is_tried_until_it_is_stored() -> None:
    run = loop(mailbox())
    run.store.finish_failures = [StoreUnavailable("busy") for _ in range(5)]
    number = run.store.add("box")
    async with run:
        assert run.store.state(number) is SENDING
        await run.run(5, step=0.5)
        assert run.store.state(number) is SENT_STATE
    assert len(run.pools["main"].envelopes) == 1


async def test_what_is_past_its_not_after_is_ended_and_blocks_nobody() -> None:
    run = loop(mailbox(pace=Pace(per_second=1)))
    late = [
        run.store.add("box", not_after=Instant(run.clock.now() + 2 * SECOND)) for _ in range(10)
    ]
    fine = run.store.add("box")
    async with run:
        await run.run(10, step=0.5)
        assert run.store.state(fine) is SENT_STATE
        assert states(run, late)[FAILED] >= 7
        assert PENDING not in states(run, late)


async def test_draining_starts_nothing_more_and_puts_back_what_had_no_mark() -> None:
    run = loop(mailbox())

    async def hang(envelope: Envelope) -> Dialogue:
        await run.clock.sleep(10_000)
        return SENT

    run.pools["main"].script = lambda envelope: hang(envelope) if envelope.recipient else SENT
    number = run.store.add("box")
    async with run:
        run.dispatcher.drain()
        second = run.store.add("box")
        await run.run(5)
        assert run.store.state(number) is SENDING
        assert run.store.state(second) is PENDING
        run.dispatcher.interrupt()
        await settle()
        assert run.store.state(number) is PENDING
        assert run.store.rows[number].attempts == 0


@pytest.mark.parametrize("years", [10, -10], ids=["forward", "back"])
async def test_a_clock_that_jumps_keeps_nothing_waiting_beyond_its_longest_wait(years: int) -> None:
    run = loop(mailbox())
    run.pools["main"].script = lambda envelope: refused(Stage.RCPT, 451, "try again later")
    number = run.store.add("box")
    down = loop(mailbox())
    down.pools["main"].script = lambda envelope: RelayFault(Stage.CONNECT, "refused")
    other = down.store.add("box")
    async with run, down:
        for each in (run, down):
            await each.run(60, step=1)
            each.pools["main"].script = lambda envelope: SENT
            each.clock.jump(years * 365 * 86_400)
            await each.run(5400, step=30)
        assert run.store.state(number) is SENT_STATE
        assert down.store.state(other) is SENT_STATE


async def test_a_read_that_the_store_refused_is_made_again_also_where_the_clock_has_gone_back() -> (
    None
):
    run = loop(mailbox())
    read = run.store.find_waiting

    async def refuse(*_: object, **__: object) -> tuple[WaitingRow, ...]:
        message = "busy"
        raise StoreUnavailable(message)

    run.store.find_waiting = refuse  # type: ignore[method-assign]
    number = run.store.add("box", due_at=Instant(run.clock.now() - 7200 * SECOND))
    async with run:
        await run.run(5)
        run.store.find_waiting = read  # type: ignore[method-assign]
        run.clock.jump(-3600)
        await run.run(60)
        assert run.store.state(number) is SENT_STATE


async def test_mail_that_is_moved_while_it_is_under_way_goes_also_where_the_clock_has_gone_back() -> (
    None
):
    run = loop(mailbox())
    is_released = False

    async def hang(envelope: Envelope) -> Dialogue:
        while not is_released:
            await run.clock.sleep(1)
        return SENT

    run.pools["main"].script = lambda envelope: hang(envelope) if envelope.recipient else SENT
    number = run.store.add("box")
    async with run:
        run.clock.jump(-30)
        run.store.move(number, run.clock.now())
        await run.run(5)  # it is read meanwhile, and passed by
        is_released = True
        await run.run(90)
        assert run.store.state(number) is SENT_STATE
