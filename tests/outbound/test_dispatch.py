"""The delivery loop on a fake clock: who goes when, and what happens to who can not go."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import DomainPace, Lane, LaneShares, Pace, RetryPolicy
from postroom.core.reason import ReasonCode
from postroom.core.reply import Stage
from postroom.ports.errors import RelayFault, StoreUnavailable
from postroom.ports.looping import MarkStopped
from postroom.ports.relay import Dialogue, Envelope
from support.clock import settle
from support.loop import SENT, Loop, loop, mailbox, refused, relay


SENDING, PENDING = DeliveryState.SENDING, DeliveryState.PENDING
SENT_STATE, FAILED = DeliveryState.SENT, DeliveryState.FAILED
RETRY = DeliveryState.RETRY_SCHEDULED


def states(run: Loop, numbers: list[int]) -> Counter[DeliveryState]:
    return Counter(run.store.state(number) for number in numbers)


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


async def test_lanes_share_starts_six_to_three_to_one_while_all_have_work() -> None:
    run = loop(mailbox(pace=Pace(per_second=10)))
    for lane in Lane:
        for _ in range(400):
            run.store.add("box", lane)
    async with run:
        await run.run(50, step=0.1)
    shares = Counter(run.store.rows[number].waiting.lane for number in run.store.starts[:500])
    assert abs(shares[Lane.HIGH] - 300) <= 30
    assert abs(shares[Lane.STANDARD] - 150) <= 15
    assert abs(shares[Lane.BULK] - 50) <= 5


async def test_high_behind_fifty_thousand_bulk_starts_at_once() -> None:
    run = loop(mailbox(concurrency=2, pace=Pace(per_second=5)))
    for _ in range(50_000):
        run.store.add("box", Lane.BULK)
    async with run:
        await run.run(2, step=0.1)
        high = run.store.add("box", Lane.HIGH)
        await run.run(0.5, step=0.1)
        assert run.store.state(high) is SENT_STATE


async def test_a_daily_cap_leaves_room_for_high_and_holds_over_midnight() -> None:
    run = loop(mailbox(pace=Pace(per_day=10)))
    bulk = [run.store.add("box", Lane.BULK) for _ in range(10)]
    async with run:
        await run.run(5)
        assert states(run, bulk)[SENT_STATE] == 8
        high = run.store.add("box", Lane.HIGH)
        await run.run(1)
        assert run.store.state(high) is SENT_STATE
        await run.run(23 * 3600, step=600)
        assert states(run, bulk)[SENT_STATE] == 8
        await run.run(2 * 3600, step=600)
        assert states(run, bulk)[SENT_STATE] == 10


async def test_pace_per_second_and_burst_bound_every_stretch_of_time() -> None:
    run = loop(mailbox(pace=Pace(per_second=2, burst=3)))
    numbers = [run.store.add("box") for _ in range(20)]
    async with run:
        assert states(run, numbers)[SENT_STATE] == 3
        for second in range(1, 6):
            await run.run(1, step=0.1)
            assert states(run, numbers)[SENT_STATE] == 3 + 2 * second
        assert all(run.store.rows[n].attempts <= 1 for n in numbers)


async def test_a_relays_pace_bounds_all_its_mailboxes_together() -> None:
    run = loop(mailbox("a"), mailbox("b"), relays=(relay(pace=Pace(per_second=1)),))
    numbers = [run.store.add(name) for name in ("a", "b") for _ in range(20)]
    async with run:
        await run.run(10, step=0.5)
        assert 10 <= states(run, numbers)[SENT_STATE] <= 11


async def test_mailboxes_with_equal_work_get_equal_shares() -> None:
    names = ["a", "b", "c", "d"]
    run = loop(*(mailbox(name) for name in names), relays=(relay(pace=Pace(per_second=20)),))
    for name in names:
        for _ in range(300 if name != "a" else 3000):
            run.store.add(name)
    async with run:
        await run.run(20, step=0.1)
    starts = Counter(run.store.rows[number].waiting.mailbox_id for number in run.store.starts)
    assert min(starts.values()) >= 0.8 * sum(starts.values()) / len(names)


async def test_nobody_waits_behind_a_paced_domain() -> None:
    run = loop(mailbox(domain_pace={"slow.example": DomainPace(per_second=0.1)}))
    slow = [run.store.add("box", domain="slow.example") for _ in range(600)]
    fast = [run.store.add("box", domain="fast.example") for _ in range(50)]
    async with run:
        assert states(run, fast) == {SENT_STATE: 50}
        assert states(run, slow)[SENT_STATE] == 1
        await run.run(30)
        assert states(run, slow)[SENT_STATE] == 4


async def test_a_domain_that_complains_is_left_alone_and_the_others_go() -> None:
    run = loop(mailbox())

    def script(envelope: Envelope) -> Dialogue:
        if envelope.recipient.endswith("@yahoo.example"):
            return refused(
                Stage.MAIL,
                421,
                "4.7.0 [TSS04] Messages temporarily deferred due to unexpected volume",
            )
        return SENT

    run.pools["main"].script = script
    paused = run.store.add("box", domain="yahoo.example")
    async with run:
        more = [run.store.add("box", domain="yahoo.example") for _ in range(10)]
        fine = run.store.add("box", domain="fine.example")
        await run.run(5)
        assert run.store.state(fine) is SENT_STATE
        assert run.store.state(paused) is RETRY
        assert states(run, more) == {PENDING: 10}
        run.pools["main"].script = lambda envelope: SENT
        await run.run(3 * 3600, step=60)
        assert states(run, [paused, *more]) == {SENT_STATE: 11}


async def test_concurrency_of_mailbox_and_relay_is_never_passed() -> None:
    run = loop(
        mailbox("a", concurrency=3),
        mailbox("b", concurrency=3),
        relays=(relay(concurrency=4),),
    )
    most = 0

    async def slow(envelope: Envelope) -> Dialogue:
        nonlocal most
        most = max(most, run.pools["main"].borrowed)
        await run.clock.sleep(1)
        return SENT

    run.pools["main"].script = lambda envelope: slow(envelope) if envelope.recipient else SENT
    numbers = [run.store.add(name) for name in ("a", "b") for _ in range(20)]
    async with run:
        await run.run(20)
        assert states(run, numbers) == {SENT_STATE: 40}
    assert most == 4


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


async def test_an_unreachable_relay_costs_no_attempt_and_all_goes_when_it_is_back() -> None:
    run = loop(mailbox())
    run.pools["main"].script = lambda envelope: RelayFault(Stage.CONNECT, "connection refused")
    numbers = [run.store.add("box") for _ in range(30)]
    async with run:
        await run.run(3600, step=10)
        assert {run.store.rows[n].attempts for n in numbers} == {0}
        assert set(states(run, numbers)) <= {PENDING, RETRY}
        dials = run.pools["main"].dials
        assert dials < 60, "the breaker keeps it from being hammered"
        run.pools["main"].script = lambda envelope: SENT
        await run.run(960, step=10)
        assert states(run, numbers) == {SENT_STATE: 30}


async def test_what_speaks_of_us_stops_the_mailbox_and_fails_nobody() -> None:
    run = loop(mailbox(concurrency=2))
    run.pools["main"].script = lambda envelope: refused(
        Stage.MAIL, 553, "5.7.1 Sender address rejected: not owned by user"
    )
    numbers = [run.store.add("box") for _ in range(20)]
    async with run:
        await run.run(60)
        assert set(states(run, numbers)) <= {PENDING, RETRY}
        assert len(run.pools["main"].envelopes) <= 3
        run.pools["main"].script = lambda envelope: SENT
        await run.run(2 * 3600, step=60)
        assert states(run, numbers) == {SENT_STATE: 20}


async def test_a_storm_of_permanent_refusals_opens_the_breaker_after_twenty() -> None:
    run = loop(mailbox(concurrency=1))
    run.pools["main"].script = lambda envelope: refused(Stage.RCPT, 550, "5.1.1 User unknown")
    numbers = [run.store.add("box", domain=f"d{n % 10}.example") for n in range(60)]
    async with run:
        await run.run(30)
        assert states(run, numbers)[FAILED] == 20
        assert ("breaker", "mailbox", "box", "open", "permanent_storm") in run.told.lines
        await run.run(3600, step=30)
        assert states(run, numbers)[FAILED] == 20
        run.pools["main"].script = lambda envelope: SENT
        await run.run(3600, step=30)
        assert states(run, numbers) == {FAILED: 20, SENT_STATE: 40}


async def storm(run: Loop) -> None:
    """Twenty refusals over five domains open the mailbox's breaker."""
    run.pools["main"].script = lambda envelope: refused(Stage.RCPT, 550, "5.1.1 User unknown")
    for n in range(20):
        run.store.add("box", domain=f"d{n % 5}.example")
    await run.run(5)
    assert ("breaker", "mailbox", "box", "open", "permanent_storm") in run.told.lines
    run.store.starts.clear()


