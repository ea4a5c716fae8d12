"""The breaker of a relay or a mailbox: when it stops being tried, when it is probed, when all is well again.

Pure: a stored value and what was seen give the next value. Connection faults open it, and so do replies that speak of
us and storms, each with its own first probe and longest wait. Open, one attempt at a time goes through as a probe.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Final

from postroom.core.instant import SECOND, Instant, later, micros
from postroom.core.reason import ReasonCode


class BreakerState(StrEnum):
    """closed: all may pass; open: nobody until the next probe is due; half_open: a probe was good, more are wanted."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class Breaker:
    """The stored form. `last20` holds the latest outcomes as bits, 1 = fault; `seen` how many of them there were.

    `probe_at` is when the next dial (closed, after a fault) or the next probe may be made.
    """

    state: BreakerState = BreakerState.CLOSED
    reason: ReasonCode | None = None
    faults_in_row: int = 0
    last20: int = 0
    seen: int = 0
    opened_at: Instant | None = None
    probe_at: Instant | None = None
    probe_s: float = 0.0
    good_in_row: int = 0

    @property
    def is_closed(self) -> bool:
        """Whether attempts go through without being probes."""
        return self.state == BreakerState.CLOSED


CLOSED: Final = Breaker()


@dataclass(frozen=True, slots=True)
class Probing:
    """How long after it opened it is probed first, and what doubling comes to at most."""

    first: timedelta
    longest: timedelta


FAULTS_IN_ROW: Final = 5
FAULTS_OF_20: Final = 10
GOOD_TO_CLOSE: Final = 3
_LATEST: Final = 20
_WELL: Final = Breaker(seen=_LATEST)
_DIAL_BACKOFF: Final = timedelta(seconds=0.2)  # 0.2 to 1.6 s, in all 3 s: a blip is not an outage
_LONGEST_BACKOFF: Final = _DIAL_BACKOFF * 2 ** (FAULTS_IN_ROW - 2)

_UNREACHABLE: Final = Probing(timedelta(seconds=30), timedelta(minutes=15))
_BY_HAND: Final = Probing(timedelta(minutes=5), timedelta(hours=1))  # what only a person can mend
PROBING: Final[dict[ReasonCode, Probing]] = {
    ReasonCode.RELAY_UNREACHABLE: _UNREACHABLE,
    ReasonCode.RELAY_STORAGE_FULL: Probing(timedelta(minutes=1), timedelta(minutes=15)),
    ReasonCode.RATE_LIMITED: Probing(timedelta(minutes=1), timedelta(minutes=15)),
    ReasonCode.AUTH_FAILED: Probing(timedelta(minutes=15), timedelta(hours=1)),
    ReasonCode.QUOTA_DAILY: Probing(timedelta(hours=1), timedelta(hours=4)),
    ReasonCode.IP_BLOCKED: Probing(timedelta(minutes=15), timedelta(hours=1)),
    ReasonCode.RELAYING_DENIED: _BY_HAND,
    ReasonCode.RELAY_REFUSED: _BY_HAND,
    ReasonCode.SENDER_REFUSED: _BY_HAND,
    ReasonCode.SENDER_UNAUTHENTICATED: _BY_HAND,
    ReasonCode.PERMANENT_STORM: Probing(timedelta(minutes=1), timedelta(minutes=15)),
    ReasonCode.DOUBT_STORM: Probing(timedelta(minutes=1), timedelta(minutes=15)),
}


def good(breaker: Breaker, now: Instant) -> Breaker:
    """After an attempt that shows that all is well: three in a row close it."""
    if breaker == _WELL:  # as nearly always: nothing to count
        return breaker
    if breaker.is_closed:
        return replace(_seen(breaker, fault=False), faults_in_row=0, probe_at=None)
    good_in_row = breaker.good_in_row + 1
    if good_in_row >= GOOD_TO_CLOSE:
        return CLOSED
    return replace(breaker, state=BreakerState.HALF_OPEN, good_in_row=good_in_row, probe_at=now)


