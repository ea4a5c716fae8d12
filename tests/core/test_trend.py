"""What one sample and those before it come to: each kind of alert by its own figures, and what stays silent."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.alert import Alert, AlertKey, AlertKind, AlertScope, Cause, Raised
from postroom.core.instant import MINUTE, Instant, Moment
from postroom.core.mailbox import Lane
from postroom.core.past import Drift, MailboxPast
from postroom.core.sample import (
    Cluster,
    ConsumerSample,
    Counted,
    DiskSample,
    MailboxSample,
    RelaySample,
    Sample,
    Spread,
)
from postroom.core.trend import Finding, Trends


K = AlertKind
BOUNDS = (0.1, 1.0, 10.0, 60.0, 1000.0)
NONE = Spread(BOUNDS, (0, 0, 0, 0, 0, 0))
COUNTED = Counted(0, {}, {}, NONE)
BOX = MailboxSample("main", 0, 0, 0.0, COUNTED)
At = Callable[[int], MailboxSample]


def sample(minute: int, box: MailboxSample = BOX, **more: Any) -> Sample:
    now = Moment(Instant(minute * MINUTE), minute * MINUTE)
    return Sample(now, **{"mailboxes": {"support": box}, "relays": {"main": RelaySample()}, **more})


def judged(samples: Iterable[Sample]) -> tuple[Finding, ...]:
    """What the last of them comes to."""
    trends = Trends()
    found: tuple[Finding, ...] = ()
    for one in samples:
        found = trends.judge(one, {})
    return found


def kinds(found: Iterable[Finding]) -> dict[str, Cause]:
    return {one.key.kind: one.cause for one in found}


def waits(at: Callable[[int], int], due_s: float = 600, **more: Any) -> At:
    """A mailbox in which so many wait, minute by minute."""
    return lambda minute: replace(BOX, waiting=at(minute), oldest_due_s=due_s, **more)


def counts(
    sent: float = 0, retries: float = 0, failed: float = 0, cause: Cause = Cause.THROTTLED
) -> At:
    """A mailbox that does so much in each minute."""

    def at(minute: int) -> MailboxSample:
        many = {cause: int(retries * minute)}, {cause: int(failed * minute)}
        return replace(BOX, counted=Counted(int(sent * minute), *many, NONE))

    return at


MAILBOXES: dict[str, tuple[At, dict[str, Cause]]] = {
    "depth that grows": (waits(lambda minute: 10 * minute), {K.DEPTH_RISING: Cause.LOAD}),
    "depth that grows while a person paused it": (
        waits(lambda minute: 10 * minute, is_paused=True),
        {K.DEPTH_RISING: Cause.PAUSED},
    ),
    "depth that grows and is not due": (waits(lambda minute: 10 * minute, due_s=299), {}),
    "depth that is high and stays": (waits(lambda minute: 5000), {}),
    "depth that is high and grows by little": (waits(lambda minute: 5000 + minute), {}),
    "depth that grows by nineteen": (waits(lambda minute: minute // 3), {}),
    "depth that falls": (waits(lambda minute: 5000 - 10 * minute), {}),
    "retries that outgrow sends": (counts(sent=1, retries=2), {K.RETRIES_GROWING: Cause.THROTTLED}),
    "retries as many as sends": (counts(sent=2, retries=2), {}),
    "a few retries and nothing sent": (counts(retries=0.6), {}),
    "failures, a fifth of all": (
        counts(sent=4, failed=1, cause=Cause.MALFORMED_JOBS),
        {K.FAILURES_CLUSTERING: Cause.MALFORMED_JOBS},
    ),
    "failures, a tenth of all": (counts(sent=9, failed=1), {}),
    "nine failures and nothing sent": (counts(failed=0.15), {}),
    "doubt": (waits(lambda minute: 0, uncertain=1), {K.DOUBT_WAITING: Cause.NO_ANSWER}),
    "nine tenths of a day": (waits(lambda minute: 0, day_share=0.9), {K.CAP_NEAR: Cause.LOAD}),
    "less of a day": (waits(lambda minute: 0, day_share=0.89), {}),
    "a breaker with mail behind it": (
        waits(lambda minute: 1, blocked=Cause.ACCOUNT),
        {K.MAILBOX_BLOCKED: Cause.ACCOUNT},
    ),
    "a breaker with nothing behind it": (waits(lambda minute: 0, blocked=Cause.ACCOUNT), {}),
}


@pytest.mark.parametrize(("at", "expected"), MAILBOXES.values(), ids=MAILBOXES)
def test_what_a_mailbox_does_in_an_hour_comes_to(at: At, expected: dict[str, Cause]) -> None:
    assert kinds(judged(sample(minute, at(minute)) for minute in range(61))) == expected


OTHERS: dict[str, tuple[dict[str, Any], dict[str, Cause]]] = {
    "a relay that is down": (
        {"relays": {"main": RelaySample(Cause.RELAY_GONE)}},
        {K.RELAY_DOWN: Cause.RELAY_GONE},
    ),
    "a relay's day": ({"relays": {"main": RelaySample(day_share=0.95)}}, {K.CAP_NEAR: Cause.LOAD}),
    "an event that waits an hour": (
        {"consumers": {"agent": ConsumerSample(3600, is_leasing=False)}},
        {K.EVENTS_WAITING: Cause.CONSUMER_GONE},
    ),
    "one that waits while others are leased": (
        {"consumers": {"agent": ConsumerSample(3600, is_leasing=True)}},
        {K.EVENTS_WAITING: Cause.CONSUMER_SLOW},
    ),
    "one that waits less": ({"consumers": {"agent": ConsumerSample(3599, is_leasing=False)}}, {}),
    "a disk that fills up": ({"disk": DiskSample(199, 100)}, {K.DISK_LOW: Cause.DISK}),
    "a disk with room": ({"disk": DiskSample(200, 100)}, {}),
    "a disk on which few files can be made": (
        {"disk": DiskSample(200, 100, 1_999, 1_000)},
        {K.DISK_LOW: Cause.FILES},
    ),
    "a disk full of files, and full": (
        {"disk": DiskSample(199, 100, 0, 1_000)},
        {K.DISK_LOW: Cause.DISK},
    ),
    "a disk with files left": ({"disk": DiskSample(200, 100, 2_000, 1_000)}, {}),
    "a disk that counts no files": ({"disk": DiskSample(200, 100, 0, 0)}, {}),
    "a clock in doubt": ({"is_clock_doubted": True}, {K.CLOCK_JUMPED: Cause.CLOCK}),
    "a domain that fails": (
        {"clusters": (Cluster(AlertScope.DOMAIN, "a.test", "support", 10, 20, Cause.UNWANTED),)},
        {K.FAILURES_CLUSTERING: Cause.UNWANTED},
    ),
    "a domain that fails now and then": (
        {"clusters": (Cluster(AlertScope.DOMAIN, "a.test", "support", 10, 21, Cause.UNWANTED),)},
        {},
    ),
    "a workflow that began to fail": (
        {"clusters": (Cluster(AlertScope.WORKFLOW, "t", "support", 9, 9, Cause.UNWANTED),)},
        {},
    ),
}


@pytest.mark.parametrize(("more", "expected"), OTHERS.values(), ids=OTHERS)
def test_what_is_seen_beside_mailboxes_comes_to(
    more: dict[str, Any], expected: dict[str, Cause]
) -> None:
    assert kinds(judged([sample(0, replace(BOX, waiting=3), **more)])) == expected


def test_where_a_whole_mailbox_fails_only_what_makes_up_half_of_it_is_named_as_well() -> None:
    clusters = tuple(
        Cluster(AlertScope.DOMAIN, f"{n}.test", "support", n, n, Cause.RECIPIENTS)
        for n in (11, 12, 40)
    )
    at = counts(failed=1)
    found = judged(sample(minute, at(minute), clusters=clusters) for minute in range(61))
    assert [one.key.name for one in found] == ["support", "40.test"]


def test_where_single_domains_fail_three_are_named() -> None:
    clusters = tuple(
        Cluster(AlertScope.DOMAIN, f"{n}.test", "support", n, n, Cause.RECIPIENTS)
        for n in range(10, 20)
    )
    found = judged([sample(0, clusters=clusters)])
    assert [one.key.name for one in found] == ["19.test", "18.test", "17.test"]


def test_a_queue_that_is_raised_stays_so_until_it_is_shorter_than_it_was_then() -> None:
    key = AlertKey(K.DEPTH_RISING, AlertScope.MAILBOX, "support", "support")
    standing = {key: Raised(Alert(key, Instant(0), 900, 300, Cause.LOAD), Instant(0), 1)}
    for waiting, expected in ((5000, True), (300, True), (299, False)):
        box = replace(BOX, waiting=waiting, oldest_due_s=400.0)
        found = Trends().judge(sample(0, box), standing)
        assert bool(kinds(found)) is expected


def spread(minute: int, usual_s: float, now_s: float, since: int, each: int = 2) -> Spread:
    """So many measures a minute: of `usual_s`, and from `since` on of `now_s`."""
    found = [0] * (len(BOUNDS) + 1)
    for seconds, minutes in ((usual_s, min(minute, since)), (now_s, max(0, minute - since))):
        bucket = sum(seconds > bound for bound in BOUNDS)
        found[bucket] += each * minutes
    return Spread(BOUNDS, tuple(found))


DRIFTS: dict[str, tuple[dict[str, float], bool]] = {
    "slow from the fifth hour on": ({"now_s": 50}, True),
    "slow for five minutes": ({"now_s": 50, "since": 305}, False),
    "as ever": ({"now_s": 0.05}, False),
    "slower, and still fast": ({"now_s": 0.5}, False),
    "slow from the first hour on": ({"now_s": 50, "since": 0}, False),
    "slow, and hardly measured": ({"now_s": 50, "each": 0}, False),
}


@pytest.mark.parametrize(("given", "expected"), DRIFTS.values(), ids=DRIFTS)
@pytest.mark.parametrize("which", ["starts", "settling", "attempts"])
def test_time_that_drifts_up_against_the_day_before(
    which: str, given: dict[str, Any], *, expected: bool
) -> None:
    given = {"usual_s": 0.05, "since": 300, **given}
    if which != "attempts" and given["now_s"] == 50:
        given["now_s"] = 99

    def at(minute: int) -> Sample:
        drawn = spread(minute, **given)
        if which == "attempts":
            return sample(minute, replace(BOX, counted=replace(COUNTED, attempts=drawn)))
        return sample(minute, **{which: {Lane.STANDARD: drawn, Lane.BULK: NONE}})

    found = kinds(judged(at(minute) for minute in range(311)))
    assert [f"{which}_drifting"] * expected == list(found)


def test_bulk_may_wait_as_long_as_it_does() -> None:
    found = judged(
        sample(minute, starts={Lane.BULK: spread(minute, 0.05, 99, 300)}) for minute in range(320)
    )
    assert found == ()


def test_a_drift_is_judged_for_a_day_by_what_it_was_raised_for_and_then_is_the_new_usual() -> None:
    key = AlertKey(K.ATTEMPTS_DRIFTING, AlertScope.MAILBOX, "support", "support")
    raised = Raised(Alert(key, Instant(0), 50, 5, Cause.SLOW_RELAY), Instant(400 * MINUTE), 1)
    trends, found = Trends(), set()
    for minute in range(400, 400 + 30 * 60):
        drawn = spread(minute, 0.05, 50, 0)
        box = replace(BOX, counted=replace(COUNTED, attempts=drawn))
        if trends.judge(sample(minute, box), {key: raised}):
            found.add(minute)
    assert found == set(range(400, 400 + 24 * 60))


@given(st.lists(st.integers(0, 50), min_size=6, max_size=6))
def test_a_median_lies_within_its_bucket_and_half_of_all_below_it(numbers: list[int]) -> None:
    found = Spread(BOUNDS, tuple(numbers))
    median = found.median()
    assert 0 <= median <= BOUNDS[-1]
    below = sum(n for n, bound in zip(numbers, BOUNDS, strict=False) if bound < median)
    at_most = sum(n for n, bound in zip(numbers, (0, *BOUNDS), strict=False) if bound < median)
    if found.total and median < BOUNDS[-1]:
        assert below <= found.total / 2 <= at_most


@given(st.lists(st.integers(0, 5), min_size=1, max_size=130))
def test_an_hour_is_what_came_within_it(each: list[int]) -> None:
    past, total = MailboxPast(), 0
    for number in each:
        total += number
        past.add(0, Counted(total, {Cause.LOAD: total}, {}, NONE))
    assert past.sent(60) == sum(each[-60:])
    assert past.retries(30) == ({Cause.LOAD: sum(each[-30:])} if sum(each[-30:]) else {})


def test_a_baseline_is_the_day_before_the_last_hour() -> None:
    drift = Drift()
    for minute in range(40 * 60):
        drift.add(Spread((1.0,), (minute, 0)))
        baseline = drift.baseline()
        if minute < 60:
            assert baseline is None
        elif baseline is not None and minute > 30 * 60:
            assert 23 * 60 < baseline.total <= 25 * 60
        assert drift.now().total == min(15, minute)