async def test_probes_of_a_stormed_mailbox_take_high_first() -> None:
    run = loop(mailbox(concurrency=1))
    async with run:
        await storm(run)
        bulk = [run.store.add("box", Lane.BULK) for _ in range(3)]
        standard = [run.store.add("box") for _ in range(3)]
        high = [run.store.add("box", Lane.HIGH) for _ in range(3)]
        run.pools["main"].script = lambda envelope: SENT
        await run.run(120)
        assert run.store.starts[:3] == high
        assert sorted(run.store.starts[3:]) == sorted(bulk + standard)


async def test_after_a_refused_probe_another_domain_is_tried_before_a_higher_priority() -> None:
    run = loop(mailbox(concurrency=1))
    async with run:
        await storm(run)
        high = [run.store.add("box", Lane.HIGH, "odd.example") for _ in range(2)]
        other = run.store.add("box", Lane.BULK, "other.example")
        await run.run(61)
        assert run.store.starts == high[:1]
        await run.run(121)
        assert run.store.starts == [high[0], other]


async def test_another_domain_is_tried_even_behind_a_long_backlog_of_the_refused_one() -> None:
    run = loop(mailbox(concurrency=1))
    async with run:
        await storm(run)
        many = [run.store.add("box", domain="odd.example") for _ in range(600)]
        other = run.store.add("box", domain="other.example")
        await run.run(61)
        assert run.store.starts == many[:1]
        await run.run(121)
        assert run.store.starts == [many[0], other]
        run.pools["main"].script = lambda envelope: SENT
        await run.run(1200, step=5)
        assert states(run, [*many, other]) == {SENT_STATE: 601}


