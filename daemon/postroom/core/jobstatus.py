"""What a job's deliveries come to: its status and whether it is settled (CONTRACT §2)."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from postroom.core.delivery import UNSETTLED, DeliveryState


class JobStatus(StrEnum):
    """The status of a job."""

    ACCEPTED = "accepted"
    IN_PROGRESS = "in_progress"
    HELD = "held"
    COMPLETED = "completed"
    PARTIAL = "partial"
    UNCERTAIN = "uncertain"
    FAILED = "failed"
    CANCELLED = "cancelled"


_S = DeliveryState
_BUSY: Final = frozenset({_S.SENDING, _S.RETRY_SCHEDULED})


def job_status(states: Iterable[DeliveryState]) -> JobStatus:
    """The status of a job with deliveries in these states: the first of the contract's rules that fits."""
    found = frozenset(states)
    has_ended = bool(found - UNSETTLED)
    if found & _BUSY or (has_ended and found & UNSETTLED):
        return JobStatus.IN_PROGRESS
    if found == {_S.PENDING}:
        return JobStatus.ACCEPTED
    if _S.HELD in found:
        return JobStatus.HELD
    return _settled_status(found)


def is_settled(states: Iterable[DeliveryState]) -> bool:
    """Whether nothing more happens to these deliveries by itself."""
    return UNSETTLED.isdisjoint(states)


def _settled_status(found: frozenset[DeliveryState]) -> JobStatus:
    if found == {_S.SENT}:
        return JobStatus.COMPLETED
    for state, status in (
        (_S.SENT, JobStatus.PARTIAL),
        (_S.UNCERTAIN, JobStatus.UNCERTAIN),
        (_S.FAILED, JobStatus.FAILED),
    ):
        if state in found:
            return status
    return JobStatus.CANCELLED
