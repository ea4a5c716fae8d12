"""Says of each kind of event when it may be logged again: the first at once, then one a minute with a count."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from postroom.core.instant import MINUTE
from postroom.ports.host import Clock


_KINDS: Final = 1_024  # remembered at once; beyond it the one that was silent longest is forgotten


@dataclass(slots=True)
class _Kind:
    logged_at: int
    unlogged: int = 0


class Throttle:
    """Counts what is not logged."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kinds: OrderedDict[Hashable, _Kind] = OrderedDict()

    def pass_one(self, kind: Hashable) -> int | None:
        """How many of this kind went unlogged since the last line; None = this one is not to be logged either."""
        now = self._clock.monotonic()
        known = self._kinds.get(kind)
        if known is not None and now - known.logged_at < MINUTE:
            known.unlogged += 1
            return None
        self._kinds[kind] = _Kind(now)
        self._kinds.move_to_end(kind)
        if len(self._kinds) > _KINDS:
            self._kinds.popitem(last=False)
        return known.unlogged if known else 0
