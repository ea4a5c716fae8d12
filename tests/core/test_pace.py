"""Bounds on starts: GCRA, rolling windows, and shares of lanes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.instant import MINUTE, SECOND
from postroom.core.mailbox import Lane, LaneShares, Pace
from postroom.core.pace import Gcra, gcra, meter
from support.decide_world import moment, starts


SHARES = LaneShares()


def test_no_pace_bounds_nothing() -> None:
    free = meter(Pace())
    free.take(Lane.BULK, 1)
    free.give_back(Lane.BULK, 1)
    free.restore(Lane.BULK, 1, 1, moment())
    assert free.pace(Lane.BULK, SHARES, 2) is None
    assert free.cap(Lane.BULK, SHARES, 2) is None
    assert gcra(None) is None


def test_a_burst_goes_at_once_and_then_one_each_interval() -> None:
    limited = meter(Pace(per_second=2, burst=3))
    tries = [tick * SECOND // 10 for tick in range(31)]
    assert starts(limited, Lane.HIGH, tries) == [
        tick * SECOND // 10 for tick in (0, 1, 2, 5, 10, 15, 20, 25, 30)
    ]


def test_what_is_used_up_is_said_of_every_bound_that_there_is() -> None:
    limited = meter(Pace(per_second=1, burst=2, per_minute=4, per_day=9))
    for mono, lane in enumerate((Lane.BULK, Lane.HIGH, Lane.STANDARD)):
        limited.take(lane, mono)
    said = {name: (one.used, one.allowed) for name, one in limited.bounds(SHARES, 3).items()}
    assert said == {"second": (3, 2), "minute": (3, 4), "day": (3, 9)}
    later = limited.bounds(SHARES, MINUTE + 3)
    assert {name: one.used for name, one in later.items()} == {"second": 0, "minute": 0, "day": 3}
    assert meter(Pace()).bounds(SHARES, 0) == {}


def test_what_is_left_of_a_burst_is_said() -> None:
    limited = Gcra(SECOND, 3)
    limited.take(0)
    limited.take(0)
    bound = limited.bound(0)
    assert (bound.used, bound.allowed, bound.from_mono) == (2, 3, 0)
    limited.take(0)
    assert limited.bound(SECOND // 2).from_mono == SECOND
    assert limited.bound(10 * SECOND).used == 0


@given(
    st.floats(0.01, 50),
    st.integers(1, 20),
    st.lists(st.integers(0, 60 * SECOND), max_size=80),
)
def test_no_span_holds_more_than_burst_and_rate_times_time(
    rate: float, burst: int, tries: list[int]
) -> None:
    taken = starts(meter(Pace(per_second=rate, burst=burst)), Lane.HIGH, tries)
    for first, begun in enumerate(taken):
        for last in range(first, len(taken)):
            assert last - first + 1 <= burst + rate * (taken[last] - begun) / SECOND + 1e-6


@given(
    st.integers(1, 8),
    st.lists(
        st.tuples(st.integers(0, 5 * MINUTE), st.sampled_from(Lane), st.booleans()), max_size=60
    ),
)
def test_no_minute_holds_more_than_per_minute(
    limit: int, tries: list[tuple[int, Lane, bool]]
) -> None:
    limited = meter(Pace(per_minute=limit))
    kept: list[int] = []
    for mono, lane, is_given_back in sorted(tries):
        taken = starts(limited, lane, [mono])
        if taken and is_given_back:
            limited.give_back(lane, mono)
        else:
            kept += taken
    for begun in kept:
        assert sum(begun <= other < begun + MINUTE for other in kept) <= limit


@given(
    st.sampled_from(Lane),
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 3 * MINUTE), st.sampled_from(Lane)), max_size=40),
)
def test_the_earliest_time_that_is_told_is_one_at_which_it_may_start(
    lane: Lane, limit: int, tries: list[tuple[int, Lane]]
) -> None:
    limited = meter(Pace(per_minute=limit, per_second=1))
    now = 0
    for mono, other in sorted(tries):
        starts(limited, other, [mono])
        now = mono
    bound = limited.pace(lane, SHARES, now)
    assert bound is not None
    if bound.from_mono > now:
        just_before = limited.pace(lane, SHARES, bound.from_mono - 1)
        assert just_before is not None
        assert just_before.from_mono == bound.from_mono
    then = limited.pace(lane, SHARES, bound.from_mono)
    assert then is not None
    assert then.from_mono == bound.from_mono


@pytest.mark.parametrize(
    ("limit", "reserve_high", "standard", "bulk"),
    [
        pytest.param(10, 0.1, 9, 8, id="a tenth of ten is one, for high alone"),
        pytest.param(19, 0.1, 18, 16, id="the reserve is rounded down, bulk's part up"),
        pytest.param(3, 0.1, 3, 3, id="a small cap has no reserve"),
        pytest.param(50, 0.58, 21, 21, id="decimals are meant as they are written"),
        pytest.param(1, 0.1, 1, 1, id="a cap of one is for anyone"),
        pytest.param(10, 1.0, 1, 1, id="every share is at least one"),
        pytest.param(10, 0.0, 10, 8, id="no reserve"),
        pytest.param(10, 0.5, 5, 5, id="bulk is not in the reserve either"),
    ],
)
def test_each_lane_has_its_part_of_a_day(
    limit: int, reserve_high: float, standard: int, bulk: int
) -> None:
    shares = LaneShares(reserve_high=reserve_high)
    for lane, expected in ((Lane.HIGH, limit), (Lane.STANDARD, standard), (Lane.BULK, bulk)):
        limited = meter(Pace(per_day=limit))
        assert len(starts(limited, lane, list(range(60)), shares)) == expected


def test_standard_and_bulk_together_leave_the_reserve_to_high() -> None:
    limited = meter(Pace(per_day=10))
    assert len(starts(limited, Lane.BULK, list(range(20)))) == 8
    assert len(starts(limited, Lane.STANDARD, list(range(20, 40)))) == 1
    assert len(starts(limited, Lane.HIGH, list(range(40, 60)))) == 1


def test_a_start_that_never_reached_mail_is_given_back() -> None:
    limited = meter(Pace(per_minute=1, per_day=1))
    limited.take(Lane.HIGH, 100)
    limited.give_back(Lane.HIGH, 100)
    assert starts(limited, Lane.HIGH, [101]) == [101]
    assert starts(limited, Lane.HIGH, [102]) == []


def test_a_start_leaves_a_minute_after_it_and_not_with_those_a_tenth_of_a_second_later() -> None:
    limited = meter(Pace(per_minute=2))
    for mono in (0, SECOND // 10):
        limited.take(Lane.HIGH, mono)
    bound = limited.pace(Lane.HIGH, SHARES, SECOND)
    assert bound is not None
    assert (bound.used, bound.allowed, bound.from_mono) == (2, 2, MINUTE)


def test_starts_that_are_kept_together_leave_with_the_last_of_them() -> None:
    limited = meter(Pace(per_minute=2))
    for mono in (0, SECOND // 20):
        limited.take(Lane.HIGH, mono)
    bound = limited.pace(Lane.HIGH, SHARES, SECOND)
    assert bound is not None
    assert bound.from_mono == MINUTE + SECOND // 20


def test_what_left_the_window_is_not_told_as_used() -> None:
    limited = meter(Pace(per_minute=2))
    limited.take(Lane.HIGH, 0)
    for mono, used in ((MINUTE - 1, 1), (MINUTE, 0)):
        bound = limited.pace(Lane.HIGH, SHARES, mono)
        assert bound is not None
        assert bound.used == used


def test_a_lane_waits_for_its_own_starts_and_not_for_those_of_others() -> None:
    shares = LaneShares(reserve_high=0.5)
    limited = meter(Pace(per_minute=4))
    limited.take(Lane.HIGH, 0)
    for mono in (10 * SECOND, 20 * SECOND):
        limited.take(Lane.STANDARD, mono)
    bound = limited.pace(Lane.STANDARD, shares, 30 * SECOND)
    assert bound is not None
    assert (bound.used, bound.allowed, bound.from_mono) == (2, 2, 70 * SECOND)


def test_what_leaves_the_window_was_its_own_lanes() -> None:
    limited = meter(Pace(per_minute=5))
    limited.take(Lane.HIGH, 5)
    limited.take(Lane.BULK, 5)
    again = [len(starts(limited, Lane.BULK, [MINUTE + 5])) for _ in range(5)]
    assert again == [1, 1, 1, 1, 0]


def test_of_two_paces_the_one_with_room_later_counts() -> None:
    limited = meter(Pace(per_second=1, per_minute=2))
    limited.take(Lane.HIGH, 0)
    bound = limited.pace(Lane.HIGH, SHARES, 0)
    assert bound is not None
    assert bound.from_mono == SECOND
    limited.take(Lane.HIGH, SECOND)
    bound = limited.pace(Lane.HIGH, SHARES, SECOND)
    assert bound is not None
    assert bound.from_mono == MINUTE


def test_lanes_are_counted_apart_within_one_moment() -> None:
    limited = meter(Pace(per_minute=10))
    for lane in (*Lane, *Lane):
        limited.take(lane, 5)
    limited.give_back(Lane.HIGH, 5)
    used = [limited.pace(lane, SHARES, 5) for lane in Lane]
    assert [bound and bound.used for bound in used] == [5, 5, 5]
    assert [len(starts(limited, Lane.BULK, [6])) for _ in range(6)] == [1, 1, 1, 1, 1, 0]


def test_giving_back_what_left_the_window_changes_nothing() -> None:
    limited = meter(Pace(per_minute=1))
    limited.take(Lane.STANDARD, 0)
    assert starts(limited, Lane.HIGH, [2 * MINUTE]) == [2 * MINUTE]
    limited.give_back(Lane.STANDARD, 0)
    limited.give_back(Lane.HIGH, 2 * MINUTE)
    limited.give_back(Lane.HIGH, 2 * MINUTE)
    limited.give_back(Lane.BULK, 3 * MINUTE)
    assert len(starts(limited, Lane.HIGH, [2 * MINUTE + 1, 2 * MINUTE + 2])) == 1
