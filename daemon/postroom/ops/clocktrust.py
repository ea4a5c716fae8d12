"""Whether the wall clock is believed, and the word of a person that it is right (HAZARDS Q11)."""

from collections.abc import Callable

from postroom.core.clockdoubt import ClockDoubt
from postroom.core.instant import Instant, Moment
from postroom.ops.host import time_slept
from postroom.ports.host import Clock


class ClockTrust:
    """Judges the clock of this run; `newest` is the newest instant in the store at the start.

    `slept`: the microseconds that the machine has slept, which the monotonic clock leaves out and the wall clock does not.
    """

    def __init__(
        self, clock: Clock, newest: Instant | None, slept: Callable[[], int] = time_slept
    ) -> None:
        self._clock = clock
        self._slept = slept
        self._doubt = ClockDoubt(self._moment(), newest)

    def is_doubted(self) -> bool:
        """Whether what can not be undone has to wait."""
        return self._doubt.is_doubted(self._moment())

    def believed_at(self) -> Instant | None:
        """Where the clock would stand had it not moved; None while it is believed."""
        return self._doubt.believed_at(self._moment())

    def confirm(self) -> None:
        """Somebody looked: it is right as it stands."""
        self._doubt = ClockDoubt(self._moment(), None)

    def _moment(self) -> Moment:
        return Moment(self._clock.now(), self._clock.monotonic() + self._slept())
