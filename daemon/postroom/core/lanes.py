"""Which lane is next: smooth weighted round robin over those that have somebody who may go."""

from collections.abc import Collection
from dataclasses import dataclass

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