async def test_five_outcomes_in_doubt_stop_the_mailbox() -> None:
    run = loop(mailbox(concurrency=1))
    lost = SENT.__class__(
        stage=Stage.DOT,
        reply=None,
        fault="connection lost",
        reached_mail=True,
        is_marked=True,
        is_dotted=True,
        is_stopped=False,
        is_reusable=False,
    )
    run.pools["main"].script = lambda envelope: lost
    numbers = [run.store.add("box", domain=f"d{n}.example") for n in range(20)]
    async with run:
        await run.run(20)
        assert states(run, numbers)[DeliveryState.UNCERTAIN] == 5


async def test_three_that_wait_a_minute_for_the_final_reply_stop_the_mailbox_at_once() -> None:
    run = loop(mailbox(concurrency=4))
    answered = asyncio.Event()

    async def silence() -> Dialogue:
        await answered.wait()
        return SENT

    run.pools["main"].script = lambda envelope: silence() if envelope.recipient else SENT
    run.pools["main"].is_slow = True
    numbers = [run.store.add("box", domain=f"d{n}.example") for n in range(3)]
    async with run:
        await run.run(29)
        assert run.store.breakers == {}
        await run.run(2)
        kept = run.store.breakers["box"]
        assert (kept.state, kept.reason) == ("open", ReasonCode.DOUBT_STORM)
        late = run.store.add("box")
        await run.run(5)
        assert run.store.state(late) is PENDING
        answered.set()
        await run.run(120)
        assert states(run, [*numbers, late]) == {SENT_STATE: 4}


