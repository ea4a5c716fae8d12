"""The figures of a daemon that is busy with one mailbox."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from postroom.core.alert import Alert, AlertKey, AlertKind, AlertScope, Cause, Raised
from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import Lane
from postroom.ports.figures import (
    InboundFigures,
    Minute,
    OpenBreaker,
    PaceUse,
    Stats,
    StoreFigures,
)
from postroom.ports.leasing import WaitingEvents
from support.records import NOW


DOWN = Raised(
    Alert(AlertKey(AlertKind.RELAY_DOWN, AlertScope.RELAY, "main"), NOW, 12, 1, Cause.RELAY_GONE),
    NOW,
    7,
)


def stats_at(now: Instant, **changed: Any) -> Stats:
    """What such a daemon says at this instant."""
    ago = {seconds: Instant(now - seconds * SECOND) for seconds in (3, 7, 10, 90)}
    found = Stats(
        at=now,
        started_at=Instant(now - 86_400 * SECOND),
        in_flight=1,
        slots=200,
        depth={
            ("support", Lane.HIGH, DeliveryState.PENDING): 2,
            ("support", Lane.BULK, DeliveryState.SENT): 7,
        },
        oldest_due={("support", Lane.HIGH): ago[3]},
        outcomes={("support", "sent"): 7},
        loop_lag_max=timedelta(milliseconds=3),
        last_minute={"support": Minute(accepted=9, sent=7, failed=1, deferred=2)},
        paused={"news": "uid:0"},
        breakers=(
            OpenBreaker("relay", "main", "open", "relay.unreachable", Instant(now + SECOND)),
        ),
        pace=(PaceUse("mailbox", "support", "minute", 7, 60),),
        connections={"main": 2},
        consumers=(WaitingEvents("agents", 5, 1, ago[90]), WaitingEvents(None, 4, 0, ago[10])),
        lease_expiries=3,
        events_dead=1,
        inbound=InboundFigures(20, 6, 1, 2, ago[7], 1),
        alerts=(DOWN,),
        store=StoreFigures(
            5, 50, timedelta(seconds=0.5), 1, 4_096, 1 << 30, 1 << 28, 90_000, 1_000
        ),
    )
    return replace(found, **changed)
