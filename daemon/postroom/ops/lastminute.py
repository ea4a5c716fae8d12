"""How much a mailbox did within the last minute: what a person who watches wants to see move.

Counted in slices of five seconds, so a minute is one of 55 to 60 seconds; the monotonic clock counts, so a jump of the
wall clock moves nothing.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from postroom.core.delivery import UNSETTLED, DeliveryState
from postroom.core.instant import MINUTE, SECOND
from postroom.ports.changes import Change, StateMoved
from postroom.ports.figures import Flow, Minute
from postroom.ports.host import Clock


_SLICE: Final = 5 * SECOND
_SLICES: Final = MINUTE // _SLICE


@dataclass(frozen=True, slots=True)
class _Slice:
    number: int
    counts: Counter[tuple[str, Flow]] = field(default_factory=Counter)


class LastMinute:
    """Deliveries by mailbox and what became of them; an Observer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._slices: deque[_Slice] = deque(maxlen=_SLICES)

    def committed(self, changes: Sequence[Change]) -> None:
        """Count what moved."""
        for change in changes:
            if isinstance(change, StateMoved) and (flow := _flow_of(change)) is not None:
                self._now().counts[change.mailbox_id, flow] += change.count

    def flows(self) -> Mapping[str, Minute]:
        """Of every mailbox that did something."""
        oldest = self._clock.monotonic() // _SLICE - _SLICES
        total: Counter[tuple[str, Flow]] = Counter()
        for one in self._slices:
            if one.number > oldest:
                total.update(one.counts)
        mailboxes = dict.fromkeys(mailbox_id for mailbox_id, _ in total)
        return {box: Minute(*(total[box, flow] for flow in Flow)) for box in mailboxes}

    def _now(self) -> _Slice:
        number = self._clock.monotonic() // _SLICE
        if not self._slices or self._slices[-1].number != number:
            self._slices.append(_Slice(number))
        return self._slices[-1]


def _flow_of(moved: StateMoved) -> Flow | None:
    match moved.before, moved.after:
        case _, None:
            return None
        case None, _:
            return Flow.ACCEPTED
        case _, DeliveryState.SENT:
            return Flow.SENT
        case _, DeliveryState.FAILED:
            return Flow.FAILED
        case DeliveryState.SENDING, after if after in UNSETTLED:
            return Flow.DEFERRED
        case _:
            return None
