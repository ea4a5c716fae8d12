"""When a relay or mailbox stops being tried, and when it is probed."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.breaker import (
    CLOSED,
    PROBING,
    Breaker,
    BreakerState,
    bad,
    fault,
    good,
    is_due,
    mended,
    trip,
    unclear,
)
from postroom.core.instant import Instant
from postroom.core.reason import ReasonCode
from support.decide_world import at, seconds, wait_of


CAP = timedelta(hours=1)
R = ReasonCode


def after_faults(count: int, cap: timedelta = CAP) -> Breaker:
    breaker = CLOSED
    for _ in range(count):
        breaker = fault(breaker, at(), cap)
    return breaker


def test_faults_back_off_before_they_open_it() -> None:
    waits = [wait_of(after_faults(count)) for count in range(1, 5)]
    assert waits == [0.2, 0.4, 0.8, 1.6]
    assert all(after_faults(count).is_closed for count in range(1, 5))
    assert not is_due(after_faults(1), at(0.19))
    assert is_due(after_faults(1), at(0.2))


def test_five_faults_in_a_row_open_it_for_30_seconds() -> None:
    opened = after_faults(5)
    assert opened.state is BreakerState.OPEN
    assert opened.reason is R.RELAY_UNREACHABLE
    assert (opened.opened_at, opened.faults_in_row) == (at(), 5)
    assert wait_of(opened) == 30


def test_a_shorter_cap_shortens_the_first_probe_and_the_back_off() -> None:
    assert wait_of(after_faults(5, seconds(2))) == 2
    assert wait_of(after_faults(4, seconds(1))) == 1


def test_a_good_attempt_ends_the_row_and_the_back_off() -> None:
    breaker = good(after_faults(4), at())
    assert (breaker.faults_in_row, breaker.probe_at) == (0, None)
    assert fault(breaker, at(), CAP).is_closed


def mixed(outcomes: Sequence[bool]) -> Breaker:
    breaker = CLOSED
    for is_fault in outcomes:
        breaker = fault(breaker, at(), CAP) if is_fault else good(breaker, at())
    return breaker


def test_a_relay_that_is_well_stays_as_it_is() -> None:
    well = mixed([False] * 20)
    assert good(well, at()) == well == mixed([False] * 30)


def test_half_of_the_last_twenty_open_it() -> None:
    assert mixed([True, False] * 9 + [False, True]).state is BreakerState.OPEN
    assert mixed([True, False] * 9 + [False]).is_closed
    assert mixed([True, False] * 9 + [True]).is_closed  # of 19
    assert mixed([True, False] * 9 + [False, False, True]).is_closed  # 9 of the last 20


def test_its_waits_double_up_to_15_minutes() -> None:
    breaker, now, waits = after_faults(5), 0.0, []
    for _ in range(7):
        waits.append(wait_of(breaker, now))
        now += waits[-1]
        breaker = fault(breaker, at(now), CAP)
    assert waits == [30, 60, 120, 240, 480, 900, 900]


@pytest.mark.parametrize(
    ("reason", "first", "longest"),
    [
        (R.RELAY_UNREACHABLE, 30, 900),
        (R.RELAY_STORAGE_FULL, 60, 900),
        (R.RATE_LIMITED, 60, 900),
        (R.AUTH_FAILED, 900, 3600),
        (R.QUOTA_DAILY, 3600, 14_400),
        (R.IP_BLOCKED, 900, 3600),
        (R.RELAYING_DENIED, 300, 3600),
        (R.RELAY_REFUSED, 300, 3600),
        (R.SENDER_REFUSED, 300, 3600),
        (R.SENDER_UNAUTHENTICATED, 300, 3600),
        (R.PERMANENT_STORM, 60, 900),
        (R.DOUBT_STORM, 60, 900),
    ],
)
def test_each_reason_has_its_first_wait_and_its_longest(
    reason: ReasonCode, first: int, longest: int
) -> None:
    breaker, now = trip(CLOSED, reason, at()), 0.0
    assert wait_of(breaker) == first
    for _ in range(8):
        now += wait_of(breaker, now)
        breaker = bad(breaker, at(now))
    assert wait_of(breaker, now) == longest
    assert len(PROBING) == 12


def test_three_good_probes_close_it() -> None:
    breaker = after_faults(5)
    breaker = good(breaker, at(30))
    assert breaker.state is BreakerState.HALF_OPEN
    assert is_due(breaker, at(30))
    breaker = good(breaker, at(31))
    assert not breaker.is_closed
    assert good(breaker, at(32)) == CLOSED


def test_a_bad_probe_while_half_open_opens_it_again() -> None:
    breaker = bad(good(after_faults(5), at(30)), at(31))
    assert breaker.state is BreakerState.OPEN
    assert wait_of(breaker, 31) == 60
    assert good(breaker, at(91)).good_in_row == 1


def test_what_began_before_it_opened_is_no_probe() -> None:
    opened = after_faults(5)
    assert bad(opened, at(29)) == opened
    assert unclear(opened, at(29)) == opened
    assert bad(CLOSED, at()) == CLOSED
    assert unclear(CLOSED, at()) == CLOSED


def test_a_probe_that_showed_nothing_is_made_again_after_the_same_wait() -> None:
    assert wait_of(unclear(after_faults(5), at(30)), 30) == 30


def test_a_wrong_password_is_probed_after_15_minutes_and_up_to_an_hour() -> None:
    breaker, now, waits = trip(CLOSED, R.AUTH_FAILED, at()), 0.0, []
    for _ in range(4):
        waits.append(wait_of(breaker, now))
        now += waits[-1]
        breaker = trip(breaker, R.AUTH_FAILED, at(now))
    assert waits == [900, 1800, 3600, 3600]
    assert breaker.reason is R.AUTH_FAILED


def test_another_reason_begins_anew_and_a_reason_without_probes_changes_nothing() -> None:
    breaker = trip(after_faults(5), R.AUTH_FAILED, at(1))
    assert (breaker.reason, wait_of(breaker, 1)) == (R.AUTH_FAILED, 900)
    assert trip(CLOSED, R.RECIPIENT_UNKNOWN, at()) == CLOSED


@pytest.mark.parametrize("reason", PROBING)
def test_every_reason_is_probed_by_itself(reason: ReasonCode) -> None:
    probing = PROBING[reason]
    assert timedelta(0) < probing.first <= probing.longest
    assert wait_of(trip(CLOSED, reason, at())) == probing.first.total_seconds()


def test_a_stored_probe_beyond_its_maximum_is_read_as_that() -> None:
    far = replace(after_faults(5), probe_at=Instant(at() + 10**15))
    assert wait_of(mended(far, at())) == 900
    assert mended(after_faults(5), at()) == after_faults(5)
    assert mended(CLOSED, at()) == CLOSED
    assert wait_of(mended(replace(far, reason=R.AUTH_FAILED), at())) == 3600
    assert wait_of(mended(replace(far, reason=R.CANCELLED), at())) == 900
    assert wait_of(mended(replace(far, state=BreakerState.CLOSED), at())) == 1.6


STEPS = st.sampled_from(["good", "fault", "bad", "unclear", "auth"])


@given(st.lists(st.tuples(STEPS, st.floats(0, 4000)), max_size=60))
def test_it_is_always_probed_again_within_an_hour(steps: list[tuple[str, float]]) -> None:
    breaker, now = CLOSED, 0.0
    for step, passed in steps:
        now += passed
        match step:
            case "good":
                breaker = good(breaker, at(now))
            case "fault":
                breaker = fault(breaker, at(now), CAP)
            case "bad":
                breaker = bad(breaker, at(now))
            case "unclear":
                breaker = unclear(breaker, at(now))
            case _:
                breaker = trip(breaker, R.AUTH_FAILED, at(now))
        assert breaker.probe_at is None or breaker.probe_at <= at(now + 3600)
        assert breaker.is_closed == (breaker.reason is None)
        assert 0 <= breaker.last20 < 1 << 20
