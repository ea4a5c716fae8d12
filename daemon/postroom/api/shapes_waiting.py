"""What is answered about all that waits: by mailbox and lane, what it waits for and until when."""

from postroom.api.answered import Answered
from postroom.api.requests import DeliveryId, Moment
from postroom.api.shapes import Hold
from postroom.core.delivery import DeliveryState
from postroom.core.reason import ReasonCode


class Queue(Answered, frozen=True):
    """One queue of a lane. `domain` null = all recipient domains but those that have a queue of their own here.

    `first_id` is the delivery that goes next, `blocked_by` the gate that it waits at (null = it is about to start), and
    whatever is behind it waits too. `read` = how many are read ahead, seldom all. `next_at`: nothing is due, and this
    is when the first will be.
    """

    domain: str | None
    first_id: DeliveryId | None
    blocked_by: str | None
    value: int | str | None
    threshold: int | str | None
    until_at: Moment | None
    read: int
    next_at: Moment | None


class Retries(Answered, frozen=True):
    """So many in a lane, of a mailbox's oldest 1,000 that are tried again, are so for this reason; the first is due at `next_at`."""

    mailbox_id: str
    priority: str
    reason_code: ReasonCode | None
    deliveries: int
    next_at: Moment


class Lane(Answered, frozen=True):
    """One lane of a mailbox: how many are in which state, and its queues. `oldest_due_age_s` 0 = nothing is due."""

    mailbox_id: str
    relay: str | None
    priority: str
    depth: dict[DeliveryState, int]
    oldest_due_age_s: float
    queues: list[Queue]


class Waiting(Answered, frozen=True):
    """All lanes in which something is not settled or in doubt; what is held and why; what is tried again and why."""

    at: Moment
    in_flight: int
    slots: int
    items: list[Lane]
    next_cursor: None
    holds: list[Hold]
    retries: list[Retries]
