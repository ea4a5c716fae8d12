"""What an outcome says about the relay and the mailbox: which breaker it opens, keeps open, or helps to close."""

from datetime import timedelta
from typing import Final

from postroom.core.breaker import PROBING, Breaker, bad, fault, good, trip, unclear
from postroom.core.instant import Instant
from postroom.core.outcome import Verdict
from postroom.core.reason import ReasonCode
from postroom.core.reply import Stage
from postroom.core.replytable import Class, Scope


_R = ReasonCode

CONNECTION_FAULTS: Final = frozenset(
    {
        _R.RELAY_UNREACHABLE,
        _R.RELAY_BUSY,
        _R.TLS_FAILED,
        _R.CONNECTION_LOST,
        _R.PROTOCOL_ERROR,
        _R.MARK_WITHDRAWN,
        _R.DOUBT_NO_ANSWER,
        _R.DOUBT_BAD_ANSWER,
    }
)
STORMS: Final = frozenset({_R.PERMANENT_STORM, _R.DOUBT_STORM})
DEFAULT_DOMAIN_PAUSE: Final = timedelta(minutes=15)

_BEYOND_MAIL: Final = frozenset({Stage.RCPT, Stage.DATA, Stage.BODY, Stage.DOT})


def relay_after(
    breaker: Breaker, stage: Stage, verdict: Verdict | None, now: Instant, cap: timedelta
) -> Breaker:
    """The relay's breaker after an attempt that ended so at `stage`; `cap` = the mailbox's longest wait between tries."""
    if verdict is None:
        return good(breaker, now)
    if verdict.reason in CONNECTION_FAULTS:
        return fault(breaker, now, cap)
    if verdict.scope is Scope.RELAY:
        return (
            trip(breaker, verdict.reason, now)
            if verdict.reason in PROBING
            else unclear(breaker, now)
        )
    if breaker.reason is _R.RELAYING_DENIED and stage not in _BEYOND_MAIL:
        return unclear(breaker, now)
    return good(breaker, now)


def mailbox_after(
    breaker: Breaker, storm: ReasonCode | None, verdict: Verdict | None, now: Instant
) -> Breaker:
    """The mailbox's breaker after an attempt that ended so; `storm` is what the storm guard says with it."""
    if verdict is None:
        return good(breaker, now)
    if breaker.is_closed and storm is not None:
        return trip(breaker, storm, now)
    if verdict.scope is Scope.MAILBOX and verdict.reason in PROBING:
        return trip(breaker, verdict.reason, now)
    is_refused = verdict.class_ is not Class.TEMPORARY
    return bad(breaker, now) if is_refused and breaker.reason in STORMS else unclear(breaker, now)


def goes_back(breaker: Breaker, verdict: Verdict) -> bool:
    """Whether a refusal is not believed, because a storm had opened the mailbox's breaker: the delivery waits on."""
    return verdict.class_ is Class.PERMANENT and breaker.reason in STORMS


def domain_pause(verdict: Verdict) -> timedelta | None:
    """For how long the mailbox leaves the recipient's domain alone; None = it does not."""
    if verdict.scope is not Scope.DOMAIN:
        return None
    return verdict.delay or DEFAULT_DOMAIN_PAUSE
