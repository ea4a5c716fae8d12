"""Instants: written in one form, read in every form of RFC 3339, and nothing else is one."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.instant import (
    SECOND,
    Instant,
    Moment,
    format_instant,
    later,
    micros,
    parse_instant,
)


SEVEN = 1_796_022_000 * SECOND  # 2026-11-30T07:00:00Z
LATEST = 253_402_300_799 * SECOND + 999_999  # the last microsecond of the year 9999


@pytest.mark.parametrize(
    ("text", "micros_since_1970"),
    [
        ("2026-11-30T07:00:00Z", SEVEN),
        ("2026-11-30t07:00:00z", SEVEN),
        ("2026-11-30 07:00:00Z", SEVEN),
        ("2026-11-30T08:00:00+01:00", SEVEN),
        ("2026-11-30T00:30:00-06:30", SEVEN),
        ("2026-11-30T07:00:00.1Z", SEVEN + 100_000),
        ("2026-11-30T07:00:00.000001Z", SEVEN + 1),
        ("2026-11-30T07:00:00.0000019Z", SEVEN + 1),
        ("2026-11-30T06:59:60Z", SEVEN),
        ("2026-11-30T06:59:60.5Z", SEVEN + 500_000),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:59:59+01:00", None),
        ("1969-12-31T23:59:59Z", None),
        ("9999-12-31T23:59:59.999999Z", LATEST),
        ("9999-12-31T23:59:60Z", None),
        ("9999-12-31T23:59:59-00:01", None),
        ("9999-12-31T23:59:59.999999-23:59", None),
        ("2026-11-30T07:00:00", None),
        ("2026-11-30T07:00:00Z ", None),
        ("2026-11-30T07:00:00Zx", None),
        ("2026-11-30T07:00:00.Z", None),
        ("2026-11-31T07:00:00Z", None),
        ("2026-11-30T24:00:00Z", None),
        ("2026-11-30T07:00:61Z", None),
        ("2026-11-30T07:00:00+25:00", None),
        ("٢٠٢٦-11-30T07:00:00Z", None),
        ("1796022000", None),
        ("", None),
    ],
)
def test_an_instant_is_read_or_is_none(text: str, micros_since_1970: int | None) -> None:
    assert parse_instant(text) == micros_since_1970


def test_an_instant_is_written_in_utc_with_microseconds() -> None:
    assert format_instant(Instant(SEVEN + 5)) == "2026-11-30T07:00:00.000005Z"
    assert format_instant(Instant(0)) == "1970-01-01T00:00:00.000000Z"


@given(st.integers(0, LATEST))
def test_what_is_written_is_read(at: int) -> None:
    assert parse_instant(format_instant(Instant(at))) == at


@pytest.mark.parametrize(
    ("at", "told"),
    [
        (1 << 62, "9999-12-31T23:59:59.999999Z"),
        (-(1 << 62), "1970-01-01T00:00:00.000000Z"),
        (-1, "1970-01-01T00:00:00.000000Z"),
    ],
)
def test_an_instant_of_a_damaged_disk_is_written_as_the_nearest_there_is(
    at: int, told: str
) -> None:
    assert format_instant(Instant(at)) == told


def test_durations_are_whole_microseconds() -> None:
    assert micros(timedelta(seconds=1.5)) == 1_500_000
    assert later(Instant(10), timedelta(microseconds=-3)) == 7


def test_a_moment_of_the_monotonic_clock_has_its_instant() -> None:
    assert Moment(Instant(1_000), 50).when(70) == 1_020
