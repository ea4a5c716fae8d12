"""How much is too much."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.instant import MINUTE, Instant, micros
from postroom.core.velocity import (
    DAY,
    MACHINE,
    PROMPT,
    PROMPT_TURNS,
    QUIET,
    TURNS,
    is_answering,
    is_too_much,
    most_of,
)


NOW = Instant(10**15)


def ago(*minutes: float) -> list[Instant]:
    return [Instant(NOW - int(one * MINUTE)) for one in minutes]


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        ([], False),
        ([0, 1, 2, 3, 4], False),
        ([0, 1, 2, 3, 4, 9.99], True),
        ([0, 1, 2, 3, 4, 10], False),
        ([60 * n for n in range(20)], False),
        ([60 * n for n in range(21)], True),
        ([72 * n for n in range(21)], False),
    ],
)
def test_a_machine_may_write_five_times_in_ten_minutes_and_twenty_a_day(
    minutes: list[float], *, expected: bool
) -> None:
    assert is_too_much(MACHINE, ago(*minutes), NOW) is expected
    assert is_too_much(MACHINE, ago(*reversed(minutes)), NOW) is expected


@pytest.mark.parametrize(
    ("seconds_apart", "turns", "expected"),
    [(30, 10, False), (30, 11, True), (359, 11, True), (360, 11, False)],
)
def test_ten_prompt_turns_within_an_hour_are_a_person_and_eleven_are_none(
    seconds_apart: int, turns: int, *, expected: bool
) -> None:
    times = ago(*(n * seconds_apart / 60 for n in range(turns)))
    assert is_too_much(PROMPT_TURNS, times, NOW) is expected


@pytest.mark.parametrize(
    ("minutes_apart", "turns", "expected"),
    [(10, 100, False), (10, 101, True), (14.39, 101, True), (14.4, 101, False)],
)
def test_a_hundred_turns_a_day_are_a_person_and_one_more_is_none(
    minutes_apart: float, turns: int, *, expected: bool
) -> None:
    times = ago(*(n * minutes_apart for n in range(turns)))
    assert is_too_much(TURNS, times, NOW) is expected


def test_one_more_than_the_largest_bound_is_remembered() -> None:
    assert [most_of(bounds) for bounds in (MACHINE, PROMPT_TURNS, TURNS)] == [21, 11, 101]


def test_prompt_is_half_a_minute_and_quiet_ten_minutes() -> None:
    assert timedelta(seconds=30) == PROMPT
    assert timedelta(minutes=10) == QUIET


@given(st.lists(st.integers(0, 2 * 24 * 60), max_size=120))
def test_no_more_need_be_remembered_than_a_bound_needs(minutes: list[int]) -> None:
    times = sorted(ago(*minutes), reverse=True)
    for bounds in (MACHINE, PROMPT_TURNS, TURNS):
        counted = any(
            sum(at > NOW - micros(one.within) for at in times) > one.most for one in bounds
        )
        assert is_too_much(bounds, times, NOW) == counted
        assert is_too_much(bounds, times[: most_of(bounds)], NOW) == counted
        assert all(one.within <= DAY for one in bounds), "nothing older is kept"


@pytest.mark.parametrize(
    ("strangers", "ours", "expected"),
    [
        (6, 6, True),
        (6, 12, True),
        (6, 13, False),
        (6, 3, True),
        (6, 2, False),
        (6, 0, False),
        (10, 4, False),
    ],
)
def test_a_domain_is_a_peer_where_about_as_much_comes_from_it_as_goes_there(
    strangers: int, ours: int, *, expected: bool
) -> None:
    assert is_answering(strangers, ours) is expected