async def test_a_pause_holds_a_mailbox_until_it_is_resumed() -> None:
    from postroom.ports.changes import MailboxPaused  # noqa: PLC0415 - only here

    run = loop(mailbox())
    async with run:
        run.dispatcher.committed([MailboxPaused("box", is_paused=True, by="uid:0", reason="")])
        number = run.store.add("box")
        await run.run(3600, step=60)
        assert run.store.state(number) is PENDING
        assert ("waited", "box", "hold") in run.told.lines
        run.dispatcher.committed([MailboxPaused("box", is_paused=False, by="uid:0", reason="")])
        await settle()
        assert run.store.state(number) is SENT_STATE


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


async def test_bulk_never_takes_the_last_connection() -> None:
    run = loop(mailbox(concurrency=3))

    async def hang(envelope: Envelope) -> Dialogue:
        await run.clock.sleep(1000)
        return SENT

    run.pools["main"].script = lambda envelope: hang(envelope) if envelope.recipient else SENT
    bulk = [run.store.add("box", Lane.BULK) for _ in range(10)]
    async with run:
        assert states(run, bulk)[SENDING] == 2
        high = run.store.add("box", Lane.HIGH)
        await settle()
        assert run.store.state(high) is SENDING


async def test_attachment_jobs_take_at_most_half_of_the_slots() -> None:
    run = loop(mailbox("a"), mailbox("b"), slots=8)

    async def hang(envelope: Envelope) -> Dialogue:
        await run.clock.sleep(1000)
        return SENT

    run.pools["main"].script = lambda envelope: hang(envelope) if envelope.recipient else SENT
    heavy = [run.store.add(name, has_attachments=True) for name in ("a", "b") for _ in range(8)]
    plain = [run.store.add(name) for name in ("a", "b") for _ in range(2)]
    async with run:
        assert states(run, heavy)[SENDING] == 4
        assert states(run, plain)[SENDING] == 4


async def test_plain_mail_waits_behind_no_attachments_however_many_there_are() -> None:
    run = loop(mailbox(concurrency=4))
    pool = run.pools["main"]
    is_released = False

    async def hang(envelope: Envelope) -> Dialogue:
        while not is_released:
            await run.clock.sleep(10)
        return SENT

    pool.script = lambda envelope: hang(envelope) if envelope.recipient else SENT
    early = run.store.add("box", has_attachments=True)
    heavy = [run.store.add("box", has_attachments=True) for _ in range(3_000)]
    plain = run.store.add("box")
    async with run:
        await run.run(30, step=10)
        assert run.store.state(early) is SENDING
        assert run.store.state(plain) is SENDING
        is_released = True
        pool.script = lambda envelope: SENT
        while PENDING in states(run, heavy):
            before = states(run, heavy)
            await run.run(10, step=1)
            assert states(run, heavy) != before
        assert states(run, [early, *heavy, plain]) == {SENT_STATE: 3_002}


async def test_lane_shares_may_be_set_and_bulk_per_second_caps_bulk() -> None:
    run = loop(mailbox(lanes=LaneShares(bulk_per_second=0.5)))
    bulk = [run.store.add("box", Lane.BULK) for _ in range(20)]
    async with run:
        await run.run(10, step=0.5)
        assert 5 <= states(run, bulk)[SENT_STATE] <= 6


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


async def test_after_a_resume_a_storm_is_counted_anew() -> None:
    from postroom.ports.changes import MailboxPaused  # noqa: PLC0415 - only here

    run = loop(mailbox(concurrency=1))
    run.pools["main"].script = lambda envelope: refused(Stage.RCPT, 550, "5.1.1 User unknown")
    numbers = [run.store.add("box", domain=f"d{n % 10}.example") for n in range(19)]
    async with run:
        await run.run(5)
        assert states(run, numbers) == {FAILED: 19}
        run.dispatcher.committed([MailboxPaused("box", is_paused=False, by="uid:0", reason="")])
        more = [run.store.add("box", domain=f"d{n % 10}.example") for n in range(30)]
        await run.run(5)
        assert states(run, more)[FAILED] == 20
