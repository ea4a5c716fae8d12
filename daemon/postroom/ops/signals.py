"""The signals of a running daemon, counted in memory since its start: outcomes, waits, attempts, breakers, the loop.

Depth is counted in `ops.depth`. All of it lives on the loop's thread, costs no question to the store, and is gone with
the process: what must be known for ever is in the store. Mailboxes, relays, lanes, states and reasons are closed
lists, and the table of clusters is bounded: nothing here grows with the mail that passes.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from postroom.core.admit import Wait
from postroom.core.breaker import Breaker, BreakerState
from postroom.core.clusters import Clusters
from postroom.core.delivery import UNSETTLED, DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.speed import SpeedMoved
from postroom.ops.histogram import ATTEMPT, QUEUE, Histogram
from postroom.ops.logwords import Scope
from postroom.ports.changes import Change, DoubtJudged, StateMoved
from postroom.ports.looping import Outcome, Started, WaitingRow


@dataclass(frozen=True, slots=True)
class Ended:
    """Whose delivery came to which state, and why: what outcomes are counted by."""

    mailbox_id: str
    state: DeliveryState
    reason_code: ReasonCode | None

    @property
    def word(self) -> str:
        """The reason, or the state where it needs none."""
        return self.reason_code or self.state


def _by_lane() -> dict[Lane, Histogram]:
    return {lane: Histogram(QUEUE) for lane in Lane}


def _by_mailbox() -> defaultdict[str, Histogram]:
    return defaultdict(lambda: Histogram(ATTEMPT))


@dataclass(slots=True)
class Signals:
    """Counters for whoever looks, and the methods that move them; an Observer of commits."""

    outcomes: Counter[Ended] = field(default_factory=Counter)
    deferrals: Counter[tuple[str, str]] = field(default_factory=Counter)
    doubts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    jobs: Counter[str] = field(default_factory=Counter)
    waits: Counter[tuple[str, str]] = field(default_factory=Counter)
    start_wait: Mapping[Lane, Histogram] = field(default_factory=_by_lane)
    settle_time: Mapping[Lane, Histogram] = field(default_factory=_by_lane)
    attempt_time: defaultdict[str, Histogram] = field(default_factory=_by_mailbox)
    breakers: dict[tuple[Scope, str], BreakerState] = field(default_factory=dict)
    throttles: Counter[tuple[str, str]] = field(default_factory=Counter)
    clusters: Clusters = field(default_factory=Clusters)
    loop_lag: timedelta = timedelta()
    loop_lag_max: timedelta = timedelta()

    def committed(self, changes: Sequence[Change]) -> None:
        """Count what came to an end, or came out of an attempt."""
        for change in changes:
            if isinstance(change, StateMoved):
                self._moved(change)
            elif isinstance(change, DoubtJudged):
                self.doubts[change.mailbox_id, change.by, change.reason_code] += 1

    def accepted(self, mailbox_id: str) -> None:
        """A job is ours."""
        self.jobs[mailbox_id] += 1

    def waited(self, mailbox_id: str, wait: Wait) -> None:
        """A gate holds back what this mailbox could send next."""
        self.waits[mailbox_id, wait.gate.name] += 1

    def started(self, row: WaitingRow, at: Instant) -> None:
        """An attempt begins; the wait counts from when it was due."""
        self.start_wait[row.lane].add(max(0, at - row.due_at) / SECOND)

    def finished(
        self, started: Started, outcome: Outcome, state: DeliveryState, took: timedelta
    ) -> None:
        """An attempt ended after `took`; the time to settle counts from the first attempt."""
        if outcome.counts_attempt:
            self.attempt_time[started.mailbox_id].add(took.total_seconds())
        if outcome.is_deferral:
            self.deferrals[started.mailbox_id, outcome.reason_code or state] += 1
        if state not in UNSETTLED:
            passed = max(0, outcome.at - started.date_at) / SECOND
            self.settle_time[started.lane].add(passed)
            names = started.domain, started.trace_id
            self.clusters.ended(started.mailbox_id, names, state, outcome.reason_code, outcome.at)

    def breaker_stands(self, scope: Scope, id_: str, breaker: Breaker) -> None:
        """How the breaker of a mailbox or relay stands now."""
        self.breakers[scope, id_] = breaker.state

    def speed_moved(self, moved: SpeedMoved) -> None:
        """A relay, or a domain of it, goes slower or faster than before."""
        if moved.is_throttled:
            scope = Scope.RELAY if moved.domain is None else "domain"
            self.throttles[moved.relay_id, scope] += 1

    def loop_lagged(self, by: timedelta) -> None:
        """How late the loop woke last, and at worst."""
        self.loop_lag = by
        self.loop_lag_max = max(self.loop_lag_max, by)

    def words(self) -> dict[tuple[str, str], int]:
        """Outcomes by mailbox and word, for people."""
        counts: Counter[tuple[str, str]] = Counter()
        for ended, count in self.outcomes.items():
            counts[ended.mailbox_id, ended.word] += count
        return dict(counts)

    def _moved(self, moved: StateMoved) -> None:
        if moved.after is None:
            return
        is_tried = moved.before is DeliveryState.SENDING
        if is_tried or moved.after not in UNSETTLED:
            self.outcomes[Ended(moved.mailbox_id, moved.after, moved.reason_code)] += moved.count
