"""When the wall clock is not believed, and what can not be undone waits (HAZARDS Q11). Pure.

It is doubted while it has moved against the monotonic clock by more than an hour since the start, or was at the start
more than a week from the newest instant in the store; after a day of monotonic time it is believed as it is.
"""

from typing import Final

from postroom.core.instant import MINUTE, Instant, Moment


_HOUR: Final = 60 * MINUTE
_DAY: Final = 24 * _HOUR
_WEEK: Final = 7 * _DAY


class ClockDoubt:
    """Judges the wall clock by where it stood at the start; `newest` is the newest instant in the store, if any."""

    def __init__(self, start: Moment, newest: Instant | None) -> None:
        self._start = start
        self._is_start_odd = newest is not None and abs(start.at - newest) > _WEEK

    def is_doubted(self, now: Moment) -> bool:
        """Whether what can not be undone has to wait."""
        if now.mono - self._start.mono >= _DAY:
            self._start, self._is_start_odd = now, False
            return False
        moved = abs((now.at - now.mono) - (self._start.at - self._start.mono))
        return self._is_start_odd or moved > _HOUR
