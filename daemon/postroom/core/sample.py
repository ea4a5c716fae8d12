"""What is measured once a minute for alerts: counts since the daemon started, and figures of now. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from postroom.core.alert import AlertScope, Cause
from postroom.core.instant import Moment
from postroom.core.mailbox import Lane


@dataclass(frozen=True, slots=True)
class Spread:
    """How many measures fell into each bucket: up to each bound, in seconds, and one beyond them all."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """How many there were."""
        return sum(self.counts)

    def since(self, before: "Spread | None") -> "Spread":
        """What came after `before`; all of it where there is none."""
        if before is None:
            return self
        counts = (now - then for now, then in zip(self.counts, before.counts, strict=True))
        return Spread(self.bounds, tuple(counts))

    def median(self) -> float:
        """The middle, guessed within its bucket as Prometheus does; 0 without a measure, the last bound beyond it."""
        half, passed = self.total / 2, 0
        edges = pairwise((0.0, *self.bounds))
        for (low, high), count in zip(edges, self.counts, strict=False):
            if count and passed + count >= half:
                return low + (high - low) * (half - passed) / count
            passed += count
        return self.bounds[-1] if passed < self.total else 0.0


@dataclass(frozen=True, slots=True)
class Counted:
    """What a mailbox has done since the daemon started; retries and failures by what they are a sign of."""

    sent: int
    retries: Mapping[Cause, int]
    failed: Mapping[Cause, int]
    attempts: Spread


@dataclass(frozen=True, slots=True)
class MailboxSample:
    """A mailbox now. `oldest_due_s`: so long its oldest due mail waits; `day_share`: of its `per_day`, None = no bound."""

    relay_id: str
    waiting: int
    uncertain: int
    oldest_due_s: float
    counted: Counted
    is_paused: bool = False
    blocked: Cause | None = None
    day_share: float | None = None

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to judge."""
        counted = self.counted
        has_counted = counted.sent or counted.retries or counted.failed or counted.attempts.total
        return not (self.waiting or self.uncertain or has_counted or self.day_share)


@dataclass(frozen=True, slots=True)
class RelaySample:
    """A relay now; `down`: why its breaker is not closed; `is_slowed`: it, or a domain behind it, goes slower."""

    down: Cause | None = None
    is_slowed: bool = False
    day_share: float | None = None


@dataclass(frozen=True, slots=True)
class ConsumerSample:
    """A consumer now: so long its oldest event waits unleased, and whether it holds a lease."""

    oldest_s: float
    is_leasing: bool


@dataclass(frozen=True, slots=True)
class DiskSample:
    """The disk of the state now, in bytes; `kept` has to stay free. The same of files; 0 are kept where none are counted."""

    free: int
    kept: int
    files_free: int = 0
    files_kept: int = 0


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a mailbox ended within the last hour in one domain or workflow."""

    scope: AlertScope
    name: str
    mailbox_id: str
    failed: int
    ended: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class Sample:
    """All of it. `starts` and `settling` are waits before a start, and times from the first try to the end."""

    now: Moment
    mailboxes: Mapping[str, MailboxSample] = field(default_factory=dict)
    relays: Mapping[str, RelaySample] = field(default_factory=dict)
    starts: Mapping[Lane, Spread] = field(default_factory=dict)
    settling: Mapping[Lane, Spread] = field(default_factory=dict)
    clusters: tuple[Cluster, ...] = ()
    consumers: Mapping[str, ConsumerSample] = field(default_factory=dict)
    disk: DiskSample | None = None
    is_clock_doubted: bool = False
