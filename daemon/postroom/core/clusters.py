"""Failures by recipient domain and by workflow, of the last hour, in bounded memory. Pure.

A name comes into the table with its first failure; what it sends from then on counts, too. Where the table is full, the
name that was seen least lately makes room: what fails in a row stays, what failed once goes.

Known limits: what ends without a try (its time was over, its address is suppressed) is counted by mailbox alone.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from postroom.core.alert import AlertScope, Cause
from postroom.core.alertrules import cause_of
from postroom.core.delivery import DeliveryState
from postroom.core.instant import MINUTE, Instant
from postroom.core.reason import ReasonCode
from postroom.core.sample import Cluster


NAMES: Final = 1024  # of each scope; some hundred bytes each
_SLOT: Final = 10 * MINUTE
_SLOTS: Final = 6


@dataclass(slots=True)
class _Slot:
    """Ten minutes."""

    number: int
    causes: dict[Cause, int] = field(default_factory=dict)
    failed: int = 0
    ended: int = 0


@dataclass(slots=True)
class _Hour:
    """The slots of one name, the latest last."""

    slots: deque[_Slot] = field(default_factory=lambda: deque(maxlen=_SLOTS))

    def slot(self, number: int) -> _Slot:
        if not self.slots or self.slots[-1].number != number:
            self.slots.append(_Slot(number))
        return self.slots[-1]


_Place = tuple[AlertScope, str, str]


@dataclass(slots=True)
class Clusters:
    """The table."""

    _hours: OrderedDict[_Place, _Hour] = field(default_factory=OrderedDict)
    _sizes: Counter[AlertScope] = field(default_factory=Counter)

    def ended(
        self,
        mailbox_id: str,
        names: tuple[str, str],
        state: DeliveryState,
        reason: ReasonCode | None,
        at: Instant,
    ) -> None:
        """A delivery came to its end; `names` are its domain and its trace id."""
        if state not in {DeliveryState.SENT, DeliveryState.FAILED}:
            return
        is_failed = state is DeliveryState.FAILED
        for scope, name in zip((AlertScope.DOMAIN, AlertScope.WORKFLOW), names, strict=True):
            hour = self._find((scope, mailbox_id, name), is_wanted=is_failed)
            if hour is not None:
                slot = hour.slot(at // _SLOT)
                slot.ended += 1
                if is_failed:
                    cause = cause_of(reason)
                    slot.causes[cause] = slot.causes.get(cause, 0) + 1
                    slot.failed += 1

    def within_hour(self, now: Instant) -> tuple[Cluster, ...]:
        """What failed lately."""
        latest = now // _SLOT  # what is later was counted before the clock was set back
        oldest = latest - _SLOTS + 1
        found = []
        for (scope, mailbox_id, name), hour in self._hours.items():
            fresh = [slot for slot in hour.slots if oldest <= slot.number <= latest]
            failed = sum(slot.failed for slot in fresh)
            if failed:
                ended = sum(slot.ended for slot in fresh)
                found.append(Cluster(scope, name, mailbox_id, failed, ended, _main(fresh)))
        return tuple(found)

    def _find(self, place: _Place, *, is_wanted: bool) -> _Hour | None:
        hour = self._hours.get(place)
        if hour is None and not is_wanted:
            return None
        if hour is None:
            hour = self._hours[place] = _Hour()
            self._make_room(place[0])
        self._hours.move_to_end(place)
        return hour

    def _make_room(self, scope: AlertScope) -> None:
        self._sizes[scope] += 1
        if self._sizes[scope] > NAMES:
            first = next(place for place in self._hours if place[0] is scope)
            del self._hours[first]
            self._sizes[scope] -= 1


def _main(slots: Iterable[_Slot]) -> Cause:
    """The cause with the most signs. Plain numbers: Counters took 60 ms of the loop for a full table, these take 10."""
    counts: dict[Cause, int] = {}
    for slot in slots:
        for cause, count in slot.causes.items():
            counts[cause] = counts.get(cause, 0) + count
    return max(counts, key=counts.__getitem__)
