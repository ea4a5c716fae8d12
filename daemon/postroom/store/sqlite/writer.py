"""The writer: units queue in four deques, and leave in groups, one transaction each.

Outcomes and control come first, then starts, then the rest. What nobody waits for (WriteLane.SPARE) never joins the
others: it goes alone, is copied out of the WAL at once, so that nobody else meets its checkpoint, and while others wait
it rests three times as long as it took. A whole group is one hop to the writing connection's thread (see `group`); the
next group forms while that one syncs, and no commit is ever delayed. One callback brings the answers back to the loop:
first the observers hear of the changes, then the callers wake. An observer that fails at it ends the daemon. There is
no task that could be cancelled half-way, and a caller that is gone changes nothing.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from postroom.ports.changes import Change, Observer
from postroom.ports.errors import StoreBroken, StoreError, StoreUnavailable
from postroom.ports.host import Clock
from postroom.store.sqlite.anchor import Anchor
from postroom.store.sqlite.connection import copy_wal
from postroom.store.sqlite.group import Failed, Ran, run_group
from postroom.store.sqlite.unit import Unit, UnitResult, WriteLane


T = TypeVar("T")

Hop = Callable[[Callable[[sqlite3.Connection], None]], None]

_MOST_ROWS: Final = (
    2000  # in one group: the whole of it stands between the first caller and its answer
)
_QUEUE: Final = {
    WriteLane.OUTCOME: 0,
    WriteLane.CONTROL: 0,
    WriteLane.START: 1,
    WriteLane.REST: 2,
    WriteLane.SPARE: 3,
}
_SPARE_RESTS: Final = 3  # times as long as it worked


@dataclass(frozen=True, slots=True)
class WriterStats:
    """What the writer has done; times in microseconds.

    `last_group` is how long the last group took, commit included, `busy` what all of them took together;
    `outcomes_open` counts outcomes that are queued or being committed, `oldest_outcome` is the age of the first.
    """

    commits: int
    units: int
    last_group: int
    busy: int
    waiting: int
    outcomes_open: int
    oldest_outcome: int


@dataclass(frozen=True, slots=True)
class _Waiting:
    unit: Unit[Any]
    lane: WriteLane
    weight: int
    future: asyncio.Future[Any]


class Writer:
    """Queues in front of one connection. `hop` runs a function with that connection on its thread; `anchor` knows its files."""

    def __init__(self, clock: Clock, hop: Hop, anchor: Anchor) -> None:
        self._clock = clock
        self._hop = hop
        self._anchor = anchor
        self._loop = asyncio.get_running_loop()
        self._queues: tuple[deque[_Waiting], ...] = (deque(), deque(), deque(), deque())
        self._outcomes: dict[asyncio.Future[Any], int] = {}
        self._observers: list[Observer] = []
        self._is_busy = False
        self._is_closing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._broken = asyncio.Event()
        self._why = ""
        self._commits = 0
        self._units = 0
        self._last_group = 0
        self._time_busy = 0
        self._spare_from = 0

    async def write(self, unit: Unit[T], lane: WriteLane, weight: int) -> T:
        """The unit's value, once it is committed. Raises as `Database.write`."""
        if self._broken.is_set():
            message = "the store broke; the daemon has to end"
            raise StoreBroken(message)
        if self._is_closing:
            message = "the store is being closed"
            raise StoreUnavailable(message)
        future: asyncio.Future[T] = self._loop.create_future()
        self._queues[_QUEUE[lane]].append(_Waiting(unit, lane, weight, future))
        if lane is WriteLane.OUTCOME:
            self._outcomes[future] = self._clock.monotonic()
        if self._idle.is_set():
            # Not at once: what other tasks ask for in this step of the loop joins the same group.
            self._idle.clear()
            self._loop.call_soon(self._pump)
        return await future

    def watch(self, observer: Observer) -> None:
        """Tell this observer of every commit from now on."""
        self._observers.append(observer)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self._is_busy and not any(self._queues)

    @property
    def is_broken(self) -> bool:
        """Whether nothing can be written any more."""
        return self._broken.is_set()

    async def wait_broken(self) -> str:
        """Return when nothing can be written any more: why."""
        await self._broken.wait()
        return self._why

    def give_up(self, why: str) -> None:
        """Write nothing any more, for this reason."""
        self._why = self._why or why
        self._broken.set()
        for queue in self._queues:
            while queue:
                error = StoreBroken("the store broke before this was stored")
                self._answer(queue.popleft(), Failed(error))

    async def drain(self) -> None:
        """Take no more units, and return when the last one is answered."""
        self._is_closing = True
        await self._idle.wait()

    def stats(self) -> WriterStats:
        """How it is doing."""
        oldest = next(iter(self._outcomes.values()), None)
        return WriterStats(
            commits=self._commits,
            units=self._units,
            last_group=self._last_group,
            busy=self._time_busy,
            waiting=sum(map(len, self._queues)),
            outcomes_open=len(self._outcomes),
            oldest_outcome=0 if oldest is None else self._clock.monotonic() - oldest,
        )

    def _pump(self) -> None:
        if self._is_busy:
            return
        group = self._take()
        if not group:
            self._idle.set()
            return
        self._is_busy = True
        self._hop(partial(self._run, group))

    def _take(self) -> list[_Waiting]:
        *queues, spare = self._queues
        if spare and (not any(queues) or self._clock.monotonic() >= self._spare_from):
            return [spare.popleft()]
        group: list[_Waiting] = []
        rows = 0
        for queue in queues:
            while queue and (not group or rows + queue[0].weight <= _MOST_ROWS):
                rows += queue[0].weight
                group.append(queue.popleft())
        return group

    def _run(self, group: list[_Waiting], conn: sqlite3.Connection) -> None:
        """On the connection's thread: run the group and hand its answers to the loop."""
        began_at = self._clock.monotonic()
        try:
            ran = run_group(conn, [one.unit for one in group], self._clock.monotonic)
        except Exception as error:  # noqa: BLE001 - nobody above this could answer the callers
            ran = Ran(is_broken=True)
            ran.fail(StoreBroken(f"the writer failed: {error}"), len(group))
        lost = self._anchor.find_lost()
        if lost is not None:
            ran.is_broken = True
            ran.fail(StoreBroken(f"{lost} was deleted or replaced"), len(group))
        if group[0].lane is WriteLane.SPARE and not ran.is_broken:
            copy_wal(conn)
        took = self._clock.monotonic() - began_at
        with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(self._done, group, ran, took)

    def _done(self, group: list[_Waiting], ran: Ran, took: int) -> None:
        self._is_busy = False
        self._commits += ran.commits
        self._units += len(ran.answers)
        self._last_group = took
        self._time_busy += took
        if group[0].lane is WriteLane.SPARE:
            self._spare_from = self._clock.monotonic() + _SPARE_RESTS * took
        for one in reversed(group[len(ran.answers) :]):
            self._queues[_QUEUE[one.lane]].appendleft(one)
        if ran.is_broken:
            self.give_up(ran.why_broken)
        self._tell(ran.changes)
        for one, answer in zip(group, ran.answers, strict=False):
            self._answer(one, answer)
        # One step of the loop later: what those who wake now ask for next joins the group, and halves the commits.
        self._loop.call_soon(self._pump)

    def _tell(self, changes: Sequence[Change]) -> None:
        """Who can not follow knows other things than the store from now on: then the daemon has to begin anew."""
        for observer in self._observers if changes else ():
            try:
                observer.committed(changes)
            except Exception as error:  # noqa: BLE001 - the callers and the next group must not pay for it
                kind = type(observer).__name__
                self.give_up(f"{kind} could not follow a commit: {type(error).__name__}")

    def _answer(self, one: _Waiting, answer: UnitResult[Any] | Failed) -> None:
        self._outcomes.pop(one.future, None)
        if one.future.done():  # the caller is gone; the rest of the group must still be woken
            return
        match answer:
            case UnitResult(value=value):
                one.future.set_result(value)
            case Failed(error=StoreError() as error):
                one.future.set_exception(type(error)(*error.args))  # one for each caller
            case Failed(error=error):
                one.future.set_exception(error)
