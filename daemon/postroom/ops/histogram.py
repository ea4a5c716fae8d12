"""A histogram: how often a measure fell into which bucket, and what all of them came to."""

from bisect import bisect_left
from itertools import accumulate
from typing import Final

from postroom.core.sample import Spread


# Seconds. From a loop step to RFC 5321's ten minutes for the final dot.
ATTEMPT: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600)
# Seconds. From a loop step to the five days that retries may take.
QUEUE: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 300, 1_800, 3_600, 14_400, 86_400, 432_000)


class Histogram:
    """Counts measures in seconds into buckets with these upper bounds, and one beyond them all."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self.total_s += seconds

    def spread(self) -> Spread:
        """All of it as a value."""
        return Spread(self._bounds, tuple(self._counts))

    def buckets(self) -> list[tuple[str, float]]:
        """Prometheus' form: how many were at most as long as each bound, the last bound being +Inf."""
        bounds = [*(f"{bound:g}" for bound in self._bounds), "+Inf"]
        return list(zip(bounds, map(float, accumulate(self._counts)), strict=True))
