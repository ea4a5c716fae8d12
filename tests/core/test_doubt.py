"""What evidence does to a delivery, and what a mailbox's policy makes of a doubt."""

from datetime import timedelta
from itertools import product

import pytest

from postroom.core.delivery import UNSETTLED, DeliveryState, HoldReason, may_become
from postroom.core.doubt import Bearing, Outlook, bearing, no_resend, outlook
from postroom.core.instant import SECOND, Instant
from postroom.core.mailbox import DoubtPolicy, OnUncertain
from postroom.core.reason import ReasonCode


S, B = DeliveryState, Bearing
NOON = Instant(1_796_040_000 * SECOND)
QUARTER = 900 * SECOND

BEARINGS = {
    "waits, never in doubt": (S.PENDING, 0, False, B.NONE),
    "waits, was in doubt": (S.PENDING, 1, False, B.SETTLES),
    "waits for a retry, the relay answered": (S.RETRY_SCHEDULED, 0, False, B.NONE),
    "waits for a retry of the second copy": (S.RETRY_SCHEDULED, 2, False, B.SETTLES),
    "held, was in doubt": (S.HELD, 1, False, B.SETTLES),
    "under way, before its mark": (S.SENDING, 0, False, B.NONE),
    "under way again, before its mark": (S.SENDING, 1, False, B.SETTLES),
    "under way, marked": (S.SENDING, 0, True, B.KEPT),
    "under way again, marked": (S.SENDING, 1, True, B.KEPT),
    "in doubt": (S.UNCERTAIN, 0, True, B.SETTLES),
    "in doubt because of an earlier copy": (S.UNCERTAIN, 1, False, B.SETTLES),
    "refused": (S.FAILED, 0, False, B.NONE),
    "called failed while it was in doubt": (S.FAILED, 1, False, B.SETTLES),
    "sent": (S.SENT, 1, False, B.NONE),
    "cancelled": (S.CANCELLED, 0, False, B.NONE),
    "skipped": (S.SKIPPED, 0, False, B.NONE),
}


@pytest.mark.parametrize(
    ("state", "doubts", "is_marked", "expected"), BEARINGS.values(), ids=BEARINGS.keys()
)
def test_evidence_settles_what_has_an_unanswered_mark(
    state: S, doubts: int, expected: B, *, is_marked: bool
) -> None:
    assert bearing(state, doubts, is_marked=is_marked) is expected


def test_evidence_speaks_of_what_was_restored_from_a_copy() -> None:
    for reason in HoldReason:
        found = bearing(S.HELD, 0, is_marked=False, hold_reason=reason)
        assert found is (B.SETTLES if reason is HoldReason.RESTORED else B.NONE)


def test_evidence_never_asks_for_a_step_that_there_is_not() -> None:
    for state, doubts, is_marked in product(S, (0, 1), (False, True)):
        if bearing(state, doubts, is_marked=is_marked) is B.SETTLES:
            assert may_become(state, S.SENT)
        if not doubts and not is_marked and state in UNSETTLED:
            assert bearing(state, doubts, is_marked=is_marked) is B.NONE


RULED_OUT = {
    "nothing against it": ({}, None),
    "its time is over": ({"not_after": NOON}, ReasonCode.EXPIRED),
    "its time is not over": ({"not_after": Instant(NOON + 1)}, None),
    "suppressed": ({"is_suppressed": True}, ReasonCode.RECIPIENT_SUPPRESSED),
    "taken back": ({"is_cancelled": True}, ReasonCode.CANCELLED),
    "all of it": (
        {"not_after": NOON, "is_suppressed": True, "is_cancelled": True},
        ReasonCode.CANCELLED,
    ),
}


@pytest.mark.parametrize(("given", "expected"), RULED_OUT.values(), ids=RULED_OUT.keys())
def test_nothing_is_sent_again_that_may_not_be_sent(
    given: dict[str, object], expected: ReasonCode | None
) -> None:
    plain = {"not_after": None, "is_suppressed": False, "is_cancelled": False}
    assert no_resend(now=NOON, **{**plain, **given}) is expected  # type: ignore[arg-type]


DUE = Instant(NOON + QUARTER)
OUTLOOKS = {
    "held": (OnUncertain.HOLD, False, None, None, None),
    "held, a second doubt": (OnUncertain.HOLD, True, None, None, None),
    "sent again": (OnUncertain.RESEND, False, None, DUE, None),
    "not sent a third time": (
        OnUncertain.RESEND,
        True,
        None,
        None,
        "it may have been sent again before",
    ),
    "ruled out": (OnUncertain.RESEND, False, ReasonCode.EXPIRED, None, "expired"),
    "taken for sent": (OnUncertain.ASSUME_SENT, False, None, DUE, None),
    "a second doubt taken for sent": (OnUncertain.ASSUME_SENT, True, None, DUE, None),
    "ruled out, taken for sent": (OnUncertain.ASSUME_SENT, False, ReasonCode.EXPIRED, DUE, None),
}


@pytest.mark.parametrize(
    ("kind", "is_second", "ruled_out", "at", "why"), OUTLOOKS.values(), ids=OUTLOOKS.keys()
)
def test_a_policy_says_what_it_will_do_and_when(
    kind: OnUncertain,
    ruled_out: ReasonCode | None,
    at: Instant | None,
    why: str | None,
    *,
    is_second: bool,
) -> None:
    policy = DoubtPolicy(kind, timedelta(minutes=15))
    found = outlook(policy, NOON, is_second=is_second, ruled_out=ruled_out)
    assert found == Outlook(kind, at, why)
