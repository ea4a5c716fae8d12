"""How far something is slowed down, and how it speeds up again: pure, on hand-made moments."""

import pytest

from postroom.core.admit import GO, Wait, admit
from postroom.core.gates import Reach
from postroom.core.instant import MINUTE, SECOND
from postroom.core.mailbox import DomainPace, Pace
from postroom.core.outcome import Verdict, classify
from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.core.replytable import Class, Scope
from postroom.core.slowing import GOOD_TO_EASE, Slowing, Stream
from postroom.core.world import World
from support.decide_slowing import OTHER, PLAIN, end, minutes, slow, succeed, throttled
from support.decide_world import a_world, at, moment


R = ReasonCode.DOMAIN_DEFERRED
DAY_S = 24 * 3600


def state(world: World, domain: str = PLAIN.domain) -> Slowing:
    found = world.relay.streams[domain].slowing
    assert found is not None
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


def test_a_text_of_a_provider_leads_to_it() -> None:
    world = a_world()
    text = "451 4.7.652 The mail server [192.0.2.1] has exceeded the maximum number of connections"
    verdict = classify(Stage.MAIL, SmtpReply(451, "4.7.652", text, b""))
    (moved,) = end(world, world.reserve(PLAIN, moment()), verdict, moment())
    assert moved.domain == "example.com"
