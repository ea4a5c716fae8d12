"""The life of a delivery: its words, what may become what, and how it ends unsent."""

import pytest

from postroom.core.delivery import (
    POISON_CRASHES,
    SUSPECT_CRASHES,
    DeliveryState,
    end_unsent,
    may_become,
)


S = DeliveryState
NEXT: dict[DeliveryState, str] = {
    S.PENDING: "held sending sent uncertain failed cancelled skipped",
    S.HELD: "pending sent uncertain failed cancelled skipped",
    S.SENDING: "pending held retry_scheduled sent uncertain failed cancelled skipped",
    S.RETRY_SCHEDULED: "held sending sent uncertain failed cancelled skipped",
    S.SENT: "",
    S.UNCERTAIN: "pending sent failed",
    S.FAILED: "pending sent",
    S.CANCELLED: "",
    S.SKIPPED: "",
}


@pytest.mark.parametrize("before", S)
def test_what_may_become_what(before: DeliveryState) -> None:
    assert {after.value for after in S if may_become(before, after)} == set(NEXT[before].split())


@pytest.mark.parametrize("wanted", [S.FAILED, S.CANCELLED, S.SKIPPED])
def test_what_is_given_up_after_a_doubt_stays_in_doubt(wanted: DeliveryState) -> None:
    assert end_unsent(wanted, 0) is wanted
    assert end_unsent(wanted, 1) is S.UNCERTAIN


def test_two_crashes_make_a_suspect_and_three_a_poison() -> None:
    assert (SUSPECT_CRASHES, POISON_CRASHES) == (2, 3)
