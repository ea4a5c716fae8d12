"""The storm guard of a mailbox: refusals or doubts in such a row that the fault can not be the recipients' (CONTRACT §2).

It lives in memory: a restart begins to count anew, an opened breaker is stored.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from postroom.core.instant import SECOND
from postroom.core.outcome import Verdict
from postroom.core.reason import ReasonCode
from postroom.core.reply import Stage
from postroom.core.replytable import Class, Scope


REFUSALS_AT_MAIL: Final = 3
REFUSALS: Final = 20
REFUSING_DOMAINS: Final = 5
DOUBTS: Final = 5
SLOW_REPLIES: Final = 3
SLOW_AFTER: Final = 60 * SECOND

_BEYOND_MAIL: Final = frozenset({Stage.RCPT, Stage.DATA, Stage.BODY, Stage.DOT})


@dataclass(frozen=True, slots=True)
class Storm:
    """Rows so far. `domains` are those that refused in the row, as many as matter."""

    at_mail: int = 0
    refusals: int = 0
    domains: frozenset[str] = frozenset()
    doubts: int = 0

    @property
    def reason(self) -> ReasonCode | None:
        """Which storm this is; None while it is none."""
        is_row = self.refusals >= REFUSALS and len(self.domains) >= REFUSING_DOMAINS
        if self.at_mail >= REFUSALS_AT_MAIL or is_row:
            return ReasonCode.PERMANENT_STORM
        return ReasonCode.DOUBT_STORM if self.doubts >= DOUBTS else None


CALM: Final = Storm()


def observe(storm: Storm, stage: Stage, verdict: Verdict | None, domain: str) -> Storm:
    """The rows after one more outcome; a temporary one adds to none, and ends one only by what was accepted before it."""
    if verdict is None:
        return CALM
    at_mail = 0 if stage in _BEYOND_MAIL else storm.at_mail
    doubts = 0 if stage is Stage.DOT else storm.doubts
    if verdict.class_ is Class.IN_DOUBT:
        return replace(storm, at_mail=0, doubts=storm.doubts + 1)
    if verdict.class_ is Class.TEMPORARY:
        return replace(storm, at_mail=at_mail, doubts=doubts)
    if stage is Stage.MAIL and verdict.scope is not Scope.MESSAGE:
        at_mail += 1
    if verdict.class_ is Class.OURS:
        return replace(storm, at_mail=at_mail, doubts=doubts)
    return Storm(at_mail, storm.refusals + 1, _with(storm.domains, domain), doubts)


def is_slow_storm(waiting_since: Iterable[int], mono: int) -> bool:
    """Whether too many of a mailbox's attempts wait for their final reply since these monotonic moments."""
    return sum(since + SLOW_AFTER < mono for since in waiting_since) >= SLOW_REPLIES


def _with(domains: frozenset[str], domain: str) -> frozenset[str]:
    return domains if len(domains) >= REFUSING_DOMAINS else domains | {domain}
