"""What is the matter now: one sample a minute judged against what was measured before (rules: `core.alertrules`). Pure.

A judgement is of this minute alone; that it has to last before anybody is told is `core.alertstate`'s. What is raised
already is judged by what it was raised for: a queue until it is shorter than it was then, a drift for a day against the
threshold of then, for by and by what is slow becomes its own baseline.

Known limits: waits and times are known by priority, not by mailbox; bulk's waits are not judged, for it waits by design.
A restart forgets what was measured: a drift can be told again two hours after it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from postroom.core.alert import AlertKey, AlertKind, AlertScope, Cause, Raised
from postroom.core.alertrules import (
    ATTEMPTS_FLOOR_S,
    BASELINE_LEAST,
    CAP_SHARE,
    CLUSTER_SHARE,
    DRIFT,
    DRIFT_LEAST,
    DUE_S,
    EVENTS_S,
    FAILURES,
    FAILURES_SHARE,
    GROWS_BY,
    GROWS_SHARE,
    RETRIES,
    ROOM,
    SETTLING_FLOOR_S,
    STARTS_FLOOR_S,
)
from postroom.core.instant import MINUTE, Instant
from postroom.core.mailbox import Lane
from postroom.core.past import Drift, MailboxPast
from postroom.core.sample import Cluster, DiskSample, MailboxSample, RelaySample, Sample


_DAY: Final = 24 * 60 * MINUTE
_HALF_HOUR: Final = 30
_HOUR: Final = 60
_NARROW: Final = 3  # domains and workflows of one mailbox that are named at once
_MOST_OF: Final = 0.5

_K = AlertKind
_S = AlertScope
Standing = Mapping[AlertKey, Raised]


@dataclass(frozen=True, slots=True)
class Finding:
    """This minute's figure has passed its threshold."""

    key: AlertKey
    figure: float
    threshold: float
    cause: Cause


