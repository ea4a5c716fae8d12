"""What is answered about leases, consumers and threads."""

from msgspec import UNSET, UnsetType

from postroom.api.answered import Answered
from postroom.api.requests import EventId, LeaseId, Moment, ThreadId
from postroom.api.shapes import Delivery, Job
from postroom.api.shapes_events import Event
from postroom.core.velocity import HoldScope


class LeasedThread(Answered, frozen=True):
    """The conversation that a lease is on."""

    id: ThreadId
    version: int
    mailbox_id: str
    conversation_id: str | None
    metadata: dict[str, str]


class Lease(Answered, frozen=True):
    """An exclusive, expiring right. `more`: further events wait in the thread that did not fit."""

    id: LeaseId
    fence: int
    thread: LeasedThread
    expires_at: Moment
    receive_count: int
    more: bool
    events: list[Event]


class LeaseWritten(Answered, frozen=True):
    """The same as it is written: an event's further members as its type brings them."""

    id: LeaseId
    fence: int
    thread: LeasedThread
    expires_at: Moment
    receive_count: int
    more: bool
    events: list[dict[str, object]]


class LeaseList(Answered, frozen=True):
    """Leases; none when the wait was in vain. `draining`: the daemon stops, and gives none."""

    leases: list[Lease]
    draining: bool | UnsetType = UNSET


class LeasesWritten(Answered, frozen=True):
    """The same as it is written."""

    leases: list[LeaseWritten]
    draining: bool | UnsetType = UNSET


class ReleasedLease(Answered, frozen=True):
    """It was given back, now or by the same call before."""

    id: LeaseId


class CompletedLease(Answered, frozen=True):
    """What is acknowledged, and the job of each reply, in order. `repeated`: that is what the first call did."""

    id: LeaseId
    acked: list[EventId]
    replies: list[Job]
    repeated: bool


class Consumer(Answered, frozen=True):
    """A named reader: its types, how many events wait for it or are dead, how many threads are leased."""

    name: str
    types: list[str]
    created_at: Moment
    pending: int
    dead: int
    leased: int


class ConsumerList(Answered, frozen=True):
    """Every consumer, by name."""

    items: list[Consumer]
    next_cursor: None


class RevivedEvent(Answered, frozen=True):
    """It waits for this consumer again."""

    id: EventId
    consumer: str


class DeadFor(Answered, frozen=True):
    """For whom it is dead, since when, and how many leases showed it."""

    consumer: str
    dead_at: Moment
    receive_count: int


class DeadEvent(Answered, frozen=True):
    """An event that somebody could not handle."""

    event: Event
    dead_for: list[DeadFor]


class DeadEventWritten(Answered, frozen=True):
    """The same as it is written."""

    event: dict[str, object]
    dead_for: list[DeadFor]


class DeadLetters(Answered, frozen=True):
    """Deliveries that ended unsent or in doubt, and events that nobody could handle; newest first."""

    items: list[Delivery]
    next_cursor: str | None
    events: list[DeadEvent]
    next_events_cursor: str | None


class DeadLettersWritten(Answered, frozen=True):
    """The same as it is written."""

    items: list[Delivery]
    next_cursor: str | None
    events: list[DeadEventWritten]
    next_events_cursor: str | None


class Hold(Answered, frozen=True):
    """What a loop holds: the thread, or all that goes to an address or a domain (`name`), and the event that showed it."""

    scope: HoldScope
    name: str | None
    evidence: str
    event_id: EventId
    held_at: Moment


class Thread(Answered, frozen=True):
    """A conversation: our latest deliveries in it, and of what happened. `whole`: there are no earlier ones.

    `held`: a loop holds it, or deliveries in it, since `held_at`; `holds` says what and why.
    """

    id: ThreadId
    version: int
    mailbox_id: str
    conversation_id: str | None
    metadata: dict[str, str]
    created_at: Moment
    deliveries: list[Delivery]
    events: list[Event]
    whole: bool
    held: bool
    held_at: Moment | None
    holds: list[Hold]


class ThreadWritten(Answered, frozen=True):
    """The same as it is written."""

    id: ThreadId
    version: int
    mailbox_id: str
    conversation_id: str | None
    metadata: dict[str, str]
    created_at: Moment
    deliveries: list[Delivery]
    events: list[dict[str, object]]
    whole: bool
    held: bool
    held_at: Moment | None
    holds: list[Hold]
