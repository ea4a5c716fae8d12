"""What the account tells of commits: what people did and what was judged, and nothing of everyday changes."""

import pytest

from postroom.core.delivery import DeliveryState as S
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.ops.chronicle import Chronicle
from postroom.ops.signals import Signals
from postroom.ops.throttle import Throttle
from postroom.ports.changes import (
    Change,
    DeliveryQuarantined,
    DoubtJudged,
    EventPublished,
    EventsDied,
    JobChanged,
    LeaseExpired,
    MailboxPaused,
    RecipientSuppressed,
    StateMoved,
    ThreadFreed,
    ThreadHeld,
)
from postroom.service.account import LoopAccount
from support.decision_log import Log


TOLD: list[tuple[Change, str]] = [
    (MailboxPaused("support", is_paused=True, by="uid:1", reason="x"), "mailbox.paused"),
    (MailboxPaused("support", is_paused=False, by="uid:1", reason=""), "mailbox.resumed"),
    (ThreadHeld("support", 1, 1, "velocity_thread", "x.example", ("thread",), 1), "thread.held"),
    (ThreadFreed("support", 1, 1, "velocity_thread", "uid:1", 1), "thread.freed"),
    (LeaseExpired("agent", "support", 1, 1), "lease.expired"),
    (EventsDied("agent", "support", 1, (1,)), "events.died"),
    (
        RecipientSuppressed("support", 1, 1, "a@x.example", "hard_bounce", "evt_1"),
        "recipient.suppressed",
    ),
    (DeliveryQuarantined(1, 1, "support"), "delivery.quarantined"),
    (
        DoubtJudged(1, 1, "support", S.SENT, "evidence", ReasonCode.DOUBT_NO_ANSWER),
        "doubt.settled",
    ),
]
UNTOLD: list[Change] = [
    StateMoved("support", Lane.STANDARD, S.SENDING, S.SENT, None, 1),
    EventPublished(1, "support", 1, "delivery.sent", ()),
    JobChanged(1),
]


def told(*changes: Change) -> list[object]:
    log = Log()
    throttle = Throttle(log.clock)
    chronicle = Chronicle(log.book, throttle)
    LoopAccount(log.decisions, chronicle, Signals()).committed(changes)
    return [line["event"] for line in log.lines()]


@pytest.mark.parametrize(("change", "event"), TOLD, ids=[event for _, event in TOLD])
def test_what_somebody_should_know_of_is_told(change: Change, event: str) -> None:
    assert told(*UNTOLD, change) == [event]


def test_everyday_changes_are_not_told() -> None:
    assert told(*UNTOLD) == []
