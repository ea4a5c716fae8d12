"""What stops a mailbox, a relay or a domain in the delivery loop, and what sets it going again."""

import asyncio

from postroom.core.delivery import DeliveryState
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.reply import Stage
from postroom.ports.errors import RelayFault
from postroom.ports.relay import Dialogue, Envelope
from support.clock import settle
from support.loop import FAILED, PENDING, RETRY, SENT_STATE, Loop, loop, mailbox, states
from support.loop_parts import SENT, refused


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