class Trends:
    """Remembers what was measured, and judges."""

    def __init__(self) -> None:
        self._mailboxes: defaultdict[str, MailboxPast] = defaultdict(MailboxPast)
        self._attempts: defaultdict[str, Drift] = defaultdict(Drift)
        self._starts: defaultdict[Lane, Drift] = defaultdict(Drift)
        self._settling: defaultdict[Lane, Drift] = defaultdict(Drift)

    def judge(self, sample: Sample, standing: Standing) -> tuple[Finding, ...]:
        """What is the matter, by this sample and those before it; `standing` is what is raised."""
        self._remember(sample)
        slow = tuple(self._slow_attempts(sample, standing))
        found = [*slow]
        is_slow = {finding.key.name for finding in slow}
        for mailbox_id, box in sample.mailboxes.items():
            relay = sample.relays.get(box.relay_id, RelaySample())
            found += self._of_mailbox(
                mailbox_id, box, _Way(box, relay, mailbox_id in is_slow), standing
            )
        found += self._slow_lanes(sample, standing, is_any_slow=bool(slow))
        found += self._clustering(sample)
        found += _of_relays(sample)
        found += _of_daemon(sample)
        return tuple(found)

    def _remember(self, sample: Sample) -> None:
        for mailbox_id, box in sample.mailboxes.items():
            self._mailboxes[mailbox_id].add(box.waiting, box.counted)
            self._attempts[mailbox_id].add(box.counted.attempts)
        for gone in set(self._mailboxes) - set(sample.mailboxes):
            del self._mailboxes[gone], self._attempts[gone]
        for lane, spread in sample.starts.items():
            self._starts[lane].add(spread)
        for lane, spread in sample.settling.items():
            self._settling[lane].add(spread)

    def _of_mailbox(
        self, mailbox_id: str, box: MailboxSample, way: "_Way", standing: Standing
    ) -> Iterator[Finding]:
        past = self._mailboxes[mailbox_id]
        retries = past.retries(_HALF_HOUR)
        total, sent = sum(retries.values()), past.sent(_HALF_HOUR)
        is_failing = total >= RETRIES and total > sent
        if is_failing:
            key = AlertKey(_K.RETRIES_GROWING, _S.MAILBOX, mailbox_id, mailbox_id)
            yield Finding(key, total, max(RETRIES, sent), _main(retries))
        why = way.why or (_main(retries) if is_failing else Cause.LOAD)
        key = AlertKey(_K.DEPTH_RISING, _S.MAILBOX, mailbox_id, mailbox_id)
        threshold = _depth_threshold(past, box, standing.get(key))
        if threshold is not None:
            yield Finding(key, box.waiting, threshold, why)
        if box.uncertain:
            key = AlertKey(_K.DOUBT_WAITING, _S.MAILBOX, mailbox_id, mailbox_id)
            yield Finding(key, box.uncertain, 1, Cause.NO_ANSWER)
        if box.day_share is not None and box.day_share >= CAP_SHARE:
            key = AlertKey(_K.CAP_NEAR, _S.MAILBOX, mailbox_id, mailbox_id)
            yield Finding(key, box.day_share, CAP_SHARE, Cause.LOAD)
        if box.blocked is not None and box.waiting:
            key = AlertKey(_K.MAILBOX_BLOCKED, _S.MAILBOX, mailbox_id, mailbox_id)
            yield Finding(key, box.waiting, 1, box.blocked)

    def _slow_attempts(self, sample: Sample, standing: Standing) -> Iterator[Finding]:
        for mailbox_id in sample.mailboxes:
            key = AlertKey(_K.ATTEMPTS_DRIFTING, _S.MAILBOX, mailbox_id, mailbox_id)
            drifted = _drifted(
                self._attempts[mailbox_id], ATTEMPTS_FLOOR_S, key, standing, sample.now.at
            )
            if drifted is not None:
                yield Finding(key, *drifted, Cause.SLOW_RELAY)

    def _slow_lanes(
        self, sample: Sample, standing: Standing, *, is_any_slow: bool
    ) -> Iterator[Finding]:
        for lane in sample.starts:
            key = AlertKey(_K.STARTS_DRIFTING, _S.PRIORITY, lane.word)
            drifted = _drifted(self._starts[lane], STARTS_FLOOR_S, key, standing, sample.now.at)
            if drifted is not None and lane is not Lane.BULK:
                yield Finding(key, *drifted, _why_late(sample, Cause.LOAD, is_any_slow=is_any_slow))
        for lane in sample.settling:
            key = AlertKey(_K.SETTLING_DRIFTING, _S.PRIORITY, lane.word)
            drifted = _drifted(self._settling[lane], SETTLING_FLOOR_S, key, standing, sample.now.at)
            if drifted is not None:
                retries: Counter[Cause] = Counter()
                for past in self._mailboxes.values():
                    retries.update(past.retries(_HALF_HOUR))
                yield Finding(
                    key, *drifted, _why_late(sample, _main(retries), is_any_slow=is_any_slow)
                )

    def _clustering(self, sample: Sample) -> Iterator[Finding]:
        narrow: defaultdict[str, list[Cluster]] = defaultdict(list)
        for cluster in sample.clusters:
            if cluster.failed >= FAILURES and cluster.failed >= CLUSTER_SHARE * cluster.ended:
                narrow[cluster.mailbox_id].append(cluster)
        for mailbox_id, past in self._mailboxes.items():
            failed = past.failed(_HOUR)
            total = sum(failed.values())
            threshold = max(FAILURES, FAILURES_SHARE * (total + past.sent(_HOUR)))
            is_whole = total >= threshold
            if is_whole:
                key = AlertKey(_K.FAILURES_CLUSTERING, _S.MAILBOX, mailbox_id, mailbox_id)
                yield Finding(key, total, threshold, _main(failed))
            least = _MOST_OF * total if is_whole else 0
            parts = sorted(narrow[mailbox_id], key=lambda one: (-one.failed, one.scope, one.name))
            for one in [part for part in parts if part.failed >= least][:_NARROW]:
                key = AlertKey(_K.FAILURES_CLUSTERING, one.scope, one.name, mailbox_id)
                yield Finding(key, one.failed, max(FAILURES, CLUSTER_SHARE * one.ended), one.cause)


