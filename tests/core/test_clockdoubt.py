"""When the wall clock is doubted."""

import pytest

from postroom.core.clockdoubt import ClockDoubt, find_doubtful
from postroom.core.instant import SECOND, Instant, Moment


HOUR = 3600 * SECOND
START = Moment(Instant(10**15), 5 * HOUR)


def later(mono: int, jump: int = 0) -> Moment:
    return Moment(Instant(START.at + mono + jump), START.mono + mono)


@pytest.mark.parametrize(
    ("newest", "now", "is_doubted"),
    [
        (None, later(HOUR), False),
        (START.at, later(HOUR, HOUR), False),
        (START.at, later(HOUR, HOUR + 1), True),
        (START.at, later(HOUR, -HOUR - 1), True),
        (START.at, later(HOUR, 10 * 365 * 24 * HOUR), True),
        (Instant(START.at - 7 * 24 * HOUR), later(0), False),
        (Instant(START.at - 7 * 24 * HOUR - 1), later(0), True),
        (Instant(START.at + 8 * 24 * HOUR), later(0), True),
        (Instant(START.at - 8 * 24 * HOUR), later(24 * HOUR), False),
        (START.at, later(24 * HOUR, 5 * HOUR), False),
    ],
    ids=[
        "empty store",
        "an hour",
        "more than an hour",
        "back",
        "ten years",
        "off for a week",
        "off for longer",
        "store from the future",
        "believed after a day",
        "a jump too",
    ],
)
def test_the_clock_is_doubted(newest: Instant | None, now: Moment, *, is_doubted: bool) -> None:
    assert ClockDoubt(START, newest).is_doubted(now) is is_doubted


def test_after_a_day_the_next_jump_is_doubted_again() -> None:
    doubt = ClockDoubt(START, None)
    assert not doubt.is_doubted(later(24 * HOUR, 5 * HOUR))
    assert not doubt.is_doubted(later(25 * HOUR, 5 * HOUR))
    assert doubt.is_doubted(later(25 * HOUR, 7 * HOUR))


def test_a_doubted_clock_is_believed_to_have_gone_on_from_where_it_was() -> None:
    doubt = ClockDoubt(START, None)
    assert doubt.believed_at(START) is None
    jumped = Moment(Instant(START.at + 50 * HOUR), START.mono + HOUR)
    assert doubt.believed_at(jumped) == START.at + HOUR
    fresh = ClockDoubt(START, Instant(START.at - 24 * HOUR))
    assert fresh.believed_at(jumped) == START.at + HOUR
    odd = ClockDoubt(START, Instant(START.at - 30 * 24 * HOUR))
    later = Moment(Instant(START.at + HOUR), START.mono + HOUR)
    assert odd.believed_at(later) == START.at - 30 * 24 * HOUR + HOUR
    day = Moment(Instant(START.at + 24 * HOUR), START.mono + 24 * HOUR)
    assert odd.believed_at(day) is None


NOW, BELIEVED = Instant(100), Instant(50)


@pytest.mark.parametrize(
    ("planned_since", "due_at", "not_after", "believed_at", "found"),
    [
        (10, 60, None, BELIEVED, 60),
        (10, 50, None, BELIEVED, None),
        (50, 100, None, BELIEVED, 100),
        (51, 60, None, BELIEVED, None),
        (None, 60, None, BELIEVED, None),
        (10, 101, None, BELIEVED, None),
        (10, 60, None, None, None),
        (None, 10, 60, BELIEVED, 61),
        (None, 10, 50, BELIEVED, 51),
        (None, 10, 49, BELIEVED, None),
        (None, 10, 100, BELIEVED, None),
        (10, 60, 55, BELIEVED, 60),
    ],
    ids=[
        "a send time between both",
        "one that is there by both",
        "one that is there just now",
        "accepted by the new clock",
        "a retry",
        "one that is there by neither",
        "no doubt",
        "an end between both",
        "an end at this moment",
        "over by both",
        "over by neither",
        "both: the send time comes first",
    ],
)
def test_only_what_both_clocks_say_is_so(
    planned_since: int | None,
    due_at: int,
    not_after: int | None,
    believed_at: Instant | None,
    found: int | None,
) -> None:
    given = [None if one is None else Instant(one) for one in (planned_since, not_after)]
    assert find_doubtful(given[0], Instant(due_at), given[1], NOW, believed_at) == found
