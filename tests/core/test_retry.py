"""Waits between attempts: the report scenario's own numbers, bounds, stated delays, and the end of a series."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import RetryPolicy
from postroom.core.outcome import Verdict
from postroom.core.reason import ReasonCode
from postroom.core.replytable import Class, Scope
from postroom.core.retry import GivenUp, next_attempt
from support.decide_world import at, seconds


REPORT = RetryPolicy(first=seconds(300), factor=2, jitter=0, max_attempts=5)
BUSY = Verdict(Class.TEMPORARY, Scope.RECIPIENT, ReasonCode.RECIPIENT_DEFERRED)


def delayed(number: float, *, is_stated: bool) -> Verdict:
    return Verdict(BUSY.class_, BUSY.scope, BUSY.reason, seconds(number), is_stated=is_stated)


def waits(
    policy: RetryPolicy, verdict: Verdict = BUSY, jitter: float = 0.5
) -> tuple[list[float], GivenUp]:
    """Each attempt fails at once: the waits, in seconds, and why it ended."""
    now, found = at(), []
    for attempts in range(1, 1_000):
        due_at = next_attempt(policy, attempts, at(), now, jitter, verdict)
        if isinstance(due_at, GivenUp):
            return found, due_at
        found.append((due_at - now) / SECOND)
        now = due_at
    raise AssertionError


def test_five_attempts_with_waits_of_5_10_20_and_40_minutes() -> None:
    assert waits(REPORT) == ([300, 600, 1200, 2400], GivenUp.MAX_ATTEMPTS)


def test_the_defaults_double_from_a_minute_to_an_hour() -> None:
    found, why = waits(RetryPolicy())
    assert found[:8] == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert (len(found), why) == (49, GivenUp.MAX_ATTEMPTS)


def test_a_lifetime_ends_it_before_the_ceiling() -> None:
    found, why = waits(RetryPolicy(lifetime=seconds(500)))
    assert (found, why) == ([60, 120, 240], GivenUp.LIFETIME)


def test_the_last_moment_of_a_lifetime_is_still_of_it() -> None:
    policy = RetryPolicy(first=seconds(60), jitter=0, lifetime=seconds(60))
    assert next_attempt(policy, 1, at(), at(), 0.5, BUSY) == at(60)
    late = next_attempt(policy, 1, at(), Instant(at() + 1), 0.5, BUSY)
    assert late is GivenUp.LIFETIME


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        pytest.param(delayed(900, is_stated=True), 900, id="stated, longer than ours"),
        pytest.param(delayed(60, is_stated=True), 60, id="stated, shorter than ours"),
        pytest.param(delayed(3600, is_stated=True), 3600, id="stated, beyond the cap"),
        pytest.param(delayed(600, is_stated=False), 600, id="usual, longer than ours"),
        pytest.param(delayed(60, is_stated=False), 300, id="usual, shorter than ours"),
        pytest.param(delayed(3600, is_stated=False), 1200, id="usual, up to the cap"),
    ],
)
def test_a_stated_delay_is_obeyed_and_a_usual_one_kept_in_bounds(
    verdict: Verdict, expected: float
) -> None:
    policy = RetryPolicy(first=seconds(300), cap=seconds(1200), jitter=0)
    assert next_attempt(policy, 1, at(), at(), 0.5, verdict) == at(expected)


def test_patience_with_a_full_mailbox_ends_before_the_lifetime() -> None:
    full = Verdict(
        BUSY.class_, BUSY.scope, ReasonCode.RECIPIENT_MAILBOX_FULL, patience=timedelta(hours=24)
    )
    found, why = waits(RetryPolicy(jitter=0), full)
    assert why is GivenUp.LIFETIME
    assert 23 * 3600 <= sum(found) <= 24 * 3600


def test_jitter_spreads_both_ways_but_never_beyond_the_cap() -> None:
    policy = RetryPolicy(first=seconds(100), cap=seconds(200), jitter=0.1)
    first = [next_attempt(policy, 1, at(), at(), chance, BUSY) for chance in (0.0, 0.5, 1.0)]
    assert first == [at(90), at(100), at(110)]
    capped = [next_attempt(policy, 9, at(), at(), chance, BUSY) for chance in (0.0, 1.0)]
    assert capped == [at(180), at(200)]


@given(
    st.builds(
        RetryPolicy,
        first=st.integers(1, 4000).map(seconds),
        factor=st.floats(1, 10),
        cap=st.integers(1, 10_000).map(seconds),
        jitter=st.floats(0, 1),
        max_attempts=st.integers(1, 60),
        lifetime=st.integers(0, 500_000).map(seconds),
    ),
    st.floats(0, 1, exclude_max=True),
    st.one_of(
        st.just(BUSY), st.integers(60, 3600).map(lambda number: delayed(number, is_stated=True))
    ),
)
def test_waits_add_up_to_no_more_than_the_lifetime(
    policy: RetryPolicy, jitter: float, verdict: Verdict
) -> None:
    found, _ = waits(policy, verdict, jitter)
    assert sum(found) <= policy.lifetime.total_seconds() + 1e-3
    assert len(found) < policy.max_attempts


def test_a_huge_number_of_attempts_is_no_overflow() -> None:
    policy = RetryPolicy(factor=10, max_attempts=10_000, jitter=0)
    assert next_attempt(policy, 5_000, at(), at(), 0.5, BUSY) == at(3600)
