"""When alerts are raised and cleared: the numbers, and what a reason code is a sign of. Pure.

Rules: an alert is raised when its condition held for `raise_after` without a break, and cleared when it did not hold for
`clear_after`; what a restart left raised is not cleared before `window` is over, for till then nobody can tell.
config/alerts/postroom.rules.yml says the same over the metrics.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from postroom.core.alert import AlertKind, Cause
from postroom.core.reason import ReasonCode


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind: `window` is how far back its condition looks."""

    raise_after: timedelta
    clear_after: timedelta
    window: timedelta = timedelta()


def _rule(raise_min: float, clear_min: float, window_min: float = 0) -> Rule:
    return Rule(*(timedelta(minutes=one) for one in (raise_min, clear_min, window_min)))


RULES: Final[dict[AlertKind, Rule]] = {
    # A batch that comes at once makes the means of three blocks rise for ten minutes.
    AlertKind.DEPTH_RISING: _rule(15, 15, 30),
    AlertKind.RETRIES_GROWING: _rule(10, 15, 30),
    AlertKind.FAILURES_CLUSTERING: _rule(5, 15, 60),
    # A burst that waits for its pace is in the window of a quarter of an hour for as long as it lasts and once more.
    AlertKind.STARTS_DRIFTING: _rule(30, 15, 15),
    AlertKind.SETTLING_DRIFTING: _rule(30, 15, 15),
    AlertKind.ATTEMPTS_DRIFTING: _rule(15, 15, 15),
    AlertKind.EVENTS_WAITING: _rule(0, 5),
    AlertKind.DOUBT_WAITING: _rule(30, 5),
    AlertKind.CAP_NEAR: _rule(0, 30),
    AlertKind.DISK_LOW: _rule(2, 10),
    AlertKind.RELAY_DOWN: _rule(5, 5),
    AlertKind.MAILBOX_BLOCKED: _rule(5, 5),
    AlertKind.CLOCK_JUMPED: _rule(0, 0),
}

BLOCK_MIN: Final = 10  # minutes; what waits is compared over three such
GROWS_BY: Final = 20  # deliveries, between the first block and the third
GROWS_SHARE: Final = 0.1  # of the first block: a long queue moves by more without meaning anything
DUE_S: Final = 300.0  # what is due goes at once where all is well
RETRIES: Final = 20
FAILURES: Final = 10
FAILURES_SHARE: Final = 0.2  # of what a mailbox ended
CLUSTER_SHARE: Final = (
    0.5  # of what ended there: a domain or a workflow that fails does so as a whole
)
DRIFT: Final = 3.0  # times the baseline
DRIFT_LEAST: Final = 10  # measures in the window; fewer are chance
BASELINE_LEAST: Final = 30
STARTS_FLOOR_S: Final = 30.0  # below it nobody minds, whatever it was before
SETTLING_FLOOR_S: Final = 60.0
ATTEMPTS_FLOOR_S: Final = 5.0
EVENTS_S: Final = 3600.0
CAP_SHARE: Final = 0.9
ROOM: Final = 2.0  # times what has to stay free

_R = ReasonCode
_SIGNS: Final[dict[Cause, tuple[ReasonCode, ...]]] = {
    Cause.THROTTLED: (
        *(_R.RATE_LIMITED, _R.QUOTA_DAILY, _R.DOMAIN_DEFERRED, _R.DOMAIN_QUOTA),
        *(_R.GREYLISTED, _R.RELAY_BUSY),
    ),
    Cause.RELAY_GONE: (
        *(_R.RELAY_UNREACHABLE, _R.RELAY_REFUSED, _R.RELAY_STORAGE_FULL, _R.RELAY_DEFERRED),
        *(_R.CONNECTION_LOST, _R.PROTOCOL_ERROR, _R.TLS_FAILED, _R.MARK_WITHDRAWN),
    ),
    Cause.ACCOUNT: (
        *(_R.AUTH_FAILED, _R.RELAYING_DENIED, _R.IP_BLOCKED, _R.SENDER_REFUSED),
        *(_R.MAIL_REFUSED, _R.PERMANENT_STORM),
    ),
    Cause.RECIPIENTS: (
        *(_R.RECIPIENT_DEFERRED, _R.RECIPIENT_MAILBOX_FULL, _R.RECIPIENT_REFUSED, _R.EXPIRED),
    ),
    Cause.OLD_ADDRESSES: (
        *(_R.RECIPIENT_UNKNOWN, _R.RECIPIENT_DISABLED, _R.RECIPIENT_MOVED, _R.DOMAIN_UNKNOWN),
        *(_R.DOMAIN_NO_MAIL, _R.RECIPIENT_SUPPRESSED),
    ),
    Cause.MALFORMED_JOBS: (
        *(_R.MESSAGE_TOO_BIG, _R.MESSAGE_MALFORMED, _R.SMTPUTF8_UNSUPPORTED),
        *(_R.RECIPIENT_BAD_ADDRESS, _R.ATTACHMENT_MISSING, _R.ATTACHMENT_CHANGED),
    ),
    Cause.UNWANTED: (_R.MESSAGE_REFUSED, _R.MESSAGE_SPAM, _R.SENDER_UNAUTHENTICATED),
    Cause.NO_ANSWER: (
        *(_R.DOUBT_NO_ANSWER, _R.DOUBT_BAD_ANSWER, _R.CRASH_AFTER_MARK, _R.DOUBT_STORM),
    ),
}
_CAUSE_OF: Final = {reason: cause for cause, reasons in _SIGNS.items() for reason in reasons}


def cause_of(reason: ReasonCode | None) -> Cause:
    """What a reason is a sign of."""
    return Cause.UNCLEAR if reason is None else _CAUSE_OF.get(reason, Cause.UNCLEAR)
