"""The signals in Prometheus' text format, `postroom_…`: the one door to prometheus-client.

Everything is read when somebody asks, nothing is kept here. What a metric is called: `ops.metricnames`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from postroom.core.alert import MEANINGS
from postroom.core.breaker import BreakerState
from postroom.core.instant import SECOND, Instant
from postroom.ops import metricnames as named
from postroom.ops.histogram import Histogram
from postroom.ops.inwardsignals import InwardSignals
from postroom.ops.metricnames import Named
from postroom.ops.signals import Signals
from postroom.ports.figures import Stats


@dataclass(frozen=True, slots=True)
class Picture:
    """What others know of this moment. `slowed` counts by relay and scope."""

    version: str
    stats: Stats
    slowed: Mapping[tuple[str, str], int]


_PLACES: Final = [(kind, scope) for kind, one in MEANINGS.items() for scope in one.scopes]
_BREAKER: Final = {BreakerState.CLOSED: 0, BreakerState.HALF_OPEN: 1, BreakerState.OPEN: 2}

Sample = tuple[tuple[str, ...], float]


def families(signals: Signals, inward: InwardSignals, picture: Picture) -> Iterator[Metric]:
    """Every metric as it stands when it is its turn, also those that have nothing to say yet."""
    stats = picture.stats
    gauges = (*_gauges(signals, picture), *_waiting(stats), *_room(stats))
    for one, samples in gauges:
        gauge = GaugeMetricFamily(_full(one), one.says, labels=one.labels)
        for labels, value in samples:
            gauge.add_metric(labels, value)
        yield gauge
    for one, samples in (*_counters(signals, stats), *_inward_counters(inward)):
        counter = CounterMetricFamily(_full(one), one.says, labels=one.labels)
        for labels, value in samples:
            counter.add_metric(labels, value)
        yield counter
    for one, histograms in _histograms(signals):
        family = HistogramMetricFamily(_full(one), one.says, labels=one.labels)
        for label, histogram in histograms:
            family.add_metric([label], histogram.buckets(), histogram.total_s)
        yield family


def text_of(metrics: Iterable[Metric]) -> str:
    """All of these in text format 0.0.4; nothing that changes is read any more, so that any thread can do it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(tuple(metrics)))
    return generate_latest(registry).decode()


class _Collected(Collector):
    """Hands them out."""

    def __init__(self, metrics: tuple[Metric, ...]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        """All of them."""
        return self._metrics


def _gauges(signals: Signals, picture: Picture) -> Iterator[tuple[Named, Iterable[Sample]]]:
    stats = picture.stats
    yield named.BUILD, [((picture.version,), 1)]
    depth = stats.depth.items()
    yield named.DEPTH, [((box, lane.word, state), n) for (box, lane, state), n in depth]
    oldest = stats.oldest_due.items()
    yield named.OLDEST, [((box, lane.word), _age(stats, at)) for (box, lane), at in oldest]
    yield named.IN_FLIGHT, [((), stats.in_flight)]
    yield named.SLOTS, [((), stats.slots)]
    yield named.CONNECTIONS, [((relay,), count) for relay, count in stats.connections.items()]
    yield named.BREAKERS, [(key, _BREAKER[state]) for key, state in signals.breakers.items()]
    yield named.SLOWED, picture.slowed.items()
    alerts = Counter(one.alert.key.place for one in stats.alerts)
    yield named.ALERTS, [(place, alerts[place]) for place in _PLACES]
    yield named.LAG, [((), signals.loop_lag.total_seconds())]
    yield named.LAG_MAX, [((), stats.loop_lag_max.total_seconds())]


def _waiting(stats: Stats) -> Iterator[tuple[Named, Iterable[Sample]]]:
    """What waits to be read, and for whom."""
    mine = [(one.consumer, one) for one in stats.consumers if one.consumer is not None]
    yield named.EVENTS_WAITING, [((name,), one.events) for name, one in mine]
    yield named.EVENTS_OLDEST, [((name,), _age(stats, one.oldest_at)) for name, one in mine]
    yield named.LEASES, [((name,), one.leased) for name, one in mine]
    nobodys = [one for one in stats.consumers if one.consumer is None]
    yield named.UNCLAIMED, [((), sum(one.events for one in nobodys))]
    ages = [_age(stats, one.oldest_at) for one in nobodys]
    yield named.UNCLAIMED_OLDEST, [((), max(ages, default=0.0))]
    yield named.MAILS_WAITING, [((), stats.inbound.waiting)]
    yield named.MAILS_OLDEST, [((), _age(stats, stats.inbound.oldest_at))]
    yield named.SESSIONS, [((), stats.inbound.sessions or 0)]


def _room(stats: Stats) -> Iterator[tuple[Named, Iterable[Sample]]]:
    """The store; what of the disk can not be told is left out."""
    store = stats.store
    yield named.WAITING, [((), store.waiting)]
    yield named.WAL, [((), store.wal_bytes)]
    room = (
        (named.DISK_FREE, store.disk_free),
        (named.DISK_KEPT, store.disk_kept),
        (named.FILES_FREE, store.files_free),
        (named.FILES_KEPT, store.files_kept),
    )
    for one, value in room:
        yield one, [] if value is None else [((), value)]


def _counters(signals: Signals, stats: Stats) -> Iterator[tuple[Named, Iterable[Sample]]]:
    store = stats.store
    yield named.JOBS, _by_one(signals.jobs)
    yield (
        named.OUTCOMES,
        [
            ((ended.mailbox_id, ended.state, ended.reason_code or ""), count)
            for ended, count in signals.outcomes.items()
        ],
    )
    yield named.DEFERRALS, signals.deferrals.items()
    yield named.WAITS, signals.waits.items()
    yield named.DOUBTS, signals.doubts.items()
    yield named.THROTTLES, signals.throttles.items()
    yield named.COMMITS, [((), store.commits)]
    yield named.UNITS, [((), store.units)]
    yield named.COMMIT_TIME, [((), store.busy.total_seconds())]


def _inward_counters(inward: InwardSignals) -> Iterator[tuple[Named, Iterable[Sample]]]:
    yield named.RECEIVED, [((), inward.received)]
    yield named.REFUSED, _by_one(inward.refusals)
    yield named.READ, inward.reads.items()
    yield named.DOUBLED, _by_one(inward.doubled)
    yield named.SET_ASIDE, [((), inward.set_aside)]
    yield named.BOUNCES, inward.bounces.items()
    yield named.EVENTS, inward.events.items()
    yield named.EXPIRIES, _by_one(inward.expiries)
    yield named.EVENTS_DEAD, _by_one(inward.dead)


def _histograms(signals: Signals) -> Iterator[tuple[Named, Iterable[tuple[str, Histogram]]]]:
    yield named.ATTEMPTS, signals.attempt_time.items()
    yield named.START_WAIT, [(lane.word, one) for lane, one in signals.start_wait.items()]
    yield named.SETTLE_TIME, [(lane.word, one) for lane, one in signals.settle_time.items()]


def _by_one(counts: Mapping[str, int]) -> list[Sample]:
    return [((label,), count) for label, count in counts.items()]


def _age(stats: Stats, since: Instant | None) -> float:
    return 0.0 if since is None else max(0, stats.at - since) / SECOND


def _full(one: Named) -> str:
    return f"postroom_{one.name}"
