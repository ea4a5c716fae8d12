"""The outbox of the delivery loop, in memory."""

import bisect
from dataclasses import dataclass, replace

from postroom.core.body import Body
from postroom.core.breaker import Breaker
from postroom.core.delivery import WAITING, DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.outbound.dispatch import Dispatcher
from postroom.ports.changes import RowsGone, RowsWaiting
from postroom.ports.looping import LoopState, MarkStopped, Outcome, Start, Started, WaitingRow
from support.clock import FakeClock, settle


@dataclass(slots=True)
class Row:
    """A delivery of the fake outbox."""

    waiting: WaitingRow
    claim: int = 0
    attempts: int = 0
    series_attempts: int = 0
    started_at: Instant | None = None
    outcome: Outcome | None = None


class FakeOutbox:
    """ports.outbox.LoopStore in memory. `stops` says what the mark answers; `failing` counts calls that fail."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.rows: dict[int, Row] = {}
        self.stops: dict[int, MarkStopped] = {}
        self.finish_failures: list[Exception] = []
        self.observer: Dispatcher | None = None
        self.starts: list[int] = []
        self.breakers: dict[str, Breaker] = {}
        self._queues: dict[tuple[str, Lane], list[tuple[Instant, int]]] = {}

    def add(
        self,
        mailbox_id: str,
        lane: Lane = Lane.STANDARD,
        domain: str = "customer.example",
        **more: object,
    ) -> int:
        """A pending delivery, told to the loop."""
        number = len(self.rows) + 1
        base = WaitingRow(
            number=number,
            mailbox_id=mailbox_id,
            lane=lane,
            domain=domain,
            due_at=self.clock.now(),
            state=DeliveryState.PENDING,
            not_after=None,
            has_attachments=False,
            is_suspect=False,
        )
        self.rows[number] = Row(replace(base, **more))  # type: ignore[arg-type]  # a test's own words
        self._enter(self.rows[number].waiting)
        return number

    def state(self, number: int) -> DeliveryState:
        """Where a delivery stands."""
        return self.rows[number].waiting.state

    def move(self, number: int, due_at: Instant) -> None:
        """Put a delivery that is under way back, due then, as a person does who moves it in time."""
        row = self.rows[number]
        row.waiting = replace(row.waiting, state=DeliveryState.PENDING, due_at=due_at)
        self._enter(row.waiting)

    def take_out(self, number: int, state: DeliveryState) -> None:
        """Let a waiting delivery wait no more."""
        row = self.rows[number]
        self._leave(row.waiting)
        row.waiting = replace(row.waiting, state=state)

    def _enter(self, row: WaitingRow) -> None:
        bisect.insort(
            self._queues.setdefault((row.mailbox_id, row.lane), []), (row.due_at, row.number)
        )
        if self.observer is not None:
            self.observer.committed([RowsWaiting(row.mailbox_id, row.lane, row.due_at, row.domain)])

    def _leave(self, row: WaitingRow) -> None:
        queue = self._queues[row.mailbox_id, row.lane]
        del queue[bisect.bisect_left(queue, (row.due_at, row.number))]

    async def load(self) -> LoopState:
        return LoopState((), (), (), ())

    async def find_mailbox_queues(self) -> tuple[tuple[str, Lane], ...]:
        return tuple(key for key, queue in self._queues.items() if queue)

    async def find_waiting(
        self,
        mailbox_id: str,
        lane: Lane,
        *,
        domain: str | None,
        skip: frozenset[str],
        after: tuple[Instant, int] | None,
        limit: int,
    ) -> tuple[WaitingRow, ...]:
        queue = self._queues.get((mailbox_id, lane), [])
        found: list[WaitingRow] = []
        start = 0 if after is None else bisect.bisect_right(queue, after)
        for _, number in queue[start:]:
            row = self.rows[number].waiting
            if row.domain in skip or domain not in (None, row.domain):
                continue
            found.append(row)
            if len(found) == limit:
                break
        await settle(1)
        return tuple(found)

    async def start(self, start: Start) -> Started | None:
        await settle(1)
        row = self.rows[start.number]
        if row.waiting.state not in WAITING or row.waiting.due_at > start.at:
            return None
        self._leave(row.waiting)
        row.waiting = replace(row.waiting, state=DeliveryState.SENDING)
        row.claim += 1
        row.started_at = row.started_at or start.at
        self.starts.append(start.number)
        return Started(
            number=start.number,
            claim=row.claim,
            job_number=start.number,
            mailbox_id=row.waiting.mailbox_id,
            trace_id="trace",
            recipient=f"r{start.number}@{row.waiting.domain}",
            domain=row.waiting.domain,
            lane=row.waiting.lane,
            message_id="<m@example.com>",
            head=b"Subject: x\r\n",
            body=Body((b"\r\nx\r\n",), 5),
            date_at=start.at,
            not_after=row.waiting.not_after,
            attempts=row.attempts,
            series_attempts=row.series_attempts,
            series_started_at=row.started_at,
            deferrals=0,
            crashes=0,
            doubts=0,
        )

    async def mark(self, number: int, claim: int, at: Instant) -> Instant | MarkStopped:
        await settle(1)
        row = self.rows[number]
        if (row.waiting.state, row.claim) != (DeliveryState.SENDING, claim):
            return MarkStopped(row.waiting.state, ReasonCode.CANCELLED)
        stop = self.stops.pop(number, None)
        if stop is None:
            return at
        row.waiting = replace(row.waiting, state=stop.state, due_at=at)
        if stop.state in WAITING:
            self._enter(row.waiting)
        return stop

    async def finish(self, outcome: Outcome) -> DeliveryState:
        await settle(1)
        if self.finish_failures:
            raise self.finish_failures.pop()
        row = self.rows[outcome.number]
        if (row.waiting.state, row.claim) != (DeliveryState.SENDING, outcome.claim):
            return row.waiting.state
        row.outcome = outcome
        row.attempts += outcome.counts_attempt
        row.series_attempts += outcome.counts_series
        due_at = outcome.due_at or row.waiting.due_at
        row.waiting = replace(row.waiting, state=outcome.after, due_at=due_at)
        if outcome.after in WAITING:
            self._enter(row.waiting)
        return outcome.after

    async def keep_breaker(self, mailbox_id: str, breaker: Breaker) -> None:
        await settle(1)
        self.breakers[mailbox_id] = breaker

    async def pull_in(
        self, mailbox_id: str, lane: Lane, now: Instant, latest: Instant, limit: int
    ) -> int:
        beyond = [
            row
            for row in self.rows.values()
            if (row.waiting.mailbox_id, row.waiting.lane) == (mailbox_id, lane)
            and row.waiting.state is DeliveryState.RETRY_SCHEDULED
            and row.waiting.due_at > latest
        ]
        for row in beyond:
            self._leave(row.waiting)
            assert self.observer is not None
            self.observer.committed([RowsGone((row.waiting.number,))])
            row.waiting = replace(row.waiting, due_at=latest)
            self._enter(row.waiting)
        return len(beyond)

    async def end_expired(self, now: Instant, limit: int) -> int:
        count = 0
        for row in self.rows.values():
            if row.waiting.state in WAITING and (row.waiting.not_after or now) < now:
                self._leave(row.waiting)
                row.waiting = replace(row.waiting, state=DeliveryState.FAILED)
                count += 1
        return count
