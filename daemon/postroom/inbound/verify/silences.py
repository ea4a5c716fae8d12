"""Who does not answer, remembered for a minute: so that many mails which name a silent server do not each wait for it.

A name that nobody answers for while others are answered is not asked again for a minute. While nobody answers anything it
is our own server or network that is gone, and names are asked again as soon as it may be back. Each new name below the
same two labels that stays silent makes the wait for the next one shorter: whoever has a domain has any number of names.

Known limits: many domains may share two labels (`co.uk`). There, one that is silent under many names leaves the others
a third of a second for each question, which is enough for nearly all.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from postroom.core.instant import SECOND
from postroom.ports.resolving import Lookup


PATIENCE_LEAST_S: Final = 0.3  # most servers answer in a tenth of that
_HOLDS: Final = 60 * SECOND
_HOLDS_IN_OUTAGE: Final = 5 * SECOND
_NAMES_MOST: Final = 2048
_FREE: Final = 2  # so many names may be silent before the wait for others becomes shorter


@dataclass(slots=True)
class _Domain:
    names: int
    until: int


class Silences:
    """What is remembered; every `now` is of a monotonic clock, in microseconds."""

    def __init__(self) -> None:
        self._heard_at = -1
        self._names: OrderedDict[Lookup, int] = OrderedDict()
        self._domains: OrderedDict[str, _Domain] = OrderedDict()

    def holds(self, lookup: Lookup, now: int) -> bool:
        """Whether it is known that nobody answers this."""
        return self._names.get(lookup, 0) > now

    def patience_s(self, lookup: Lookup, most_s: float, now: int) -> float:
        """How long to wait for an answer to this."""
        domain = self._domains.get(_domain(lookup))
        if domain is None or domain.until <= now:
            return most_s
        halvings = max(0, domain.names - _FREE)
        return max(min(PATIENCE_LEAST_S, most_s), most_s / 2.0 ** min(halvings, 8))

    def heard(self, now: int) -> None:
        """Somebody answered something."""
        self._heard_at = now

    def add(self, lookup: Lookup, asked_at: int, now: int) -> None:
        """Nobody answered this, which was asked then."""
        is_outage = self._heard_at < asked_at
        self._names[lookup] = now + (_HOLDS_IN_OUTAGE if is_outage else _HOLDS)
        self._names.move_to_end(lookup)
        name = _domain(lookup)
        before = self._domains.pop(name, None)
        count = 0 if before is None or before.until <= now else before.names
        self._domains[name] = _Domain(count + 1, self._names[lookup])
        for some in (self._names, self._domains):
            while len(some) > _NAMES_MOST:
                some.popitem(last=False)


def _domain(lookup: Lookup) -> str:
    return ".".join(lookup.name.split(".")[-2:])
