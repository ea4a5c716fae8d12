"""What was measured before: minutes of a mailbox, and the day of a spread that is its own baseline. Pure.

One entry a minute; memory is bounded by the windows, some 20 KB for a mailbox that is busy all the time.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from postroom.core.alert import Cause
from postroom.core.alertrules import BLOCK_MIN
from postroom.core.sample import Counted, Spread


_HOUR: Final = 60
_DAY_H: Final = (
    26  # hourly marks: a day, the hour that is not compared with itself, and the one that runs
)
_NOW_MIN: Final = 15


@dataclass(slots=True)
class MailboxPast:
    """The last hour of a mailbox."""

    _waiting: deque[int] = field(default_factory=lambda: deque(maxlen=3 * BLOCK_MIN))
    _counted: deque[Counted] = field(default_factory=lambda: deque(maxlen=_HOUR + 1))

    def add(self, waiting: int, counted: Counted) -> None:
        """The next minute."""
        self._waiting.append(waiting)
        is_same = bool(self._counted) and self._counted[-1] == counted
        self._counted.append(self._counted[-1] if is_same else counted)

    def blocks(self) -> tuple[float, float, float] | None:
        """How much waited on average in each of the last three blocks, the oldest first; None = it is not known yet."""
        if len(self._waiting) < 3 * BLOCK_MIN:
            return None
        every = list(self._waiting)
        parts = (every[n * BLOCK_MIN : (n + 1) * BLOCK_MIN] for n in range(3))
        first, middle, last = (sum(part) / BLOCK_MIN for part in parts)
        return first, middle, last

    def sent(self, minutes: int) -> int:
        """Mails sent within so many minutes."""
        before = self._before(minutes)
        return self._counted[-1].sent - (before.sent if before else 0)

    def retries(self, minutes: int) -> dict[Cause, int]:
        """Tries that ended with a retry."""
        before = self._before(minutes)
        return _less(self._counted[-1].retries, before.retries if before else {})

    def failed(self, minutes: int) -> dict[Cause, int]:
        """Deliveries that failed."""
        before = self._before(minutes)
        return _less(self._counted[-1].failed, before.failed if before else {})

    def _before(self, minutes: int) -> Counted | None:
        """As it stood so long ago; None = then nothing was counted yet."""
        return self._counted[-1 - minutes] if len(self._counted) > minutes else None


@dataclass(slots=True)
class Drift:
    """A spread of now against that of the day before, without the last hour or two."""

    _minutes: deque[Spread] = field(default_factory=lambda: deque(maxlen=_NOW_MIN + 1))
    _hours: deque[Spread] = field(default_factory=lambda: deque(maxlen=_DAY_H))
    _count: int = 0

    def add(self, spread: Spread) -> None:
        """The next minute."""
        is_same = bool(self._minutes) and self._minutes[-1] == spread
        self._minutes.append(self._minutes[-1] if is_same else spread)
        if self._count % _HOUR == 0:
            self._hours.append(self._minutes[-1])
        self._count += 1

    def now(self) -> Spread:
        """The last quarter of an hour."""
        is_whole = len(self._minutes) > _NOW_MIN
        return self._minutes[-1].since(self._minutes[0] if is_whole else None)

    def baseline(self) -> Spread | None:
        """The day before; None = it is not known yet."""
        if len(self._hours) < 2:  # noqa: PLR2004 - the mark that ends it, and the one that runs
            return None
        is_whole = len(self._hours) == _DAY_H
        return self._hours[-2].since(self._hours[0] if is_whole else None)


def _less(now: Mapping[Cause, int], before: Mapping[Cause, int]) -> dict[Cause, int]:
    found = {cause: count - before.get(cause, 0) for cause, count in now.items()}
    return {cause: count for cause, count in found.items() if count > 0}
