"""The signals in Prometheus' text format, `postroom_…`: the one door to prometheus-client.

Rules: base units, `_total` for counters; labels are mailboxes, relays, priorities, states and reasons, all of them
closed lists; never an address, never a domain. Everything is read when somebody asks, nothing is kept here.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from postroom.core.alert import MEANINGS, AlertKind, AlertScope
from postroom.core.breaker import BreakerState
from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import Lane
from postroom.ops.histogram import Histogram
from postroom.ops.signals import Signals


@dataclass(frozen=True, slots=True)
class Named:
    """A metric: its name without `postroom_` and `_total`, its labels, and what it says."""

    name: str
    labels: tuple[str, ...]
    says: str


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """What the store's writer has done since the start, and how many units wait for it now."""

    commits: int
    units: int
    busy: timedelta
    waiting: int


@dataclass(frozen=True, slots=True)
class Picture:
    """What others know of this moment. `connections` are open ones by relay, `slowed` counts by relay and scope."""

    at: Instant
    version: str
    in_flight: int
    slots: int
    depth: Mapping[tuple[str, Lane, DeliveryState], int]
    oldest_due: Mapping[tuple[str, Lane], Instant]
    connections: Mapping[str, int]
    slowed: Mapping[tuple[str, str], int]
    alerts: Mapping[tuple[AlertKind, AlertScope], int]
    store: StoreFigures


BUILD: Final = Named("build_info", ("version",), "Which version runs; always 1.")
DEPTH: Final = Named("queue_depth", ("mailbox", "priority", "state"), "Deliveries by state.")
OLDEST: Final = Named(
    "oldest_due_age_seconds",
    ("mailbox", "priority"),
    "How long the oldest delivery that is due has been waiting.",
)
IN_FLIGHT: Final = Named("in_flight", (), "Deliveries under way.")
SLOTS: Final = Named("slots", (), "How many may be under way.")
CONNECTIONS: Final = Named("connections", ("relay",), "Open connections.")
BREAKERS: Final = Named(
    "breaker_state", ("scope", "id"), "0 = closed, 1 = half open, 2 = open: nothing goes."
)
SLOWED: Final = Named(
    "slowed",
    ("relay", "scope"),
    "How many are slowed down now: the relay itself (scope relay), domains behind it (scope domain).",
)
ALERTS: Final = Named("alerts", ("kind", "scope"), "How many alerts are raised now.")
LAG: Final = Named("loop_lag_seconds", (), "How late the event loop woke when last looked at.")
WAITING: Final = Named("store_waiting", (), "Writes that wait for the store now.")
JOBS: Final = Named("jobs_accepted", ("mailbox",), "Jobs accepted, those merged into one too.")
OUTCOMES: Final = Named(
    "deliveries",
    ("mailbox", "outcome", "reason"),
    "Deliveries that came to an end or out of an attempt, by the state they came to.",
)
DEFERRALS: Final = Named(
    "deferrals", ("mailbox", "reason"), "Attempts put off by us, which count as none."
)
DOUBTS: Final = Named(
    "doubts_judged",
    ("mailbox", "by", "reason"),
    "Deliveries in doubt that evidence or a policy settled, or that a policy left to a person.",
)
THROTTLES: Final = Named(
    "throttles", ("relay", "scope"), "How often a relay, or a domain behind it, was slowed down."
)
COMMITS: Final = Named("commits", (), "Commits of the store.")
UNITS: Final = Named("committed_units", (), "Writes in them.")
COMMIT_TIME: Final = Named("commit_seconds", (), "Time that the writer was busy.")
ATTEMPTS: Final = Named(
    "attempt_duration_seconds", ("mailbox",), "How long attempts took that reached the relay."
)
START_WAIT: Final = Named(
    "start_wait_seconds", ("priority",), "From when a delivery was due to its start."
)
SETTLE_TIME: Final = Named(
    "settle_seconds", ("priority",), "From the first attempt of a delivery to its end."
)

