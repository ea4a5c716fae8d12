"""What the states of its deliveries make of a job."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.delivery import UNSETTLED, DeliveryState
from postroom.core.status import JobStatus, job_status


@pytest.mark.parametrize(
    ("states", "status"),
    [
        ("pending", "accepted"),
        ("pending pending", "accepted"),
        ("pending sending", "in_progress"),
        ("retry_scheduled", "in_progress"),
        ("sent retry_scheduled", "in_progress"),
        ("held sending", "in_progress"),
        ("sent pending", "in_progress"),
        ("failed held", "in_progress"),
        ("held", "held"),
        ("held pending", "held"),
        ("sent", "completed"),
        ("sent sent", "completed"),
        ("sent failed", "partial"),
        ("sent uncertain", "partial"),
        ("sent cancelled", "partial"),
        ("uncertain failed", "uncertain"),
        ("failed cancelled", "failed"),
        ("cancelled", "cancelled"),
        ("skipped", "cancelled"),
        ("cancelled skipped", "cancelled"),
    ],
)
def test_the_status_of_a_job(states: str, status: str) -> None:
    found = [DeliveryState(word) for word in states.split()]
    assert job_status(found) == status


@given(st.lists(st.sampled_from(DeliveryState), min_size=1))
def test_a_status_says_whether_a_job_is_settled(states: list[DeliveryState]) -> None:
    open_ones = {JobStatus.ACCEPTED, JobStatus.IN_PROGRESS, JobStatus.HELD}
    assert (job_status(states) in open_ones) is bool(UNSETTLED & set(states))