def fault(breaker: Breaker, now: Instant, cap: timedelta) -> Breaker:
    """After a connection fault. `cap` bounds the first wait: the mailbox's longest wait between two tries."""
    if not breaker.is_closed:
        return bad(breaker, now)
    counted = replace(_seen(breaker, fault=True), faults_in_row=breaker.faults_in_row + 1)
    faults_of_20 = counted.last20.bit_count() if counted.seen == _LATEST else 0
    if counted.faults_in_row >= FAULTS_IN_ROW or faults_of_20 >= FAULTS_OF_20:
        opened = _opened(ReasonCode.RELAY_UNREACHABLE, now, min(_UNREACHABLE.first, cap))
        return replace(opened, faults_in_row=counted.faults_in_row)
    wait = _DIAL_BACKOFF * 2 ** (counted.faults_in_row - 1)
    return replace(counted, probe_at=later(now, min(wait, cap)))


def trip(breaker: Breaker, reason: ReasonCode, now: Instant) -> Breaker:
    """Opened for a reason of the table; for a reason not in it nothing changes, and the same reason again is a bad probe."""
    probing = PROBING.get(reason)
    if probing is None:
        return breaker
    if not breaker.is_closed and breaker.reason == reason:
        return bad(breaker, now)
    return _opened(reason, now, probing.first)


def bad(breaker: Breaker, now: Instant) -> Breaker:
    """After a probe that failed: open, and the wait doubles. One that began before the latest opening changes nothing."""
    if breaker.is_closed or (breaker.state == BreakerState.OPEN and not is_due(breaker, now)):
        return breaker
    wait = min(timedelta(seconds=breaker.probe_s * 2), _probing(breaker).longest)
    return replace(
        breaker,
        state=BreakerState.OPEN,
        probe_at=later(now, wait),
        probe_s=wait.total_seconds(),
        good_in_row=0,
    )


def unclear(breaker: Breaker, now: Instant) -> Breaker:
    """After a probe that showed nothing: the next one after the same wait."""
    if breaker.is_closed or not is_due(breaker, now):
        return breaker
    return replace(breaker, probe_at=later(now, timedelta(seconds=breaker.probe_s)))


def renewed(breaker: Breaker, now: Instant) -> Breaker:
    """After what it guards has become another, or is said to be mended: open, it is probed at once and anew; closed, old faults are forgotten."""
    if breaker.is_closed:
        return CLOSED
    first = _probing(breaker).first
    return replace(
        breaker,
        state=BreakerState.OPEN,
        probe_at=now,
        probe_s=first.total_seconds(),
        good_in_row=0,
    )


def mended(breaker: Breaker, now: Instant) -> Breaker:
    """The same, but what waits for longer than it can have been set to is clock damage and waits for that long."""
    if breaker.probe_at is None:
        return breaker
    wait = _LONGEST_BACKOFF if breaker.is_closed else _probing(breaker).longest
    longest = later(now, wait)
    return breaker if breaker.probe_at <= longest else replace(breaker, probe_at=longest)


def is_due(breaker: Breaker, now: Instant) -> bool:
    """Whether a dial or a probe may be made now."""
    return breaker.probe_at is None or breaker.probe_at <= now


def _opened(reason: ReasonCode, now: Instant, first: timedelta) -> Breaker:
    return Breaker(
        state=BreakerState.OPEN,
        reason=reason,
        opened_at=now,
        probe_at=later(now, first),
        probe_s=micros(first) / SECOND,
    )


def _probing(breaker: Breaker) -> Probing:
    return _UNREACHABLE if breaker.reason is None else PROBING.get(breaker.reason, _UNREACHABLE)


def _seen(breaker: Breaker, *, fault: bool) -> Breaker:
    return replace(
        breaker,
        last20=(breaker.last20 << 1 | fault) % (1 << _LATEST),
        seen=min(_LATEST, breaker.seen + 1),
    )
