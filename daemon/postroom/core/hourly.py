"""A rolling count over an hour, in buckets of a minute: exact to the minute, and small however much is counted.

Moments are minutes of any clock that never goes back.
"""

from collections import deque
from typing import Final


_HOUR: Final = 60


class HourlyCount:
    """How much was counted within the last hour."""

    __slots__ = ("_buckets", "total")

    def __init__(self) -> None:
        self._buckets: deque[list[int]] = deque()
        self.total = 0

    def add(self, minute: int, count: int) -> None:
        """Count; `minute` is not before the last one. A negative count takes back what was counted in that minute."""
        for bucket in reversed(self._buckets):
            if bucket[0] == minute:
                bucket[1] += count
                self.total += count
                return
            if bucket[0] < minute:
                break
        if count > 0:
            self._buckets.append([minute, count])
            self.total += count

    def forget(self, minute: int) -> None:
        """Drop what is an hour old at this minute."""
        while self._buckets and self._buckets[0][0] <= minute - _HOUR:
            self.total -= self._buckets.popleft()[1]

    def minutes_until(self, minute: int, room: int) -> int:
        """How many minutes from `minute` until no more than `room` of what is counted now still counts."""
        left = self.total
        freed_at = minute
        for counted_at, count in self._buckets:
            if left <= room:
                break
            left -= count
            freed_at = counted_at + _HOUR
        return freed_at - minute
