"""The delivery loop: decides what goes next, starts attempts, stores how they end.

One task decides, and never awaits between reading the world and changing it; each attempt is a task of its own.
The loop sleeps until something happens: a commit, the end of an attempt, or the earliest instant at which a gate
said that it would open. What a turn decides comes from `core/admit` alone.

Known limits: one loop in one process; a mailbox with a very long list of paused domains reads one feed for each.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from postroom.core.admit import Finding, explain
from postroom.core.instant import SECOND, Instant, Moment, later
from postroom.core.mailbox import Lane
from postroom.core.outcome import LONGEST_STATED
from postroom.core.world import Host, World
from postroom.outbound.errand import Errand
from postroom.outbound.flight import Flights
from postroom.outbound.line import Line, Queue
from postroom.outbound.lines import Lines
from postroom.outbound.ready import AT_ONCE, BATCH, Feed
from postroom.ports.account import Account
from postroom.ports.changes import Change, MailboxPaused, RowsGone, RowsWaiting
from postroom.ports.errors import StoreBroken, StoreError
from postroom.ports.host import Clock
from postroom.ports.looping import WaitingRow
from postroom.ports.outbox import LoopStore


RECHECK_S: Final = 30.0  # wall time is looked at anew this often while something waits for it
READ_AGAIN: Final = SECOND  # after the store did not answer
BITE: Final = 500
JUMP: Final = 60 * SECOND  # what NTP slews is less


class Dispatcher:
    """The loop. `run` ends after `drain`, when the last attempt has ended."""

    def __init__(
        self,
        store: LoopStore,
        worlds: Mapping[str, World],
        host: Host,
        flights: Flights,
        account: Account,
        clock: Clock,
    ) -> None:
        self._store = store
        self._host = host
        self._flights = flights
        self._account = account
        self._clock = clock
        self._lines = Lines(worlds)
        self._woken = flights.moved
        self._alarm_at: int | None = None
        self._alarm: asyncio.Task[None] | None = None
        self._ending = Errand(self._end_expired, account, clock, self._woken)
        self._pulling_in = Errand(self._pull_in, account, clock, self._woken)
        self._offset: int | None = None
        self._believed_at: Callable[[], Instant | None] = lambda: None

    # -- from outside --------------------------------------------------------------------------

    def committed(self, changes: Sequence[Change]) -> None:
        """Take note of what a commit changed (ports.changes.Observer)."""
        for change in changes:
            match change:
                case RowsWaiting(mailbox_id=mailbox_id, lane=lane, domain=domain, due_at=due_at):
                    self._lines.note(mailbox_id, lane, domain, due_at)
                case RowsGone(numbers=numbers):
                    self._lines.forget(numbers)
                case MailboxPaused():
                    self._pause(change)
                case _:
                    pass
        self._woken.set()

    def explain(self, row: WaitingRow) -> tuple[Finding, ...]:
        """What every gate says of this delivery now."""
        line = self._lines.find(row.mailbox_id)
        return () if line is None else explain(row, line.world, self._now())

    def queues(self) -> tuple[Queue, ...]:
        """Every queue of every mailbox in which something waits."""
        now = self._now()
        return tuple(queue for line in self._lines.values() for queue in line.queues(now))

    def mind(self, believed_at: Callable[[], Instant | None]) -> None:
        """Ask there where the clock would stand while it is doubted; None = it is believed."""
        self._believed_at = believed_at

    def switch(self, worlds: Mapping[str, World]) -> None:
        """Go on with other mailboxes and other bounds; what is under way ends as it began."""
        self._lines.switch(worlds)
        self._woken.set()

    def drain(self) -> None:
        """Start nothing more."""
        self._host.is_draining = True
        self._woken.set()

    async def run(self) -> None:
        """Deliver until drained. Raises StoreBroken when the store can not be trusted any more."""
        async with asyncio.TaskGroup() as group:
            for mailbox_id, lane in await self._store.find_mailbox_queues():
                self._lines.note(mailbox_id, lane, None, Instant(0))
            self._woken.set()
            while not (self._host.is_draining and self._flights.is_empty):
                await self._woken.wait()
                self._woken.clear()
                self._turn(group)
            if self._alarm is not None:
                self._alarm.cancel()

    def interrupt(self) -> None:
        """Give up what is under way: what has its mark becomes uncertain, the rest waits again."""
        self._flights.interrupt()

    # -- one turn ------------------------------------------------------------------------------

    def _turn(self, group: asyncio.TaskGroup) -> None:
        now = self._now()
        if not self._host.is_draining:
            self._look_at_clock(group, now)
            self._start_all(group, now)
            self._read_all(group, now)
            self._expire(group)
            self._lines.rest()
            self._set_alarm(group, now)

    def _start_all(self, group: asyncio.TaskGroup, now: Moment) -> None:
        """Start rows, one from each mailbox in turn, until none may go."""
        hopeful = self._lines.in_turn()
        while hopeful:
            hopeful = [line for line in hopeful if self._start_one(group, line, now)]

    def _start_one(self, group: asyncio.TaskGroup, line: Line, now: Moment) -> bool:
        candidate = line.choose(now)
        if candidate is None:
            if line.waits is not None:
                self._account.waited(line.world.mailbox.mailbox.id, line.waits)
            return False
        self._lines.served(candidate.feed.mailbox_id)
        row = line.served(candidate)
        held = line.world.reserve(row, now)
        self._flights.launch(group, line.world, row, held, self._landed)
        return True

    def _landed(self, row: WaitingRow, due_at: Instant | None) -> None:
        """A place is free, or an attempt is over; from `due_at` on the row waits again."""
        if due_at is not None:
            self._lines.note(row.mailbox_id, row.lane, row.domain, due_at)
        self._woken.set()

    def _read_all(self, group: asyncio.TaskGroup, now: Moment) -> None:
        for line in self._lines.awake:
            line.tidy(now)
            for feed in line.feeds:
                if feed.wants_read(now.at):
                    feed_cursor = feed.begin_read()
                    group.create_task(self._read(line, feed, feed_cursor))

    async def _read(self, line: Line, feed: Feed, after: tuple[Instant, int] | None) -> None:
        try:
            rows = await self._store.find_waiting(
                feed.mailbox_id,
                feed.lane,
                domain=feed.domain,
                skip=line.skipped(feed),
                after=after,
                limit=BATCH,
            )
        except StoreBroken:
            raise
        except StoreError as problem:
            self._account.store_refused(problem)
            feed.fail_read(Instant(self._clock.now() + READ_AGAIN))
        else:
            now, believed_at = self._clock.now(), self._believed_at()
            skipped = line.skipped(feed)  # there may be more of them by now
            elsewhere = {row.number for row in rows if row.domain in skipped}
            self._flights.pass_by(rows)
            feed.end_read(rows, now, self._flights.taken | elsewhere, believed_at)
        self._woken.set()

    def _expire(self, group: asyncio.TaskGroup) -> None:
        """Rows that a gate found past their time are ended by the store, which looks at all of them."""
        if self._believed_at() is not None:
            self._pass_over_expired()
            return
        for line in self._lines.awake:
            self._ending.is_wanted |= bool(line.expired)
            line.expired.clear()
        self._ending.run_in(group)

    def _pass_over_expired(self) -> None:
        for line in self._lines.awake:
            over = [row.not_after for row in line.expired if row.not_after is not None]
            line.expired.clear()
            for feed in line.feeds if over else ():
                feed.pass_over(Instant(min(over) + 1))

    async def _end_expired(self) -> None:
        count = BITE
        while count == BITE:
            count = await self._store.end_expired(self._clock.now(), BITE)
            self._account.expired(count)

    # -- time ----------------------------------------------------------------------------------

    def _now(self) -> Moment:
        return Moment(self._clock.now(), self._clock.monotonic())

    def _look_at_clock(self, group: asyncio.TaskGroup, now: Moment) -> None:
        """A wall clock that has gone back must not keep anything waiting beyond its own maximum.

        What was passed over while it was doubted is looked at when it is believed.
        """
        believed_at = self._believed_at()
        for feed in self._lines.feeds:
            feed.look_again(believed_at)
        offset = now.at - now.mono
        if self._offset is None or offset < self._offset - JUMP:
            for line in self._lines.values():
                line.world.mend(now.at)
            for feed in self._lines.feeds:
                feed.note(AT_ONCE)  # when it is read next was said by the clock as it stood
            self._pulling_in.is_wanted = True
        self._offset = offset
        self._pulling_in.run_in(group)

    async def _pull_in(self) -> None:
        for line in tuple(self._lines.values()):
            mailbox = line.world.mailbox.mailbox
            now = self._clock.now()
            latest = later(now, max(mailbox.retry.cap, LONGEST_STATED))
            for lane in Lane:
                while await self._store.pull_in(mailbox.id, lane, now, latest, BITE) == BITE:
                    pass

    def _set_alarm(self, group: asyncio.TaskGroup, now: Moment) -> None:
        """Wake up when the first gate opens or the first unread row is due, at the latest after RECHECK_S."""
        earliest = min(self._instants(now), default=None)
        if earliest is None:
            return
        wait_s = min(max(0.0, (earliest - now.at) / SECOND), RECHECK_S)
        at = now.mono + int(wait_s * SECOND)
        if self._alarm is not None and not self._alarm.done():
            if self._alarm_at is not None and self._alarm_at <= at:
                return
            self._alarm.cancel()
        self._alarm_at = at
        self._alarm = group.create_task(self._ring(wait_s))

    def _instants(self, now: Moment) -> list[Instant]:
        found = [line.wake_at for line in self._lines.awake if line.wake_at is not None]
        found += [
            feed.more_at
            for feed in self._lines.feeds
            if feed.more_at is not None and feed.more_at > now.at
        ]
        if self._believed_at() is not None and self._lines.awake:
            found.append(later(now.at, timedelta(seconds=RECHECK_S)))
        return found

    async def _ring(self, wait_s: float) -> None:
        await self._clock.sleep(wait_s)
        self._alarm_at = None
        self._woken.set()

    def _pause(self, change: MailboxPaused) -> None:
        line = self._lines.find(change.mailbox_id)
        if line is None:
            return
        line.world.mailbox.paused_by = change.by if change.is_paused else None
        if not change.is_paused:
            line.world.resume(self._clock.now())
            self._flights.resumed(change.mailbox_id)
