"""A job as it was understood: one request to send one email to one or more recipients (CONTRACT §3).

Every value is checked and normalised; what the caller wrote is kept beside it as `spec` for equality and for merge.
"""

from dataclasses import dataclass
from enum import StrEnum

from postroom.core.instant import Instant
from postroom.core.mailbox import AutoSubmitted, Lane


class Copies(StrEnum):
    """Whether all recipients see one message, or each gets a personal copy."""

    CONVERSATION = "conversation"
    INDIVIDUAL = "individual"


class OnDuplicate(StrEnum):
    """What a second job under the same key means."""

    REPLAY = "replay"
    MERGE = "merge"


class Field(StrEnum):
    """The address field in which the caller named a recipient."""

    TO = "to"
    CC = "cc"
    BCC = "bcc"


@dataclass(frozen=True, slots=True)
class Address:
    """`address` = addr-spec, domain as lower-case A-labels, local part as given; `name` may be empty."""

    address: str
    name: str = ""

    @property
    def domain(self) -> str:
        """The part after the last `@`."""
        return self.address.rpartition("@")[2]

    @property
    def key(self) -> str:
        """The form in which two spellings of one address are equal."""
        return self.address.casefold()


@dataclass(frozen=True, slots=True)
class Recipient:
    """Who is to get a copy, and in which field the caller put them."""

    address: Address
    field: Field


@dataclass(frozen=True, slots=True)
class StagedAttachment:
    """An attachment uploaded before, by its public reference."""

    ref: str


@dataclass(frozen=True, slots=True)
class PathAttachment:
    """A file on this machine; `pin` keeps it in place instead of copying it."""

    path: str
    pin: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """One attachment as asked for; None = take it from the file or the staged upload."""

    source: StagedAttachment | PathAttachment
    filename: str | None = None
    content_type: str | None = None
    inline: bool = False
    content_id: str | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """What must still be so at the job's first mark: the thread's version, no person's mail after this event's seq."""

    thread_version: int | None
    no_inbound_since: int | None


@dataclass(frozen=True, slots=True)
class LeaseClaim:
    """A lease as its holder names it."""

    number: int
    fence: int


@dataclass(frozen=True, slots=True)
class Job:
    """A whole job. `recipients` are without doubles, in the order to, cc, bcc; `spec` is the request as decoded from JSON.

    `answers` is the seq of the event that it replies to: then mailbox_id and subject may be '' and nobody named in `to`
    until that event has filled them in.
    """

    mailbox_id: str
    recipients: tuple[Recipient, ...]
    duplicates_dropped: int
    subject: str
    text: str | None
    html: str | None
    copies: Copies
    attachments: tuple[Attachment, ...]
    headers: tuple[tuple[str, str], ...]
    reply_to: tuple[Address, ...]
    metadata: tuple[tuple[str, str], ...]
    lane: Lane
    send_at: Instant | None
    not_after: Instant | None
    conversation_id: str | None
    thread_number: int | None
    trace_id: str | None
    idempotency_key: str | None
    on_duplicate: OnDuplicate
    auto_submitted: AutoSubmitted | None
    spec: dict[str, object]
    condition: Condition | None = None
    answers: int | None = None
    lease: LeaseClaim | None = None
    allows_new_recipients: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a request: a JSON pointer (RFC 6901), a sentence, and a stable word where it has one."""

    pointer: str
    detail: str
    code: str | None = None