@dataclass(frozen=True, slots=True)
class _Way:
    """What stands in a mailbox's way out."""

    box: MailboxSample
    relay: RelaySample
    is_slow: bool

    @property
    def why(self) -> Cause | None:
        """The first that explains a queue; None = nothing does."""
        if self.box.is_paused:
            return Cause.PAUSED
        if self.box.blocked is not None or self.relay.down is not None:
            return self.box.blocked or self.relay.down
        if self.relay.is_slowed:
            return Cause.THROTTLED
        return Cause.SLOW_RELAY if self.is_slow else None


def _depth_threshold(past: MailboxPast, box: MailboxSample, raised: Raised | None) -> float | None:
    """What the depth has passed; None = nothing is the matter with it."""
    if box.oldest_due_s < DUE_S:
        return None
    if raised is not None:
        return raised.alert.threshold if box.waiting >= raised.alert.threshold else None
    blocks = past.blocks()
    if blocks is None or not blocks[0] < blocks[1] < blocks[2]:
        return None
    threshold = blocks[0] + max(GROWS_BY, GROWS_SHARE * blocks[0])
    return threshold if blocks[2] >= threshold else None


def _drifted(
    drift: Drift, floor_s: float, key: AlertKey, standing: Standing, at: Instant
) -> tuple[float, float] | None:
    """The figure of now and the threshold that it has passed."""
    now, raised = drift.now(), standing.get(key)
    if now.total < DRIFT_LEAST:
        return None
    baseline = drift.baseline()
    threshold: float | None = None
    if raised is not None and abs(at - raised.raised_at) < _DAY:
        threshold = raised.alert.threshold
    elif baseline is not None and baseline.total >= BASELINE_LEAST:
        threshold = max(floor_s, DRIFT * baseline.median())
    figure = now.median()
    return None if threshold is None or figure < threshold else (figure, threshold)


def _why_late(sample: Sample, otherwise: Cause, *, is_any_slow: bool) -> Cause:
    relays = sample.relays.values()
    if any(relay.down is not None for relay in relays):
        return Cause.RELAY_GONE
    if is_any_slow:
        return Cause.SLOW_RELAY
    return Cause.THROTTLED if any(relay.is_slowed for relay in relays) else otherwise


def _main(counts: Mapping[Cause, int]) -> Cause:
    """The cause with the most signs; what is unclear only where there is no other."""
    known = {cause: count for cause, count in counts.items() if cause is not Cause.UNCLEAR}
    return max(known, key=lambda cause: (known[cause], cause), default=Cause.UNCLEAR)


def _of_relays(sample: Sample) -> Iterator[Finding]:
    waiting: Counter[str] = Counter()
    for box in sample.mailboxes.values():
        waiting[box.relay_id] += box.waiting
    for relay_id, relay in sample.relays.items():
        if relay.down is not None and waiting[relay_id]:
            key = AlertKey(_K.RELAY_DOWN, _S.RELAY, relay_id)
            yield Finding(key, waiting[relay_id], 1, relay.down)
        if relay.day_share is not None and relay.day_share >= CAP_SHARE:
            key = AlertKey(_K.CAP_NEAR, _S.RELAY, relay_id)
            yield Finding(key, relay.day_share, CAP_SHARE, Cause.LOAD)


def _of_daemon(sample: Sample) -> Iterator[Finding]:
    for name, consumer in sample.consumers.items():
        if consumer.oldest_s >= EVENTS_S:
            cause = Cause.CONSUMER_SLOW if consumer.is_leasing else Cause.CONSUMER_GONE
            key = AlertKey(_K.EVENTS_WAITING, _S.CONSUMER, name)
            yield Finding(key, consumer.oldest_s, EVENTS_S, cause)
    if sample.disk is not None:
        yield from _of_disk(sample.disk)
    if sample.is_clock_doubted:
        yield Finding(AlertKey(_K.CLOCK_JUMPED, _S.DAEMON, ""), 1, 1, Cause.CLOCK)


def _of_disk(disk: DiskSample) -> Iterator[Finding]:
    key = AlertKey(_K.DISK_LOW, _S.DAEMON, "")
    if disk.free < ROOM * disk.kept:
        yield Finding(key, disk.free, ROOM * disk.kept, Cause.DISK)
    elif disk.files_free < ROOM * disk.files_kept:
        yield Finding(key, disk.files_free, ROOM * disk.files_kept, Cause.FILES)
