"""Recorded days: a small model of a queue that tells the real signals, depth and worlds what happened, minute by minute.

    day = Day(Traffic(arrivals=lambda minute: 5))
    await day.play(keeper)                     # a day passes at once: whoever sleeps moves the clock

Chance is drawn from the names of things, so that a day is the same whenever it is played.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from zlib import crc32

from postroom.core.breaker import CLOSED, trip
from postroom.core.changeover import mailbox_state, relay_state
from postroom.core.delivery import DeliveryState
from postroom.core.instant import MINUTE, SECOND, Instant
from postroom.core.mailbox import Lane, Mailbox, Relay, Tls
from postroom.core.reason import ReasonCode
from postroom.core.world import Host, World
from postroom.ops.depth import Depth
from postroom.ops.signals import Signals
from postroom.ports.changes import StateMoved
from postroom.ports.leasing import WaitingEvents
from postroom.ports.looping import WaitingRow
from postroom.store.sqlite.space import Inodes, Room
from support.ops_deliveries import SENT, STARTED


S = DeliveryState
MIDNIGHT = Instant(1_796_004_000 * SECOND - 1_796_004_000 * SECOND % (24 * 60 * MINUTE))
OWNER = "ops@example.com"
At = Callable[[int], float]


class DayOver(Exception):
    """The day has been played."""


def chance(*names: object) -> float:
    """A number in [0, 1) that is always the same for these names."""
    return crc32(repr(names).encode()) / 2**32


@dataclass
class Traffic:
    """One mailbox, each by the minute of the day: mails that come, seconds that a try takes, shares that fail or are put off."""

    arrivals: At
    latency_s: At = lambda minute: 0.4
    fails: At = lambda minute: 0.0
    put_off: At = lambda minute: 0.0
    reason: ReasonCode = ReasonCode.RECIPIENT_UNKNOWN
    retry_reason: ReasonCode = ReasonCode.GREYLISTED
    is_down: Callable[[int], bool] = lambda minute: False
    doubts: Callable[[int], int] = lambda minute: 0
    box: str = "support"
    relay: str = "main"
    lane: Lane = Lane.STANDARD
    workflow: Callable[[int], str] = lambda number: f"trace-{number}"


@dataclass
class Agent:
    """A consumer: events that come for it, and whether it takes what waits, by the minute of the day."""

    events: At
    takes: Callable[[int], bool]
    name: str = "agent"


@dataclass
class Day:
    """The day, as a clock, a reader and leases all at once."""

    traffics: tuple[Traffic, ...] = ()
    agents: tuple[Agent, ...] = ()
    minutes: int = 24 * 60
    jumps: Mapping[int, int] = field(default_factory=dict)
    free: At = lambda minute: 1 << 40

    def __post_init__(self) -> None:
        self.minute = 0
        self.signals, self.depth = Signals(), Depth({})
        self.worlds = _worlds(self.traffics)
        self._queues = {one.box: _Queue(one, self) for one in self.traffics}
        self._waiting: dict[str, deque[Instant]] = {one.name: deque() for one in self.agents}
        self._now, self._mono = MIDNIGHT, 7 * SECOND

    def now(self) -> Instant:
        return self._now

    def monotonic(self) -> int:
        return self._mono

    async def sleep(self, seconds: float) -> None:
        """The next minute happens."""
        if self.minute == self.minutes:
            raise DayOver
        for queue in self._queues.values():
            queue.play(self.minute)
        for agent in self.agents:
            self._serve(agent)
        self.minute += 1
        self._mono += int(seconds * SECOND)
        self._now = Instant(self._now + int((seconds + self.jumps.get(self.minute, 0)) * SECOND))

    async def oldest_due(self, now: Instant) -> dict[tuple[str, Lane], Instant]:
        found = {(one.box, one.lane): self._queues[one.box].oldest(now) for one in self.traffics}
        return {place: due for place, due in found.items() if due is not None}

    async def find_waiting(self, now: Instant) -> tuple[WaitingEvents, ...]:
        return tuple(
            WaitingEvents(name, len(waiting), 0, waiting[0] if waiting else None)
            for name, waiting in self._waiting.items()
        )

    def look(self) -> Room:
        return Room(int(self.free(self.minute)), 1 << 30, Inodes(0, 0))

    def is_doubted(self) -> bool:
        """As a clock that a person sets right again within the hour."""
        return any(at <= self.minute < at + 60 for at in self.jumps)

    def forget(self) -> None:
        """As a restart does: what was counted in memory is gone, what waits is counted anew."""
        for mine in fields(self.signals):
            setattr(self.signals, mine.name, getattr(Signals(), mine.name))

    def _serve(self, agent: Agent) -> None:
        waiting = self._waiting[agent.name]
        waiting.extend([self._now] * int(agent.events(self.minute)))
        if agent.takes(self.minute):
            waiting.clear()


class _Queue:
    """What waits in one mailbox, and what its relay makes of it."""

    def __init__(self, traffic: Traffic, day: Day) -> None:
        self._traffic = traffic
        self._day = day
        self._due: list[Instant] = []
        self._number = 0
        self._left_s = 0.0
        self._doubts = 0

    def oldest(self, now: Instant) -> Instant | None:
        return next((due for due in self._due if due <= now), None)

    def play(self, minute: int) -> None:
        traffic, now = self._traffic, self._day.now()
        came = int(traffic.arrivals(minute))
        self._move(None, S.PENDING, came)
        self._due += [Instant(now + MINUTE * n // max(1, came)) for n in range(came)]
        self._due.sort()
        self._doubt(traffic.doubts(minute))
        world = self._day.worlds[traffic.box]
        is_down = traffic.is_down(minute)
        reason = ReasonCode.RELAY_UNREACHABLE
        world.relay.breaker = trip(CLOSED, reason, now) if is_down else CLOSED
        if not is_down:
            self._send(minute, now)

    def _send(self, minute: int, now: Instant) -> None:
        """Four at once, one after another."""
        took = max(0.01, self._traffic.latency_s(minute))
        at_s = self._left_s
        while at_s < 60 and self._due and self._due[0] <= now + MINUTE:
            at = max(Instant(now + int(at_s * SECOND)), self._due[0])
            self._try(minute, self._due.pop(0), at, took)
            at_s = (at - now) / SECOND + took / 4
        self._left_s = max(0.0, at_s - 60)

    def _try(self, minute: int, due: Instant, at: Instant, took: float) -> None:
        traffic, signals = self._traffic, self._day.signals
        self._number += 1
        row = WaitingRow(
            number=self._number,
            mailbox_id=traffic.box,
            lane=traffic.lane,
            domain="example.com",
            due_at=due,
            state=S.PENDING,
            not_after=None,
            has_attachments=False,
            is_suspect=False,
        )
        signals.started(row, at)
        drawn = chance(traffic.box, self._number)
        ends = Instant(at + int(took * SECOND))
        outcome = replace(SENT, at=ends)
        if drawn < traffic.fails(minute):
            outcome = replace(outcome, after=S.FAILED, reason_code=traffic.reason)
        elif drawn > 1 - traffic.put_off(minute):
            outcome = replace(outcome, after=S.RETRY_SCHEDULED, reason_code=traffic.retry_reason)
        started = replace(
            STARTED,
            mailbox_id=traffic.box,
            lane=traffic.lane,
            date_at=at,
            domain=f"d{self._number % 7}.example",
            trace_id=traffic.workflow(self._number),
        )
        signals.finished(started, outcome, outcome.after, timedelta(seconds=took))
        self._move(S.PENDING, S.SENDING, 1)
        self._move(S.SENDING, outcome.after, 1, outcome.reason_code)
        if outcome.after is S.RETRY_SCHEDULED:
            self._move(S.RETRY_SCHEDULED, S.PENDING, 1)
            self._due.append(Instant(ends + 5 * MINUTE))
            self._due.sort()

    def _doubt(self, wanted: int) -> None:
        if wanted > self._doubts:
            self._move(None, S.UNCERTAIN, wanted - self._doubts)
        elif wanted < self._doubts:
            self._move(S.UNCERTAIN, S.SENT, self._doubts - wanted)
        self._doubts = wanted

    def _move(
        self, before: S | None, after: S, count: int, reason: ReasonCode | None = None
    ) -> None:
        if count:
            moved = StateMoved(self._traffic.box, self._traffic.lane, before, after, reason, count)
            self._day.depth.committed([moved])
            self._day.signals.committed([moved])


def _worlds(traffics: tuple[Traffic, ...]) -> dict[str, World]:
    relays = {
        one.relay: relay_state(Relay(one.relay, "relay.example", 25, Tls.NONE)) for one in traffics
    }
    return {
        one.box: World(
            Host(200),
            relays[one.relay],
            mailbox_state(Mailbox(one.box, f"{one.box}@example.com", "", one.relay, owner=OWNER)),
        )
        for one in traffics
    }
