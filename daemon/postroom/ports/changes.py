"""What a commit changed: told to an Observer, so that memory follows the store and never runs ahead of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode


@dataclass(frozen=True, slots=True)
class RowsWaiting:
    """Rows entered a queue of this mailbox and lane; the earliest is due at `due_at`."""

    mailbox_id: str
    lane: Lane
    due_at: Instant
    domain: str | None


@dataclass(frozen=True, slots=True)
class RowsGone:
    """These rows wait no more, or no more for what they waited for, and it was not the loop that took them."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StateMoved:
    """`count` deliveries of this mailbox and lane went from one state (None = new) to another (None = removed)."""

    mailbox_id: str
    lane: Lane
    before: DeliveryState | None
    after: DeliveryState | None
    reason_code: ReasonCode | None
    count: int


@dataclass(frozen=True, slots=True)
class JobChanged:
    """This job may have settled: whoever waits for it looks again."""

    number: int


@dataclass(frozen=True, slots=True)
class MailboxPaused:
    """A person (`by`, as in a history row) paused a mailbox for a reason, or set it free again (`is_paused` False)."""

    mailbox_id: str
    is_paused: bool
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class RecipientSuppressed:
    """A report put the recipient of this delivery on the mailbox's suppression list; `by` names the report's event."""

    mailbox_id: str
    job: int
    delivery: int
    address: str
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class DeliveryQuarantined:
    """What is stored of this delivery can not be read: it is held, as it is, and the others go on."""

    number: int
    job: int
    mailbox_id: str


@dataclass(frozen=True, slots=True)
class EventPublished:
    """The log has grown by this event, and it is pending for these consumers: streams and long-polls look again."""

    seq: int
    mailbox_id: str
    thread_number: int
    type: str
    consumers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogGrew:
    """The log has grown by an event of no thread, which waits for nobody: streams look again."""

    seq: int
    mailbox_id: str
    type: str


@dataclass(frozen=True, slots=True)
class ThreadWaits:
    """What is pending in this thread for this consumer can be leased again."""

    consumer: str
    thread_number: int


@dataclass(frozen=True, slots=True)
class LeaseExpired:
    """A consumer did not answer in time; what its lease showed waits again, but for what is dead."""

    consumer: str
    mailbox_id: str
    thread_number: int
    lease: int


@dataclass(frozen=True, slots=True)
class EventsDied:
    """These events were shown to a consumer so often that they are dead for it."""

    consumer: str
    mailbox_id: str
    thread_number: int
    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LeaseTimed:
    """At this instant a lease expires or a delay ends."""

    at: Instant


@dataclass(frozen=True, slots=True)
class DoubtJudged:
    """Evidence or a policy (`by`) judged a delivery in doubt; `after` UNCERTAIN = it was left so, for this reason."""

    number: int
    job: int
    mailbox_id: str
    after: DeliveryState
    by: str
    reason_code: ReasonCode


@dataclass(frozen=True, slots=True)
class MailReceived:
    """A message came in and waits to be published."""

    number: int


@dataclass(frozen=True, slots=True)
class MailDone:
    """It is published to the last of its mailboxes."""

    number: int


@dataclass(frozen=True, slots=True)
class ThreadHeld:
    """A loop was found by this event; what is held for it (`scopes`), and how many deliveries waited there."""

    mailbox_id: str
    thread_number: int
    event: int
    evidence: str
    peer_domain: str
    scopes: tuple[str, ...]
    deliveries: int


@dataclass(frozen=True, slots=True)
class HoldsBegun:
    """A loop holds, or held, more than one step settles: the rest is to be settled."""


@dataclass(frozen=True, slots=True)
class ThreadFreed:
    """The hold for the loop found by this event has ended; `by` as in a history row."""

    mailbox_id: str
    thread_number: int
    event: int
    evidence: str
    by: str
    deliveries: int


Change = (
    RowsWaiting
    | RowsGone
    | StateMoved
    | JobChanged
    | MailboxPaused
    | RecipientSuppressed
    | DeliveryQuarantined
    | EventPublished
    | LogGrew
    | ThreadWaits
    | LeaseExpired
    | EventsDied
    | LeaseTimed
    | DoubtJudged
    | MailReceived
    | MailDone
    | ThreadHeld
    | HoldsBegun
    | ThreadFreed
)


class Observer(Protocol):
    """Told of every commit, on the loop's thread, before the callers wake."""

    def committed(self, changes: Sequence[Change]) -> None:
        """Take note; must not raise and must not await."""
        ...
