"""What a slow-down does to what waits: when it starts, who is left alone, and what explain says."""

from postroom.core.admit import GO, Wait, admit, explain
from postroom.core.gates import Reach
from postroom.core.instant import SECOND, Instant, Moment
from support.decide_slowing import OTHER, PLAIN, minutes, slow
from support.decide_world import a_world, at, moment


DAY_S = 24 * 3600


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
