"""Which alerts stand: what lasts is raised, what stays away is cleared, and a restart changes neither. Pure.

`step` says what has to change; nothing has until the store has it and `commit` is told.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from postroom.core.alert import Alert, AlertKey, Raised
from postroom.core.alertrules import RULES
from postroom.core.instant import Instant, Moment, micros
from postroom.core.trend import Finding


@dataclass(frozen=True, slots=True)
class Moves:
    """What is to be raised, and what to be cleared."""

    raised: tuple[Alert, ...] = ()
    cleared: tuple[Raised, ...] = ()


@dataclass(slots=True)
class _Seen:
    """Since when a condition holds, on both clocks."""

    at: Instant
    mono: int


@dataclass(slots=True)
class AlertState:
    """The alerts of one run; `began` is when it began, on the monotonic clock."""

    began: int
    _standing: dict[AlertKey, Raised] = field(default_factory=dict)
    _held: dict[AlertKey, _Seen] = field(default_factory=dict)
    _away: dict[AlertKey, int] = field(default_factory=dict)

    @property
    def standing(self) -> Mapping[AlertKey, Raised]:
        """What is raised."""
        return self._standing

    def restore(self, raised: Iterable[Raised]) -> None:
        """Go on with what another run left raised."""
        self._standing.update({one.alert.key: one for one in raised})

    def step(self, findings: Iterable[Finding], now: Moment) -> Moves:
        """What changes with this minute's findings."""
        found = {finding.key: finding for finding in findings}
        self._held = {
            key: self._held.get(key) or _Seen(now.at, now.mono)
            for key in found
            if key not in self._standing
        }
        lasting = [
            Alert(key, seen.at, found[key].figure, found[key].threshold, found[key].cause)
            for key, seen in self._held.items()
            if now.mono - seen.mono >= micros(RULES[key.kind].raise_after)
        ]
        return Moves(tuple(lasting), tuple(self._find_over(found, now)))

    def commit(self, raised: Iterable[Raised], cleared: Iterable[Raised]) -> None:
        """It is stored."""
        for one in raised:
            self._standing[one.alert.key] = one
            self._held.pop(one.alert.key, None)
        for one in cleared:
            self._standing.pop(one.alert.key, None)
            self._away.pop(one.alert.key, None)

    def _find_over(self, found: Mapping[AlertKey, Finding], now: Moment) -> list[Raised]:
        over = []
        for key, raised in self._standing.items():
            rule = RULES[key.kind]
            if key in found or now.mono - self.began < micros(rule.window):
                self._away.pop(key, None)
                continue
            since = self._away.setdefault(key, now.mono)
            if now.mono - since >= micros(rule.clear_after):
                over.append(raised)
        return over
