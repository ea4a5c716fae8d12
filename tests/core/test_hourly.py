"""Counting over an hour."""

from hypothesis import given
from hypothesis import strategies as st

from postroom.core.hourly import HourlyCount


def test_what_is_an_hour_old_counts_no_more() -> None:
    hour = HourlyCount()
    hour.add(0, 5)
    hour.add(30, 2)
    hour.forget(59)
    assert hour.total == 7
    hour.forget(60)
    assert hour.total == 2


def test_what_was_counted_can_be_taken_back() -> None:
    hour = HourlyCount()
    hour.add(0, 5)
    hour.add(1, 5)
    hour.add(0, -3)
    assert hour.total == 7
    hour.forget(60)
    assert hour.total == 5


def test_a_single_one_counts() -> None:
    hour = HourlyCount()
    hour.add(0, 1)
    assert hour.total == 1


def test_what_was_counted_before_others_can_be_taken_back_whatever_the_minute() -> None:
    hour = HourlyCount()
    hour.add(1000, 5)
    hour.add(1001, 5)
    hour.add(1000, -3)
    assert hour.total == 7
    assert hour.minutes_until(1001, 5) == 59


def test_what_is_gone_can_not_be_taken_back() -> None:
    hour = HourlyCount()
    hour.add(0, 5)
    hour.forget(60)
    hour.add(0, -5)
    assert hour.total == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), max_size=60), st.integers(0, 50))
def test_the_wait_is_just_long_enough(steps: list[tuple[int, int]], room: int) -> None:
    hour, minute = HourlyCount(), 0
    for ahead, count in steps:
        minute += ahead
        hour.forget(minute)
        hour.add(minute, count)
    wait = hour.minutes_until(minute, room)
    if wait > 0:
        hour.forget(minute + wait - 1)
        assert hour.total > room
    hour.forget(minute + wait)
    assert hour.total <= room
