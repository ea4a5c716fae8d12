"""How the delivery loop shares out what it has: lanes, paces, caps, connections, slots."""

from collections import Counter

from postroom.core.mailbox import DomainPace, Lane, LaneShares, Pace
from postroom.ports.errors import StoreUnavailable
from postroom.ports.looping import WaitingRow
from postroom.ports.relay import Dialogue, Envelope
from support.clock import settle
from support.loop import PENDING, SENDING, SENT_STATE, loop, mailbox, relay, states
from support.loop_parts import SENT


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


async def test_while_the_store_says_no_it_is_asked_once_a_second_for_what_was_left_in_it() -> None:
    run = loop(mailbox(concurrency=4, pace=Pace(per_second=20, burst=20)))
    heavy = [run.store.add("box", has_attachments=True) for _ in range(1_500)]
    read, asked = run.store.find_waiting, []

    async def refuse(*_: object, **__: object) -> tuple[WaitingRow, ...]:
        asked.append(run.clock.now())
        message = "busy"
        raise StoreUnavailable(message)

    async with run:
        run.store.find_waiting = refuse  # type: ignore[method-assign]
        await run.run(60, step=0.25)
        assert states(run, heavy)[PENDING] > 400
        assert 5 <= len(asked) <= 60
        run.store.find_waiting = read  # type: ignore[method-assign]
        await run.run(60, step=0.25)
        assert states(run, heavy) == {SENT_STATE: 1_500}
