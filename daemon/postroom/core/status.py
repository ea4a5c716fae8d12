"""The status of a job: what its deliveries come to, computed and never stored while any is open (CONTRACT §2)."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from postroom.core.delivery import UNSETTLED, DeliveryState


class JobStatus(StrEnum):
    """The word for a whole job."""

    ACCEPTED = "accepted"
    IN_PROGRESS = "in_progress"
    HELD = "held"
    COMPLETED = "completed"
    PARTIAL = "partial"
    UNCERTAIN = "uncertain"
    FAILED = "failed"
    CANCELLED = "cancelled"


_S = DeliveryState

_ENDED: Final = (
    (_S.SENT, JobStatus.PARTIAL),
    (_S.UNCERTAIN, JobStatus.UNCERTAIN),
    (_S.FAILED, JobStatus.FAILED),
)


def job_status(states: Iterable[DeliveryState]) -> JobStatus:
    """The first of the contract's rules that fits the states of a job's deliveries."""
    found = frozenset(states)
    waiting, ended = found & UNSETTLED, found - UNSETTLED
    if found & {_S.SENDING, _S.RETRY_SCHEDULED} or (waiting and ended):
        return JobStatus.IN_PROGRESS
    if _S.HELD in waiting:
        return JobStatus.HELD
    if waiting:
        return JobStatus.ACCEPTED
    if found == {_S.SENT}:
        return JobStatus.COMPLETED
    return next((word for state, word in _ENDED if state in ended), JobStatus.CANCELLED)
