"""Bounds on starts over a restart and a changed clock: what may not be lost, and what may not grow."""

from hypothesis import given
from hypothesis import strategies as st

from postroom.core.instant import MINUTE, SECOND, Instant, Moment
from postroom.core.mailbox import Lane, LaneShares, Pace
from postroom.core.pace import Gcra, meter
from support.decide_world import NOON, moment, starts


SHARES = LaneShares()
DAY = 24 * 60 * MINUTE


def test_500_at_2359_means_the_next_at_2359_a_day_later() -> None:
    limited = meter(Pace(per_day=500))
    began = 23 * 60 * MINUTE + 59 * MINUTE
    for _ in range(500):
        assert starts(limited, Lane.HIGH, [began]) == [began]
    assert starts(limited, Lane.HIGH, [began + DAY - 1]) == []
    assert starts(limited, Lane.HIGH, [began + DAY]) == [began + DAY]


def test_500_at_2359_means_the_same_after_a_restart() -> None:
    midnight = Instant(NOON // DAY * DAY)
    minute = midnight // MINUTE - 1
    for up, free in (
        (midnight + 3 * MINUTE, False),
        (midnight + DAY - MINUTE - 1, False),
        (midnight + DAY - 1, True),
    ):
        limited = meter(Pace(per_day=500))
        now = Moment(Instant(up), 42)
        limited.restore(Lane.HIGH, minute, 500, now)
        bound = limited.cap(Lane.HIGH, SHARES, now.mono)
        assert bound is not None
        assert (bound.from_mono <= now.mono) is free
        if not free:
            assert now.when(bound.from_mono) == midnight + DAY - 1


@given(st.lists(st.integers(0, 2 * DAY // MINUTE), min_size=1, max_size=30), st.integers(1, 5))
def test_a_restart_never_lets_more_than_per_day_into_any_24_hours(
    minutes: list[int], limit: int
) -> None:
    """Starts before and after the restart, at the worst moment of their minute."""
    limited = meter(Pace(per_day=limit))
    taken = starts(limited, Lane.HIGH, [minute * MINUTE + 30 * SECOND for minute in minutes])
    up = Moment(Instant(max(minutes) * MINUTE + 40 * SECOND), 7)
    again = meter(Pace(per_day=limit))
    for begun in taken:
        again.restore(Lane.HIGH, begun // MINUTE, 1, up)
    later = [up.at + hour * 30 * MINUTE for hour in range(100)]
    more = starts(again, Lane.HIGH, [7 + moment - up.at for moment in later])
    everything = taken + [begun - 7 + up.at for begun in more]
    for begun in everything:
        assert sum(begun <= other < begun + DAY for other in everything) <= limit


def test_a_bucket_from_the_future_is_read_as_now() -> None:
    limited = meter(Pace(per_day=1))
    now = moment()
    limited.restore(Lane.HIGH, now.at // MINUTE + 10_000, 1, now)
    bound = limited.cap(Lane.HIGH, SHARES, now.mono)
    assert bound is not None
    assert bound.from_mono == now.mono + DAY


def test_a_stored_rate_goes_on_after_a_restart_but_never_beyond_its_own_maximum() -> None:
    now = moment()
    for stored, expected in (
        (now.at + SECOND, SECOND),
        (now.at + DAY, 2 * SECOND),
        (now.at - DAY, 0),
    ):
        limited = Gcra(SECOND, 2)
        limited.restore(Instant(stored), now)
        assert max(now.mono, limited.tat) == now.mono + expected
