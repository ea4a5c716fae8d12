"""Alerts that were raised, of a relay and of mailboxes."""

from postroom.core.alert import Alert, AlertKey, AlertKind, AlertScope, Cause, Raised
from postroom.core.instant import Instant
from support.store_host import NOON


K = AlertKind
S = AlertScope
DOWN = AlertKey(K.RELAY_DOWN, S.RELAY, "main")


def failing(box: str) -> AlertKey:
    return AlertKey(K.FAILURES_CLUSTERING, S.MAILBOX, box, box)


def raised(key: AlertKey, at: Instant = NOON, seq: int = 1) -> Raised:
    return Raised(Alert(key, at, 42, 10, Cause.UNCLEAR), at, seq)
