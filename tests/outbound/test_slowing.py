"""The loop slows down for who says that we are too fast, and for nobody else: traces of starts on a fake clock."""

from itertools import pairwise

from postroom.core.delivery import DeliveryState
from postroom.core.mailbox import Lane, Pace, RetryPolicy
from postroom.core.reply import Stage
from postroom.ports.changes import MailboxPaused
from postroom.ports.relay import Dialogue, Envelope
from support.clock import START, settle
from support.loop import SENT_STATE, Loop, loop, mailbox, relay
from support.loop_parts import SENT, refused


SLOW, QUICK = "slow.example", "quick.example"
CONNECTIONS = "The mail server [192.0.2.1] has exceeded the maximum number of connections"
NO_JITTER = RetryPolicy(jitter=0)


class Watched:
    """Remembers when each domain is asked for a mail, in seconds since the start; throttles while told so."""

    def __init__(self, run: Loop, text: str = CONNECTIONS, stage: Stage = Stage.RCPT) -> None:
        self._run = run
        self._text = text
        self._stage = stage
        self.throttled: set[str] = set()
        self.starts: dict[str, list[int]] = {SLOW: [], QUICK: []}
        run.pools["main"].script = self

    def __call__(self, envelope: Envelope) -> Dialogue:
        domain = envelope.recipient.rpartition("@")[2]
        if not domain:
            return SENT
        self.starts[domain].append((self._run.clock.now() - START) // 1_000_000)
        if domain in self.throttled:
            return refused(self._stage, 451, self._text)
        return SENT

    def forget(self) -> None:
        self.starts = {SLOW: [], QUICK: []}


async def test_the_trace_of_a_throttled_domain_beside_one_that_is_not() -> None:
    run = loop(mailbox(concurrency=1000, retry=NO_JITTER))
    watched = Watched(run)
    watched.throttled = {SLOW}
    first = [run.store.add("box", domain=SLOW) for _ in range(20)]
    async with run:
        assert watched.starts[SLOW] == [0] * 20  # one flight, throttled as one
        watched.throttled = set()
        for _ in range(4):
            run.store.add("box", domain=SLOW)
        for n in range(120):
            if n % 10 == 0:
                run.store.add("box", domain=QUICK)
                await settle()
            await run.run(1)
        # 60 s of rest, then 10 a minute instead of 20
        assert watched.starts[SLOW] == [0] * 20 + [60, 66, 72, 78, 84, 90, 96, 102, 108, 114, 120]
        assert watched.starts[QUICK] == list(range(0, 120, 10))
        await run.run(120)
        assert {run.store.state(number) for number in first} == {SENT_STATE}


async def test_a_second_throttle_halves_it_again_and_fifty_successes_give_a_tenth_back() -> None:
    run = loop(mailbox(concurrency=1000, retry=RetryPolicy(jitter=0)))
    watched = Watched(run)
    watched.throttled = {SLOW}
    for _ in range(20):
        run.store.add("box", domain=SLOW)
    async with run:
        await run.run(59)
        watched.forget()
        await run.run(1)
        assert watched.starts[SLOW] == [60]  # throttled: the domain rests again, at 5 a minute
        watched.throttled = set()
        for _ in range(100):
            run.store.add("box", domain=SLOW)
        watched.forget()
        await run.run(60 + 49 * 12)
        assert watched.starts[SLOW] == list(range(120, 120 + 50 * 12, 12))
        watched.forget()
        await run.run(33)
        # 5.5 a minute: one every 10.9 s
        assert watched.starts[SLOW] == [719, 730, 741]
    shares = [line[2] for line in run.told.lines if line[0] == "speed"]
    assert shares == [0.5, 0.25, 0.25 * 1.1]


async def test_a_relay_that_says_so_is_slowed_down_for_all_its_mailboxes_and_no_other_is() -> None:
    boxes = mailbox("a", concurrency=1000), mailbox("b"), mailbox("c", relay_id="other")
    run = loop(*boxes, relays=(relay(concurrency=8), relay("other")))
    watched = Watched(run, "Error: too many connections", Stage.MAIL)
    watched.throttled = {SLOW}
    for _ in range(8):
        run.store.add("a", domain=SLOW)
    async with run:
        watched.throttled = set()
        for _ in range(10):
            run.store.add("b", domain=QUICK)
        others = [run.store.add("c", domain=QUICK) for _ in range(10)]
        await run.run(30)
        assert {run.store.state(number) for number in others} == {SENT_STATE}
        # faults in a row open the breaker as well; then probes go at the slow pace, one each 12 s
        watched.forget()
        await run.run(120)
        times = sorted(watched.starts[SLOW] + watched.starts[QUICK])
        assert len(times) >= 8
        assert all(after - before >= 12 for before, after in pairwise(times))
        assert watched.starts[QUICK]
        assert watched.starts[SLOW]


async def test_it_is_never_faster_than_the_mailbox_may_be() -> None:
    run = loop(mailbox(pace=Pace(per_minute=3), retry=NO_JITTER))
    watched = Watched(run)
    watched.throttled = {SLOW}
    for _ in range(6):
        run.store.add("box", domain=SLOW)
    async with run:
        watched.throttled = set()
        await run.run(300)
        for begin in range(300):
            assert sum(begin <= at < begin + 60 for at in watched.starts[SLOW]) <= 3
        assert len(watched.starts[SLOW]) >= 6


async def test_when_it_is_over_it_goes_as_before_and_that_is_told() -> None:
    run = loop(mailbox(concurrency=1000, retry=NO_JITTER))
    watched = Watched(run)
    watched.throttled = {SLOW}
    for _ in range(20):
        run.store.add("box", domain=SLOW)
    async with run:
        watched.throttled = set()
        for _ in range(8 * 50 - 20):
            run.store.add("box", domain=SLOW)
        await run.run(60 + 28 * 60, step=2)
        assert ("speed", SLOW, None) not in run.told.lines
        await run.run(12 * 60, step=2)
        assert ("speed", SLOW, None) in run.told.lines
        watched.forget()
        for _ in range(30):
            run.store.add("box", domain=SLOW)
        await settle()
        assert len(watched.starts[SLOW]) == 30


async def test_a_throttle_is_an_attempt_and_neither_an_end_nor_for_ever() -> None:
    run = loop(mailbox(retry=NO_JITTER))
    watched = Watched(run)
    watched.throttled = {SLOW}
    number = run.store.add("box", domain=SLOW)
    async with run:
        row = run.store.rows[number]
        assert (row.attempts, row.series_attempts) == (1, 1)
        assert row.waiting.state is DeliveryState.RETRY_SCHEDULED
        await run.run(24 * 3600, step=60)
        assert row.waiting.state is DeliveryState.RETRY_SCHEDULED
        watched.throttled = set()
        await run.run(2 * 3600, step=60)
        assert row.waiting.state is SENT_STATE


async def test_what_a_throttled_relay_calls_permanent_stays_queued() -> None:
    run = loop(mailbox(retry=NO_JITTER))
    pool = run.pools["main"]
    pool.script = lambda envelope: (
        refused(Stage.RCPT, 550, "5.7.1 Rate limit exceeded") if envelope.recipient else SENT
    )
    number = run.store.add("box")
    async with run:
        await run.run(24 * 3600, step=60)
        row = run.store.rows[number]
        assert row.waiting.state is DeliveryState.RETRY_SCHEDULED
        assert row.series_attempts == 0
        pool.script = lambda envelope: SENT
        await run.run(3600, step=60)
        assert row.waiting.state is SENT_STATE


async def test_behind_thousands_of_rows_of_a_slowed_domain_the_others_go_at_once() -> None:
    run = loop(mailbox(concurrency=1000, retry=NO_JITTER))
    watched = Watched(run)
    watched.throttled = {SLOW}
    run.store.add("box", domain=SLOW)
    async with run:
        await run.run(60)  # the domain's rest is over, its pace is not
        for _ in range(3000):
            run.store.add("box", domain=SLOW)
        quick = [run.store.add("box", lane, domain=QUICK) for lane in Lane for _ in range(30)]
        await settle(100)
        assert {run.store.state(number) for number in quick} == {SENT_STATE}
        assert len(watched.starts[SLOW]) <= 2
        await run.run(60)
        assert len(watched.starts[SLOW]) <= 7


async def test_mailboxes_of_a_slowed_relay_take_turns() -> None:
    run = loop(mailbox("a", concurrency=1000), mailbox("b", concurrency=1000))
    watched = Watched(run, "5.7.1 slow down", Stage.DOT)
    watched.throttled = {SLOW}
    run.store.add("a", domain=SLOW)
    async with run:
        watched.throttled = set()
        run.dispatcher.committed([MailboxPaused("a", is_paused=False, by="uid:0", reason="")])
        first = [run.store.add("a", domain=SLOW) for _ in range(50)]
        second = [run.store.add("b", domain=QUICK) for _ in range(50)]
        await run.run(240)
        shares = [sum(run.store.state(n) is SENT_STATE for n in box) for box in (first, second)]
        assert sum(shares) in {19, 20}
        assert abs(shares[0] - shares[1]) <= 1


async def test_a_slowed_domain_keeps_its_own_queue_until_it_is_over() -> None:
    run = loop(mailbox(retry=NO_JITTER))
    watched = Watched(run)
    watched.throttled = {SLOW}
    run.store.add("box", domain=SLOW)
    async with run:
        watched.throttled = set()
        run.store.add("box", domain=SLOW)
        await run.run(120)
        line = run.dispatcher._lines._lines["box"]
        run.store.add("box", domain=QUICK)
        await settle()
        assert SLOW in {feed.domain for feed in line.feeds}
        line.world.relay.streams[SLOW].slowing = None
        run.store.add("box", domain=QUICK)
        await settle()
        assert SLOW not in {feed.domain for feed in line.feeds}
