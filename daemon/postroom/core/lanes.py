"""Whose turn it is: lanes by smooth weighted round robin, mailboxes by who waited longest since its last start."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from postroom.core.mailbox import Lane, LaneShares


@dataclass(frozen=True, slots=True)
class Wheel:
    """What each lane is owed, in shares of starts."""

    high: int = 0
    standard: int = 0
    bulk: int = 0

    def turn(self, shares: LaneShares, lanes: Collection[Lane]) -> tuple[Lane, "Wheel"]:
        """The lane among these (at least one) that starts next, and the wheel after that start."""
        weights = {Lane.HIGH: shares.high, Lane.STANDARD: shares.standard, Lane.BULK: shares.bulk}
        owed = {Lane.HIGH: self.high, Lane.STANDARD: self.standard, Lane.BULK: self.bulk}
        for lane in lanes:
            owed[lane] += weights[lane]
        chosen = max(sorted(lanes), key=owed.__getitem__)
        owed[chosen] -= sum(weights[lane] for lane in lanes)
        return chosen, Wheel(owed[Lane.HIGH], owed[Lane.STANDARD], owed[Lane.BULK])


@dataclass(slots=True)
class Turns:
    """Mailboxes with work, the one whose last start is longest ago first. One that was blocked keeps its place."""

    _order: dict[str, None] = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        """A picture of the order, so that it may change meanwhile."""
        return iter(tuple(self._order))

    def add(self, mailbox_id: str) -> None:
        """It has work: last in the row, if it is not in it."""
        self._order.setdefault(mailbox_id, None)

    def remove(self, mailbox_id: str) -> None:
        """It has none."""
        self._order.pop(mailbox_id, None)

    def served(self, mailbox_id: str) -> None:
        """It started one: to the end of the row."""
        self._order.pop(mailbox_id, None)
        self._order[mailbox_id] = None
