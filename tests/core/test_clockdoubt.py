"""When the wall clock is doubted."""

import pytest

from postroom.core.clockdoubt import ClockDoubt
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
