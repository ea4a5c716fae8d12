"""Pace: how many starts may happen, and from when on the next one may.

All of it runs on the monotonic clock in whole microseconds, so that a jump of the wall clock neither frees a backlog at
once nor stops it. What the store kept from before a restart is counted as late as it can have been: a bound stays one.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Final

from postroom.core.instant import MINUTE, SECOND, Instant, Moment
from postroom.core.mailbox import Lane, LaneShares, Pace


_DAY: Final = 24 * 60 * MINUTE
_MINUTE_GRAIN: Final = (
    SECOND // 10
)  # at most 600 slices a lane, and a start waits 0.1 s too long at most


@dataclass(frozen=True, slots=True)
class Bound:
    """What counts against a bound now, what is allowed, and from when on one more has room."""

    used: int
    allowed: int
    from_mono: int


@dataclass(slots=True)
class Gcra:
    """The generic cell rate algorithm (ITU-T I.371): `burst` starts at once, then one each `interval` microseconds.

    A start is never uncounted here: it would be an interval gained by who comes late, and is one lost at most.
    """

    interval: int
    burst: int
    tat: int = 0

    def bound(self, mono: int) -> Bound:
        """Starts that are still to be worked off, out of `burst`."""
        used = max(0, -((mono - self.tat) // self.interval))
        return Bound(used, self.burst, max(mono, self.tat - (self.burst - 1) * self.interval))

    def take(self, mono: int) -> None:
        """Count a start."""
        self.tat = max(self.tat, mono) + self.interval

    def backlog(self, mono: int) -> int:
        """What is still to be worked off, in microseconds: an `interval` for each start."""
        return max(0, self.tat - mono)

    def restore(self, at: Instant, now: Moment) -> None:
        """Go on from a stored instant; beyond its own maximum it is clock damage and read as that maximum."""
        self.tat = now.mono + min(at - now.at, self.burst * self.interval)


def gcra(per_second: float | None, burst: int = 1) -> Gcra | None:
    """A meter of this rate; None when there is no bound."""
    return None if per_second is None else Gcra(ceil(SECOND / per_second), max(1, burst))


def changed_gcra(
    before: Gcra | None, per_second: float | None, burst: int, mono: int
) -> Gcra | None:
    """The same meter with another rate: what was left of its burst is left of the new one, and never more.

    Where nothing was counted nothing is left: whatever went just before may have been a whole burst.
    """
    after = gcra(per_second, burst)
    if after is None:
        return None
    full = after.burst * after.interval
    if before is None:
        after.tat = mono + full
    elif (before.interval, before.burst) == (after.interval, after.burst):
        return before
    else:
        backlog = ceil(before.backlog(mono) * Fraction(after.interval, before.interval))
        wider = (after.burst - before.burst) * after.interval
        after.tat = mono + min(max(0, backlog + wider), full)
    return after


@dataclass(slots=True)
class _Slice:
    """Starts of one lane that lie close together; they leave the window when the latest of them is old enough."""

    number: int
    lane: Lane
    count: int
    latest: int


@dataclass(slots=True)
class Window:
    """At most `limit` (1 or more) starts in any `span`, counted for each lane in slices of `grain`, in microseconds."""

    limit: int
    span: int
    grain: int
    _slices: deque[_Slice] = field(default_factory=deque)
    _counts: list[int] = field(default_factory=lambda: [0] * len(Lane))

    def take(self, lane: Lane, mono: int, count: int = 1) -> None:
        """Count starts. Moments come in order, as a clock gives them."""
        found = self._find(lane, mono)
        if found is None:
            self._slices.append(_Slice(mono // self.grain, lane, count, mono))
        else:
            found.count += count
            found.latest = max(found.latest, mono)
        self._counts[lane] += count

    def give_back(self, lane: Lane, mono: int) -> None:
        """Uncount one start that was counted at this moment."""
        found = self._find(lane, mono)
        if found is not None and found.count:
            found.count -= 1
            self._counts[lane] -= 1

    def bound(self, lane: Lane, shares: LaneShares, mono: int) -> Bound:
        """Of the bounds that hold for this lane the one that has room last."""
        self._forget(mono)
        found, found_from = Bound(0, self.limit, mono), mono - 1
        for lanes, allowed in _shares(lane, self.limit, shares):
            used = sum([self._counts[one] for one in lanes])
            from_mono = mono if used < allowed else self._room_from(lanes, used - allowed, mono)
            if from_mono > found_from:
                found, found_from = Bound(used, allowed, from_mono), from_mono
        return found

    def _room_from(self, lanes: tuple[Lane, ...], surplus: int, mono: int) -> int:
        for found in self._slices:
            if surplus < 0:
                break
            if found.count and found.lane in lanes:
                surplus -= found.count
                mono = max(mono, found.latest + self.span)
        return mono

    def _find(self, lane: Lane, mono: int) -> _Slice | None:
        number = mono // self.grain
        for found in reversed(self._slices):
            if found.number < number:
                return None
            if found.number == number and found.lane is lane:
                return found
        return None

    def _forget(self, mono: int) -> None:
        while self._slices and self._slices[0].latest + self.span <= mono:
            gone = self._slices.popleft()
            self._counts[gone.lane] -= gone.count


@cache  # asked for with every decision, and there are three for each pace that is set
def _shares(lane: Lane, limit: int, shares: LaneShares) -> tuple[tuple[tuple[Lane, ...], int], ...]:
    """Which lanes together may use how much of a window in which this lane wants to start (CONTRACT §8).

    `reserve_high` of it, rounded down, is for high alone; bulk uses at most 80 %, rounded up; each may use at least 1.
    """
    found = [(tuple(Lane), limit)]
    if lane is not Lane.HIGH:
        reserve = Fraction(str(shares.reserve_high))  # 0.29 of 100 is 29, which floats miss
        part = limit - floor(limit * reserve)
        found.append(((Lane.STANDARD, Lane.BULK), max(1, part)))
    if lane is Lane.BULK:
        found.append(((Lane.BULK,), ceil(limit * 4 / 5)))
    return tuple(found)


@dataclass(slots=True)
class Meter:
    """All bounds of one `Pace`."""

    second: Gcra | None
    minute: Window | None
    day: Window | None

    @property
    def has_windows(self) -> bool:
        """Whether it looks back at starts of minutes."""
        return self.minute is not None or self.day is not None

    def pace(self, lane: Lane, shares: LaneShares, mono: int) -> Bound | None:
        """The bound per second or per minute, whichever has room later; None when there is none."""
        second = None if self.second is None else self.second.bound(mono)
        if self.minute is None:
            return second
        minute = self.minute.bound(lane, shares, mono)
        if second is None:
            return minute
        return max(second, minute, key=_room_from)

    def cap(self, lane: Lane, shares: LaneShares, mono: int) -> Bound | None:
        """The bound per day; None when there is none."""
        return None if self.day is None else self.day.bound(lane, shares, mono)

    def bounds(self, shares: LaneShares, mono: int) -> dict[str, Bound]:
        """Every bound that there is, by its span, as the lane meets it that may use all of it."""
        found = {} if self.second is None else {"second": self.second.bound(mono)}
        for name, window in (("minute", self.minute), ("day", self.day)):
            if window is not None:
                found[name] = window.bound(Lane.HIGH, shares, mono)
        return found

    def take(self, lane: Lane, mono: int) -> None:
        """Count a start."""
        if self.second is not None:
            self.second.take(mono)
        for window in self._windows():
            window.take(lane, mono)

    def give_back(self, lane: Lane, mono: int) -> None:
        """Uncount the start of that moment: it never reached MAIL."""
        for window in self._windows():
            window.give_back(lane, mono)

    def change(self, pace: Pace, mono: int) -> "Meter":
        """Go on with other bounds; what was counted stays counted.

        The windows that nothing was counted in so far, for whoever knows more from the store.
        """
        new = meter(pace)
        fresh = Meter(None, None, None)
        self.second = changed_gcra(self.second, pace.per_second, pace.burst, mono)
        if self.minute is not None and new.minute is not None:
            self.minute.limit = new.minute.limit
        else:
            self.minute = fresh.minute = new.minute
        if self.day is not None and new.day is not None:
            self.day.limit = new.day.limit
        else:
            self.day = fresh.day = new.day
        return fresh

    def restore(self, lane: Lane, minute: int, count: int, now: Moment) -> None:
        """Count starts of a stored minute (since 1970), in order, as if all were made in its last microsecond."""
        age = max(0, now.at - ((minute + 1) * MINUTE - 1))
        for window in self._windows():
            if age < window.span:
                window.take(lane, now.mono - age, count)

    def _windows(self) -> Iterator[Window]:
        for window in (self.minute, self.day):
            if window is not None:
                yield window


def _room_from(bound: Bound) -> int:
    return bound.from_mono


def meter(pace: Pace) -> Meter:
    """The meter of a pace, with nothing counted yet."""
    return Meter(
        second=gcra(pace.per_second, pace.burst),
        minute=None if pace.per_minute is None else Window(pace.per_minute, MINUTE, _MINUTE_GRAIN),
        day=None if pace.per_day is None else Window(pace.per_day, _DAY, MINUTE),
    )
