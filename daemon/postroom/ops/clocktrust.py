"""Whether the wall clock is believed, and the word of a person that it is right (HAZARDS Q11)."""

from postroom.core.clockdoubt import ClockDoubt
from postroom.core.instant import Instant, Moment
from postroom.ports.host import Clock


class ClockTrust:
    """Judges the clock of this run; `newest` is the newest instant in the store at the start."""

    def __init__(self, clock: Clock, newest: Instant | None) -> None:
        self._clock = clock
        self._doubt = ClockDoubt(self._moment(), newest)

    def is_doubted(self) -> bool:
        """Whether what can not be undone has to wait."""
        return self._doubt.is_doubted(self._moment())

    def confirm(self) -> None:
        """Somebody looked: it is right as it stands."""
        self._doubt = ClockDoubt(self._moment(), None)

    def _moment(self) -> Moment:
        return Moment(self._clock.now(), self._clock.monotonic())
