"""How far something is slowed down, and how it speeds up again: pure, on hand-made moments."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroom.core.admit import GO, Wait, admit, explain
from postroom.core.gates import Reach
from postroom.core.instant import MINUTE, SECOND, Instant, Moment
from postroom.core.mailbox import DomainPace, Pace
from postroom.core.outcome import Verdict, classify
from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.core.replytable import Class, Scope
from postroom.core.slowing import FORGOTTEN, GOOD_TO_EASE, Slowing, Stream
from postroom.core.speed import SpeedMoved, speed_after
from postroom.core.world import SLOWED, STREAMS, Reservation, World
from support.decide_world import Waiting, a_world, at, moment


R = ReasonCode.DOMAIN_DEFERRED
FREE = float("inf")
PLAIN = Waiting()
OTHER = Waiting(domain="other.example")
DAY_S = 24 * 3600


def minutes(number: float) -> Moment:
    return moment(number * 60)


def throttled(scope: Scope = Scope.DOMAIN) -> Verdict:
    return Verdict(Class.TEMPORARY, scope, R, slows=scope)


def end(
    world: World,
    held: Reservation,
    verdict: Verdict | None,
    now: Moment,
    domain: str = PLAIN.domain,
) -> tuple[SpeedMoved, ...]:
    moved = speed_after(world, held, domain, verdict, now)
    world.release(held, reached_mail=True)
    return moved


def slow(world: World, starts: int = 20, now: Moment | None = None) -> None:
    """So many under way at once, and all of them throttled."""
    now = now or moment()
    for held in [world.reserve(PLAIN, now) for _ in range(starts)]:
        end(world, held, throttled(), now)


def state(world: World, domain: str = PLAIN.domain) -> Slowing:
    found = world.relay.streams[domain].slowing
    assert found is not None
    return found


def succeed(world: World, count: int, now: Moment, row: Waiting = PLAIN) -> list[SpeedMoved]:
    found = []
    for _ in range(count):
        found += end(world, world.reserve(row, now), None, now, row.domain)
    return found


# -- slower ----------------------------------------------------------------------------------------


def test_a_throttle_halves_what_was_measured() -> None:
    world = a_world()
    slow(world, 20)
    found = state(world)
    assert (found.per_minute, found.at_once, found.share) == (20, 20, 0.5)
    assert (found.rate, found.most, found.interval) == (10, 10, 6 * SECOND)
    assert (found.since_at, found.told_at, found.reason) == (at(), at(), R)


def test_all_throttles_of_one_flight_count_once() -> None:
    world = a_world()
    held = [world.reserve(PLAIN, moment()) for _ in range(8)]
    moved = [end(world, one, throttled(), moment(n)) for n, one in enumerate(held)]
    assert [len(one) for one in moved] == [1, 0, 0, 0, 0, 0, 0, 0]
    assert moved[0][0].is_throttled


def test_the_next_flight_counts_again_down_to_one_a_minute() -> None:
    world = a_world()
    slow(world, 40)
    shares = []
    for n in range(1, 9):
        held = world.reserve(PLAIN, minutes(n))
        end(world, held, throttled(), minutes(n))
        shares.append((state(world).rate, state(world).most))
    assert shares == [(10, 10), (5, 5), (2.5, 2), (1.25, 1), (1, 1), (1, 1), (1, 1), (1, 1)]
    assert state(world).interval == MINUTE
    (moved,) = end(world, world.reserve(PLAIN, minutes(9)), throttled(), minutes(9))
    assert not moved.is_throttled


@pytest.mark.parametrize(
    ("allowed", "starts", "before"),
    [
        pytest.param({}, 3, 10, id="three starts are no measure"),
        pytest.param({"pace": Pace(per_minute=6)}, 3, 6, id="less than that is allowed"),
        pytest.param({"pace": Pace(per_second=0.05)}, 3, 3, id="what was measured is more"),
        pytest.param({"pace": Pace(per_second=0.0992)}, 3, 5, id="a minute has 60 seconds"),
        pytest.param({"relay_pace": Pace(per_second=0.1)}, 3, 6, id="the relay's own pace"),
        pytest.param(
            {"domain_pace": {"example.com": DomainPace(per_second=0.1)}}, 3, 6, id="the domain's"
        ),
        pytest.param({"pace": Pace(per_minute=1)}, 1, 2, id="never below one a minute"),
    ],
)
def test_where_little_was_measured_the_settings_say_what_it_was(
    allowed: dict[str, object], starts: int, before: int
) -> None:
    world = a_world(**allowed)  # type: ignore[arg-type]
    slow(world, starts)
    assert state(world).per_minute == before


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(30, (10, 4)), (90, (5, 4)), (105, (2, 4)), (125, (0, 0)), (600, (0, 0))],
)
def test_what_is_measured_is_the_last_minute_about(seconds: int, expected: tuple[int, int]) -> None:
    stream = Stream()
    for n in range(10):
        if n >= 4:
            stream.end()
        stream.take(n)
    for _ in range(4):
        stream.end()
    assert stream.measure(seconds * SECOND) == expected


def test_a_relay_is_slowed_down_by_what_speaks_of_it_for_all_domains() -> None:
    world = a_world(concurrency=100, relay_concurrency=100)
    held = [world.reserve(row, moment()) for row in (PLAIN, OTHER) * 10]
    (moved,) = end(world, held[0], throttled(Scope.RELAY), moment())
    assert (moved.domain, moved.relay_id) == (None, "main")
    assert world.relay.total.slowing is not None
    assert world.relay.total.slowing.rate == 10
    for one in held[1:]:
        world.release(one, reached_mail=True)
    for row in (PLAIN, OTHER):
        answer = admit(row, world, moment(1))
        assert isinstance(answer, Wait)
        assert (answer.gate.name, answer.gate.reach) == ("relay_slowed", Reach.RELAY)
        assert answer.blocked.until == at(6)


# -- faster ----------------------------------------------------------------------------------------


def test_fifty_mails_taken_give_a_tenth_back() -> None:
    world = a_world()
    slow(world, 20)
    assert succeed(world, GOOD_TO_EASE - 1, minutes(1)) == []
    (moved,) = succeed(world, 1, minutes(1))
    assert state(world).rate == pytest.approx(11)
    assert not moved.is_throttled


def test_from_the_slowest_pace_the_first_fifty_count_as_well() -> None:
    world = a_world()
    for n in range(20):
        slow(world, 20, minutes(n))
    assert state(world).rate == 1
    succeed(world, GOOD_TO_EASE, minutes(30))
    assert state(world).rate == pytest.approx(1.1)


def test_it_is_over_when_all_is_given_back() -> None:
    world = a_world()
    slow(world, 20)
    moved = succeed(world, 8 * GOOD_TO_EASE, minutes(1))
    assert [one.after is None for one in moved] == [False] * 7 + [True]
    assert world.relay.streams["example.com"].slowing is None
    assert admit(PLAIN, world, minutes(1)) is GO


def test_what_was_under_way_when_it_slowed_down_says_nothing() -> None:
    world = a_world()
    before = [world.reserve(PLAIN, moment()) for _ in range(60)]
    end(world, before.pop(), throttled(), moment(1))
    for held in before:
        assert end(world, held, None, moment(2)) == ()
    assert state(world).good == 0


def test_a_throttle_begins_the_fifty_anew() -> None:
    world = a_world()
    slow(world, 20)
    succeed(world, 49, minutes(1))
    end(world, world.reserve(PLAIN, minutes(1)), throttled(), minutes(2))
    assert (state(world).good, state(world).rate) == (0, 5)
    assert succeed(world, 49, minutes(3)) == []


def test_what_is_refused_is_neither() -> None:
    world = a_world()
    slow(world, 20)
    refused = Verdict(Class.PERMANENT, Scope.RECIPIENT, ReasonCode.RECIPIENT_UNKNOWN)
    assert end(world, world.reserve(PLAIN, minutes(1)), refused, minutes(1)) == ()
    assert (state(world).good, state(world).share) == (0, 0.5)


def test_after_a_day_without_a_complaint_it_is_over() -> None:
    world = a_world()
    slow(world, 20)
    stream = world.relay.streams["example.com"]
    assert stream.slowed(moment(DAY_S - 1).mono) is not None
    assert stream.slowed(moment(DAY_S).mono) is None
    held = world.reserve(PLAIN, moment(DAY_S))
    (moved,) = end(world, held, None, moment(DAY_S))
    assert (moved.after, stream.slowing) == (None, None)


def test_a_complaint_after_a_quiet_day_is_a_first_one() -> None:
    world = a_world()
    slow(world, 20)
    slow(world, 12, moment(DAY_S))
    assert (state(world).per_minute, state(world).share) == (12, 0.5)
    assert state(world).since_at == at(DAY_S)


# -- the gates -------------------------------------------------------------------------------------


def test_a_slowed_domain_starts_one_each_interval_and_the_others_at_once() -> None:
    world = a_world(concurrency=100, relay_concurrency=100)
    slow(world, 20)
    answer = admit(PLAIN, world, moment(2))
    assert isinstance(answer, Wait)
    assert (answer.gate.name, answer.gate.reach) == ("domain_slowed", Reach.DOMAIN)
    assert answer.blocked.until == at(6)
    assert admit(OTHER, world, moment(2)) is GO
    assert isinstance(admit(PLAIN, world, moment(5.9)), Wait)
    assert admit(PLAIN, world, moment(6)) is GO
    world.reserve(PLAIN, moment(6))
    assert isinstance(admit(PLAIN, world, moment(11.9)), Wait)
    assert admit(PLAIN, world, moment(12)) is GO


def test_a_slowed_domain_has_half_as_many_under_way() -> None:
    world = a_world(concurrency=100, relay_concurrency=100)
    slow(world, 4)
    held = [world.reserve(PLAIN, minutes(1)), world.reserve(PLAIN, minutes(2))]
    answer = admit(PLAIN, world, minutes(5))
    assert isinstance(answer, Wait)
    assert (answer.gate.name, answer.blocked.until) == ("domain_slowed", None)
    world.release(held[0], reached_mail=True)
    assert admit(PLAIN, world, minutes(5)) is GO


def test_explain_says_how_slow_and_how_fast_it_was() -> None:
    world = a_world()
    slow(world, 25)
    (found,) = [one for one in explain(PLAIN, world, moment(1)) if one.gate == "domain_slowed"]
    assert found.value == "12.5 a minute, 12 at once: domain.deferred"
    assert found.threshold == "25 a minute, 25 at once"
    assert found.until == at(4.8)


def test_a_jump_of_the_wall_clock_changes_nothing() -> None:
    world = a_world()
    slow(world, 20)
    for jump in (-10 * 365 * DAY_S, 10 * 365 * DAY_S):
        moved = Moment(Instant(at(2) + jump * SECOND), moment(2).mono)
        found = [one for one in explain(PLAIN, world, moved) if one.gate == "domain_slowed"]
        assert [one.until for one in found] == [moved.at + 4 * SECOND]


def test_explain_tells_the_slower_pace_whether_there_is_room_or_not() -> None:
    world = a_world()
    slow(world, 20)
    told = "10 a minute, 10 at once: domain.deferred"
    for seconds in (1, 6):
        found = [
            one for one in explain(PLAIN, world, moment(seconds)) if one.gate == "domain_slowed"
        ]
        assert [(one.value, one.threshold) for one in found] == [(told, "20 a minute, 20 at once")]
        assert found[0].is_passed is (seconds == 6)


def test_fifty_mails_taken_give_a_tenth_back_and_not_49() -> None:
    world = a_world()
    slow(world, 20)
    assert succeed(world, 49, moment(1)) == []
    assert [moved.after and moved.after.share for moved in succeed(world, 1, moment(1))] == [
        pytest.approx(0.55)
    ]
    assert succeed(world, 49, moment(2)) == []
    assert len(succeed(world, 1, moment(2))) == 1


def test_a_mail_that_began_with_the_complaint_says_nothing_of_the_slower_pace() -> None:
    world = a_world()
    held = [world.reserve(PLAIN, moment()) for _ in range(3)]
    end(world, held[0], throttled(), moment())
    assert [end(world, one, None, moment(1)) for one in held[1:]] == [(), ()]
    assert state(world).good == 0


def test_less_than_two_a_minute_was_two_and_is_one() -> None:
    world = a_world(pace=Pace(per_minute=1))
    slow(world, 1)
    assert (state(world).per_minute, state(world).rate) == (2, 1)


# -- after a restart -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("age_s", "left_s"),
    [
        pytest.param(0, DAY_S, id="told just now"),
        pytest.param(3600, DAY_S - 3600, id="told an hour ago"),
        pytest.param(-3600, DAY_S, id="told in the future: the clock went back"),
        pytest.param(10 * DAY_S, 0, id="told long ago"),
    ],
)
def test_after_a_restart_it_is_as_slow_and_lasts_no_longer(age_s: int, left_s: int) -> None:
    slowing = Slowing(R, 20, 20, 0.5, at(-age_s), at(-age_s))
    stream = Stream()
    stream.restore(slowing, moment())
    if left_s:
        assert stream.slowed(moment(left_s - 1).mono) == slowing
        assert stream.room_from(slowing) == moment(6).mono
    assert stream.slowed(moment(left_s).mono) is None


# -- bounds ----------------------------------------------------------------------------------------


def test_so_many_domains_are_slowed_down_and_no_more() -> None:
    world = a_world()
    moved = []
    for n in range(SLOWED + 3):
        row = Waiting(domain=f"d{n}.example")
        held = world.reserve(row, moment(n))
        moved += end(world, held, throttled(), moment(n), row.domain)
    freed = [one.domain for one in moved if one.after is None]
    assert freed == ["d0.example", "d1.example", "d2.example"]
    assert len(world.relay.slow_domains(moment(SLOWED + 3).mono)) == SLOWED


def test_a_million_domains_are_not_remembered() -> None:
    world = a_world()
    slow(world)
    kept = world.reserve(OTHER, moment())
    for n in range(3 * STREAMS):
        row = Waiting(domain=f"d{n}.example")
        end(world, world.reserve(row, moment(n)), None, moment(n), row.domain)
    assert len(world.relay.streams) == STREAMS
    assert world.relay.streams["example.com"].slowing is not None
    assert world.relay.streams["other.example"] is kept.stream


def test_what_is_under_way_is_always_counted() -> None:
    world = a_world()
    rows = [Waiting(domain=f"d{n}.example") for n in range(STREAMS + 2)]
    held = [world.reserve(row, moment()) for row in rows]
    assert [world.relay.streams[row.domain].in_flight for row in rows] == [1] * len(rows)
    for one in held:
        world.release(one, reached_mail=True)
    world.reserve(PLAIN, moment(1))
    assert len(world.relay.streams) <= STREAMS + 2


# -- whatever happens ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    wait_s: float
    domain: str
    says: str
    starts: int


DOMAINS = ("one.example", "two.example")
STEPS = st.lists(
    st.builds(
        Step,
        wait_s=st.floats(0, 200),
        domain=st.sampled_from(DOMAINS),
        says=st.sampled_from(["ok", "domain", "relay", "unknown"]),
        starts=st.integers(1, 30),
    ),
    max_size=30,
)
VERDICTS = {
    "ok": None,
    "domain": throttled(),
    "relay": throttled(Scope.RELAY),
    "unknown": Verdict(Class.PERMANENT, Scope.RECIPIENT, ReasonCode.RECIPIENT_UNKNOWN),
}


def play(world: World, steps: list[Step]) -> float:
    """Go through the steps, starting only what may go; the moment at the end."""
    now_s = 0.0
    for step in steps:
        now_s += step.wait_s
        row = Waiting(domain=step.domain)
        now = moment(now_s)
        held = [world.reserve(row, now) for _ in range(step.starts) if admit(row, world, now) is GO]
        for one in held:
            end(world, one, VERDICTS[step.says], moment(now_s), step.domain)
    return now_s


@given(steps=STEPS)
def test_it_never_stands_still_and_never_goes_faster_than_it_did(steps: list[Step]) -> None:
    world = a_world(concurrency=100, relay_concurrency=100, slots=1000)
    now_s = play(world, steps)
    for stream in (world.relay.total, *world.relay.streams.values()):
        slowing = stream.slowing
        assert stream.in_flight == 0
        if slowing is not None:
            assert 1 <= slowing.rate <= slowing.per_minute
            assert 1 <= slowing.most <= max(1, slowing.at_once)
            assert slowing.interval <= MINUTE
    for domain in DOMAINS:
        assert admit(Waiting(domain=domain), world, moment(now_s + 60)) is GO


@settings(max_examples=30)
@given(steps=STEPS)
def test_it_always_recovers(steps: list[Step]) -> None:
    world = a_world(concurrency=100, relay_concurrency=100)
    now_s = play(world, steps)
    for domain in DOMAINS:
        row = Waiting(domain=domain)
        for _ in range(100):
            if not any(one.slowing for one in (world.relay.total, *world.relay.streams.values())):
                break
            now_s += 1
            succeed(world, GOOD_TO_EASE, moment(now_s), row)
    assert world.relay.total.slowing is None
    assert world.relay.slow_domains(moment(now_s).mono) == {}


@given(steps=STEPS)
def test_a_slowed_domain_holds_up_nobody_else(steps: list[Step]) -> None:
    world = a_world(concurrency=100, relay_concurrency=100)
    only = [replace(one, domain=DOMAINS[0]) for one in steps if one.says != "relay"]
    now_s = play(world, only)
    assert admit(OTHER, world, moment(now_s)) is GO


@given(steps=STEPS, per_minute=st.integers(1, 60))
def test_the_configured_pace_is_never_exceeded(steps: list[Step], per_minute: int) -> None:
    world = a_world(
        pace=Pace(per_minute=per_minute), concurrency=100, relay_concurrency=100, slots=1000
    )
    starts: list[float] = []
    now_s = 0.0
    for step in steps:
        now_s += step.wait_s
        row = Waiting(domain=step.domain)
        while len(starts) < 500 and admit(row, world, moment(now_s)) is GO:
            held = world.reserve(row, moment(now_s))
            starts.append(now_s)
            end(world, held, VERDICTS[step.says], moment(now_s), step.domain)
        assert sum(now_s - 60 < one <= now_s for one in starts) <= per_minute


def test_what_is_forgotten_is_told_in_a_day() -> None:
    assert FORGOTTEN == DAY_S * SECOND


def test_a_text_of_a_provider_leads_to_it() -> None:
    world = a_world()
    text = "451 4.7.652 The mail server [192.0.2.1] has exceeded the maximum number of connections"
    verdict = classify(Stage.MAIL, SmtpReply(451, "4.7.652", text, b""))
    (moved,) = end(world, world.reserve(PLAIN, moment()), verdict, moment())
    assert moved.domain == "example.com"