GAUGES: Final = (
    BUILD,
    DEPTH,
    OLDEST,
    IN_FLIGHT,
    SLOTS,
    CONNECTIONS,
    BREAKERS,
    SLOWED,
    ALERTS,
    LAG,
    WAITING,
)
COUNTERS: Final = (JOBS, OUTCOMES, DEFERRALS, DOUBTS, THROTTLES, COMMITS, UNITS, COMMIT_TIME)
HISTOGRAMS: Final = (ATTEMPTS, START_WAIT, SETTLE_TIME)

_PLACES: Final = [(kind, scope) for kind, one in MEANINGS.items() for scope in one.scopes]
_BREAKER: Final = {BreakerState.CLOSED: 0, BreakerState.HALF_OPEN: 1, BreakerState.OPEN: 2}

Sample = tuple[tuple[str, ...], float]


def metrics_text(signals: Signals, picture: Picture) -> str:
    """All metrics in text format 0.0.4."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(signals, picture))
    return generate_latest(registry).decode()


class _Collector(Collector):
    """Hands out everything once."""

    def __init__(self, signals: Signals, picture: Picture) -> None:
        self._signals = signals
        self._picture = picture

    def collect(self) -> Iterator[Metric]:
        """Every metric, also those that have nothing to say yet."""
        for named, samples in _gauges(self._signals, self._picture):
            gauge = GaugeMetricFamily(_full(named), named.says, labels=named.labels)
            for labels, value in samples:
                gauge.add_metric(labels, value)
            yield gauge
        for named, samples in _counters(self._signals, self._picture):
            counter = CounterMetricFamily(_full(named), named.says, labels=named.labels)
            for labels, value in samples:
                counter.add_metric(labels, value)
            yield counter
        for named, histograms in _histograms(self._signals):
            family = HistogramMetricFamily(_full(named), named.says, labels=named.labels)
            for label, histogram in histograms:
                family.add_metric([label], histogram.buckets(), histogram.total_s)
            yield family


def _gauges(signals: Signals, picture: Picture) -> Iterator[tuple[Named, Iterable[Sample]]]:
    yield BUILD, [((picture.version,), 1)]
    yield DEPTH, [((box, lane.word, state), n) for (box, lane, state), n in picture.depth.items()]
    yield (
        OLDEST,
        [
            ((box, lane.word), max(0, picture.at - due_at) / SECOND)
            for (box, lane), due_at in picture.oldest_due.items()
        ],
    )
    yield IN_FLIGHT, [((), picture.in_flight)]
    yield SLOTS, [((), picture.slots)]
    yield CONNECTIONS, [((relay,), count) for relay, count in picture.connections.items()]
    yield BREAKERS, [(key, _BREAKER[state]) for key, state in signals.breakers.items()]
    yield SLOWED, picture.slowed.items()
    yield ALERTS, [(place, picture.alerts.get(place, 0)) for place in _PLACES]
    yield LAG, [((), signals.loop_lag.total_seconds())]
    yield WAITING, [((), picture.store.waiting)]


def _counters(signals: Signals, picture: Picture) -> Iterator[tuple[Named, Iterable[Sample]]]:
    store = picture.store
    yield JOBS, [((mailbox,), count) for mailbox, count in signals.jobs.items()]
    yield (
        OUTCOMES,
        [
            ((ended.mailbox_id, ended.state, ended.reason_code or ""), count)
            for ended, count in signals.outcomes.items()
        ],
    )
    yield DEFERRALS, signals.deferrals.items()
    yield DOUBTS, signals.doubts.items()
    yield THROTTLES, signals.throttles.items()
    yield COMMITS, [((), store.commits)]
    yield UNITS, [((), store.units)]
    yield COMMIT_TIME, [((), store.busy.total_seconds())]


def _histograms(signals: Signals) -> Iterator[tuple[Named, Iterable[tuple[str, Histogram]]]]:
    yield ATTEMPTS, signals.attempt_time.items()
    yield START_WAIT, [(lane.word, one) for lane, one in signals.start_wait.items()]
    yield SETTLE_TIME, [(lane.word, one) for lane, one in signals.settle_time.items()]


def _full(named: Named) -> str:
    return f"postroom_{named.name}"
