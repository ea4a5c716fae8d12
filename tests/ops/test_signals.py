"""The three signals, as numbers and as Prometheus reads them."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from postroom.core.admit import Wait
from postroom.core.breaker import CLOSED, Breaker, BreakerState
from postroom.core.delivery import DeliveryState
from postroom.core.gates import GATES, Blocked
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.slowing import Slowing
from postroom.core.speed import SpeedMoved
from postroom.ops.histogram import Histogram
from postroom.ops.inwardsignals import InwardSignals
from postroom.ops.logwords import Scope
from postroom.ops.metricnames import COUNTERS, GAUGES, HISTOGRAMS
from postroom.ops.metrics import Picture, families, text_of
from postroom.ops.signals import Signals
from postroom.ports.changes import JobChanged, StateMoved
from postroom.ports.looping import WaitingRow
from support.figures import stats_at
from support.ops_deliveries import NOW, SENT, STARTED, refused, unanswered


S = DeliveryState
R = ReasonCode

(PACE,) = (gate for gate in GATES if gate.name == "mailbox_pace")
STATS = stats_at(
    Instant(NOW + 10 * SECOND),
    in_flight=3,
    depth={("support", Lane.HIGH, S.PENDING): 7},
    oldest_due={("support", Lane.HIGH): NOW, ("support", Lane.BULK): Instant(NOW + 99 * SECOND)},
)
PICTURE = Picture("0.1.0", STATS, {("main", "relay"): 0, ("main", "domain"): 2})


def _moved(
    before: S | None, after: S | None, reason: R | None = None, count: int = 1
) -> StateMoved:
    return StateMoved("support", Lane.HIGH, before, after, reason, count)


def _samples(signals: Signals) -> dict[tuple[str, frozenset[str]], float]:
    """Every sample by its name and labels."""
    return {
        (sample.name, frozenset(f"{name}={value}" for name, value in sample.labels.items())): (
            sample.value
        )
        for family in text_string_to_metric_families(
            text_of(families(signals, InwardSignals(), PICTURE))
        )
        for sample in family.samples
    }


def _busy() -> Signals:
    signals = Signals()
    signals.accepted("support")
    row = WaitingRow(
        number=1,
        mailbox_id="support",
        lane=Lane.HIGH,
        domain="example.com",
        due_at=NOW,
        state=S.PENDING,
        not_after=None,
        has_attachments=False,
        is_suspect=False,
    )
    signals.started(row, Instant(NOW + 2 * SECOND))
    signals.started(row, Instant(NOW - 2 * SECOND))
    signals.finished(STARTED, SENT, S.SENT, timedelta(seconds=0.2))
    outage = unanswered(S.RETRY_SCHEDULED, R.RELAY_UNREACHABLE, is_deferral=True)
    signals.finished(STARTED, outage, S.RETRY_SCHEDULED, timedelta(seconds=30))
    retry = refused(451, "4.7.1 later", S.RETRY_SCHEDULED, R.GREYLISTED)
    signals.finished(STARTED, retry, S.RETRY_SCHEDULED, timedelta(seconds=1))
    signals.committed(
        [
            _moved(None, S.PENDING, count=9),
            _moved(S.PENDING, S.SENDING),
            _moved(S.SENDING, S.SENT),
            _moved(S.SENDING, S.SENT),
            _moved(S.SENDING, S.RETRY_SCHEDULED, R.GREYLISTED),
            _moved(S.PENDING, S.FAILED, R.EXPIRED, count=2),
            _moved(S.FAILED, S.PENDING),
            _moved(S.SENT, None, count=100),
            JobChanged(1),
        ]
    )
    signals.breaker_stands(Scope.RELAY, "main", Breaker(BreakerState.OPEN))
    signals.breaker_stands(Scope.MAILBOX, "support", CLOSED)
    signals.waited("support", Wait(PACE, Blocked(7, 60, None)))
    signals.loop_lagged(timedelta(seconds=0.007))
    signals.loop_lagged(timedelta(seconds=0.003))
    return signals


def test_the_worst_of_the_loop_is_kept() -> None:
    assert _busy().loop_lag_max == timedelta(seconds=0.007)


def test_outcomes_are_counted_by_mailbox_and_word() -> None:
    assert _busy().words() == {
        ("support", "sent"): 2,
        ("support", "greylisted"): 1,
        ("support", "expired"): 2,
    }


@pytest.mark.parametrize(
    ("sample", "value"),
    [
        ("postroom_build_info{version=0.1.0}", 1),
        ("postroom_queue_depth{mailbox=support,priority=high,state=pending}", 7),
        ("postroom_oldest_due_age_seconds{mailbox=support,priority=high}", 10),
        ("postroom_oldest_due_age_seconds{mailbox=support,priority=bulk}", 0),
        ("postroom_in_flight{}", 3),
        ("postroom_slots{}", 200),
        ("postroom_connections{relay=main}", 2),
        ("postroom_breaker_state{scope=relay,id=main}", 2),
        ("postroom_breaker_state{scope=mailbox,id=support}", 0),
        ("postroom_loop_lag_seconds{}", 0.003),
        ("postroom_loop_lag_max_seconds{}", 0.003),
        ("postroom_store_waiting{}", 1),
        ("postroom_store_wal_bytes{}", 4_096),
        ("postroom_disk_free_bytes{}", 1 << 30),
        ("postroom_disk_kept_bytes{}", 1 << 28),
        ("postroom_disk_free_files{}", 90_000),
        ("postroom_disk_kept_files{}", 1_000),
        ("postroom_events_waiting{consumer=agents}", 5),
        ("postroom_events_oldest_unleased_age_seconds{consumer=agents}", 90),
        ("postroom_leases{consumer=agents}", 1),
        ("postroom_events_unclaimed{}", 4),
        ("postroom_events_oldest_unclaimed_age_seconds{}", 10),
        ("postroom_mails_waiting{}", 2),
        ("postroom_mails_oldest_waiting_age_seconds{}", 7),
        ("postroom_listener_sessions{}", 1),
        ("postroom_waits_total{mailbox=support,gate=mailbox_pace}", 1),
        ("postroom_jobs_accepted_total{mailbox=support}", 1),
        ("postroom_deliveries_total{mailbox=support,outcome=sent,reason=}", 2),
        ("postroom_deliveries_total{mailbox=support,outcome=retry_scheduled,reason=greylisted}", 1),
        ("postroom_deliveries_total{mailbox=support,outcome=failed,reason=expired}", 2),
        ("postroom_deferrals_total{mailbox=support,reason=relay.unreachable}", 1),
        ("postroom_commits_total{}", 5),
        ("postroom_committed_units_total{}", 50),
        ("postroom_commit_seconds_total{}", 0.5),
        ("postroom_attempt_duration_seconds_count{mailbox=support}", 2),
        ("postroom_attempt_duration_seconds_bucket{le=0.25,mailbox=support}", 1),
        ("postroom_attempt_duration_seconds_sum{mailbox=support}", 1.2),
        ("postroom_start_wait_seconds_count{priority=high}", 2),
        ("postroom_start_wait_seconds_sum{priority=high}", 2),
        ("postroom_start_wait_seconds_count{priority=bulk}", 0),
        ("postroom_settle_seconds_sum{priority=high}", 3),
        ("postroom_settle_seconds_count{priority=high}", 1),
    ],
)
def test_prometheus_reads(sample: str, value: float) -> None:
    name, _, labels = sample[:-1].partition("{")
    wanted = (name, frozenset(filter(None, labels.split(","))))
    assert _samples(_busy())[wanted] == pytest.approx(value)


def test_a_daemon_that_did_nothing_yet_already_has_every_metric() -> None:
    text = text_of(families(Signals(), InwardSignals(), PICTURE))
    for named in (*GAUGES, *COUNTERS, *HISTOGRAMS):
        assert f"# HELP postroom_{named.name}" in text


def test_no_metric_has_two_samples_with_the_same_labels() -> None:
    text = text_of(families(_busy(), InwardSignals(), PICTURE))
    names = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(names) == len(set(names))
    assert "example.com" not in text


@given(st.lists(st.floats(0, 1e9)))
def test_every_measure_is_in_exactly_one_bucket(measures: list[float]) -> None:
    histogram = Histogram((0.1, 1, 10))
    for measure in measures:
        histogram.add(measure)
    buckets = dict(histogram.buckets())
    assert buckets["+Inf"] == len(measures)
    assert buckets["1"] == sum(measure <= 1 for measure in measures)
    assert histogram.total_s == pytest.approx(sum(measures))


def test_slow_downs_are_counted_by_relay_and_scope() -> None:
    signals = Signals()
    half = Slowing(R.RATE_LIMITED, 25, 4, 0.5, NOW, NOW)
    more = replace(half, share=0.55)
    for domain in (None, "a.example", "b.example"):
        signals.speed_moved(SpeedMoved("main", domain, None, half))
        signals.speed_moved(SpeedMoved("main", domain, half, more))
        signals.speed_moved(SpeedMoved("main", domain, more, None))
    found = _samples(signals)
    assert found["postroom_throttles_total", frozenset({"relay=main", "scope=relay"})] == 1
    assert found["postroom_throttles_total", frozenset({"relay=main", "scope=domain"})] == 2
    assert found["postroom_slowed", frozenset({"relay=main", "scope=domain"})] == 2
