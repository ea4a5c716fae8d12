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
        self._began_at = newest if newest is not None and self._is_start_odd else start.at

    def is_doubted(self, now: Moment) -> bool:
        """Whether what can not be undone has to wait."""
        if now.mono - self._start.mono >= _DAY:
            self._start, self._is_start_odd, self._began_at = now, False, now.at
            return False
        moved = abs((now.at - now.mono) - (self._start.at - self._start.mono))
        return self._is_start_odd or moved > _HOUR

    def believed_at(self, now: Moment) -> Instant | None:
        """While it is doubted: where it would stand had it gone on; at an odd start, from the newest instant on."""
        if not self.is_doubted(now):
            return None
        return Instant(self._began_at + now.mono - self._start.mono)


def find_doubtful(
    planned_since: Instant | None,
    due_at: Instant,
    not_after: Instant | None,
    now: Instant,
    believed_at: Instant | None,
) -> Instant | None:
    """From when on by the believed time it is so, where only a doubted clock says that a send time has come or a time is over.

    `planned_since`: when a delivery was accepted that was never tried; None = it was. None: the clock does not matter.
    """
    if believed_at is None:
        return None
    if planned_since is not None and planned_since <= believed_at < due_at <= now:
        return due_at
    if not_after is not None and believed_at <= not_after < now:
        return Instant(not_after + 1)
    return None
