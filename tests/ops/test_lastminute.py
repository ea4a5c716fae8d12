"""What a mailbox did within the last minute."""

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.mailbox import Lane
from postroom.ops.lastminute import LastMinute
from postroom.ports.changes import JobChanged, StateMoved
from postroom.ports.figures import Minute
from support.clock import FakeClock


S = DeliveryState


def moved(before: S | None, after: S | None, count: int = 1) -> StateMoved:
    return StateMoved("support", Lane.HIGH, before, after, None, count)


@pytest.mark.parametrize(
    ("before", "after", "minute"),
    [
        (None, S.PENDING, Minute(accepted=3)),
        (S.SENDING, S.SENT, Minute(sent=3)),
        (S.UNCERTAIN, S.SENT, Minute(sent=3)),
        (S.PENDING, S.FAILED, Minute(failed=3)),
        (S.SENDING, S.RETRY_SCHEDULED, Minute(deferred=3)),
        (S.SENDING, S.PENDING, Minute(deferred=3)),
        (S.SENDING, S.HELD, Minute(deferred=3)),
    ],
)
def test_what_became_of_deliveries_is_counted(before: S | None, after: S, minute: Minute) -> None:
    watch = LastMinute(FakeClock())
    watch.committed([moved(before, after, 3), JobChanged(1)])
    assert watch.flows() == {"support": minute}


@pytest.mark.parametrize(
    ("before", "after"),
    [(S.SENT, None), (S.PENDING, S.SENDING), (S.SENDING, S.UNCERTAIN), (S.PENDING, S.CANCELLED)],
)
def test_what_is_neither_is_not(before: S, after: S | None) -> None:
    watch = LastMinute(FakeClock())
    watch.committed([moved(before, after)])
    assert watch.flows() == {}


def test_what_is_older_than_a_minute_is_forgotten_slice_by_slice() -> None:
    clock = FakeClock()
    watch = LastMinute(clock)
    for _ in range(24):
        watch.committed([moved(S.SENDING, S.SENT)])
        clock.advance(5)
    assert watch.flows()["support"].sent in {11, 12}
    clock.advance(30)
    assert watch.flows()["support"].sent in {5, 6}
    clock.jump(-86_400)
    assert watch.flows()["support"].sent in {5, 6}
    clock.advance(31)
    assert watch.flows() == {}
