"""Slowing down where a relay or a recipient domain says that we are too fast, and speeding up again.

Pure. A text of `core.throttles` halves what goes that way, in starts a minute and at once, from what it was; 50 mails
taken give a tenth back, until all of it is back or nobody has complained for a day. What was under way when it slowed
down says nothing about the slower pace: neither its complaints nor its successes count. All of it is measured on the
monotonic clock.

Known limits: what went that way is measured over a minute or two, and below ten starts a minute it is no measure.
"""

from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from postroom.core.instant import MINUTE, Instant, Moment
from postroom.core.reason import ReasonCode


GOOD_TO_EASE: Final = 50
EASES_BY: Final = 1.1
SLOWEST: Final = 1  # starts a minute
FEWEST: Final = 10  # starts a minute; fewer are no measure of how fast is too fast
FORGOTTEN: Final = 24 * 60 * MINUTE  # without a complaint
_ALL: Final = 1 - 1e-9  # what is multiplied up does not meet 1 exactly


@dataclass(frozen=True, slots=True)
class Slowing:
    """The stored form: `per_minute` starts and `at_once` of them under way is what it was, `share` what is left of it."""

    reason: ReasonCode
    per_minute: int
    at_once: int
    share: float
    since_at: Instant
    told_at: Instant
    good: int = 0

    @property
    def rate(self) -> float:
        """How many may start in a minute now."""
        return max(SLOWEST, self.per_minute * self.share)

    @property
    def interval(self) -> int:
        """From one start to the next, in microseconds."""
        return ceil(MINUTE / self.rate)

    @property
    def most(self) -> int:
        """How many may be under way now."""
        return max(1, int(self.at_once * self.share))


@dataclass(slots=True)
class Stream:
    """What goes one way, to a relay or through it to one domain: how much of it, and how far it is slowed down.

    `told_mono` is when it last slowed down, `last_mono` the latest start.
    """

    in_flight: int = 0
    slowing: Slowing | None = None
    told_mono: int = 0
    last_mono: int = 0
    _minute: int = 0
    _started: int = 0
    _before: int = 0
    _peak: int = 0
    _peak_before: int = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing has to be known of it."""
        return self.in_flight == 0 and self.slowing is None

    def take(self, mono: int) -> None:
        """Count a start."""
        self._turn(mono)
        self.in_flight += 1
        self._started += 1
        self._peak = max(self._peak, self.in_flight)
        self.last_mono = mono

    def end(self) -> None:
        """Count an end."""
        self.in_flight -= 1

    def measure(self, mono: int) -> tuple[int, int]:
        """How many started in the last minute, about; and how many were under way at once in it."""
        self._turn(mono)
        left = MINUTE - mono % MINUTE
        return self._started + self._before * left // MINUTE, max(self._peak, self._peak_before)

    def slowed(self, mono: int) -> Slowing | None:
        """How far it is slowed down; None = it is not, or nobody has complained for a day."""
        is_over = mono - self.told_mono >= FORGOTTEN
        return None if is_over else self.slowing

    def room_from(self, slowing: Slowing) -> int:
        """From when on the next one may start, on the monotonic clock."""
        return self.last_mono + slowing.interval

    def throttle(self, reason: ReasonCode, usual: float, begun: int, now: Moment) -> bool:
        """Slow down because of an attempt begun then; `usual` = starts a minute that the settings allow. Whether it did."""
        before = self.slowed(now.mono)
        if before is not None and begun <= self.told_mono:
            return False
        if before is None:
            before = self._unslowed(reason, usual, now)
        share = max(SLOWEST / before.per_minute, before.share / 2)
        self.slowing = replace(before, reason=reason, share=share, told_at=now.at, good=0)
        self.told_mono = self.last_mono = now.mono
        return True

    def succeed(self, begun: int, mono: int) -> bool:
        """A mail was taken whose attempt began then: whether that changed how far it is slowed down."""
        if self.slowing is None:
            return False
        if self.slowed(mono) is None:
            self.slowing = None
            return True
        if begun <= self.told_mono:
            return False
        good = self.slowing.good + 1
        if good < GOOD_TO_EASE:
            self.slowing = replace(self.slowing, good=good)
            return False
        share = self.slowing.share * EASES_BY
        self.slowing = replace(self.slowing, good=0, share=share) if share < _ALL else None
        return True

    def restore(self, slowing: Slowing, now: Moment) -> None:
        """Go on as it was left. The last start is not known: it is counted as late as it can have been."""
        self.slowing = slowing
        self.told_mono = now.mono - min(max(0, now.at - slowing.told_at), FORGOTTEN)
        self.last_mono = now.mono

    def _unslowed(self, reason: ReasonCode, usual: float, now: Moment) -> Slowing:
        started, at_once = self.measure(now.mono)
        few = int(min(FEWEST, usual))
        return Slowing(reason, max(2 * SLOWEST, few, started), max(1, at_once), 1.0, now.at, now.at)

    def _turn(self, mono: int) -> None:
        minute = mono // MINUTE
        if minute == self._minute:
            return
        is_next = minute == self._minute + 1
        self._before = self._started if is_next else 0
        self._peak_before = self._peak if is_next else 0
        self._minute, self._started, self._peak = minute, 0, self.in_flight
