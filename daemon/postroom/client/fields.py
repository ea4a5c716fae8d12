"""The fields of a job, for type checkers and readers; the daemon is the one that checks them (docs/api.md)."""

from typing import Literal, NotRequired, TypedDict


class Person(TypedDict):
    """A recipient with a display name."""

    address: str
    name: NotRequired[str]


class Attachment(TypedDict, total=False):
    """A staged upload (`ref`) or a file that the daemon can read (`path`, absolute)."""

    ref: str
    path: str
    pin: bool
    filename: str
    content_type: str
    inline: bool
    content_id: str


Recipients = list[str] | list[Person] | list[str | Person]


class Condition(TypedDict, total=False):
    """What must still be so when the job is about to go."""

    thread_version: int
    no_inbound_since: str


class LeaseName(TypedDict):
    """A lease that the caller holds."""

    id: str
    fence: int


_If = TypedDict("_If", {"if": Condition}, total=False)  # a name that no class can have


class JobFields(_If, total=False):
    """Everything that may be said about a job beside who sends what to whom."""

    html: str
    cc: Recipients
    bcc: Recipients
    copies: Literal["conversation", "individual"]
    attachments: list[Attachment]
    headers: dict[str, str]
    reply_to: Recipients
    metadata: dict[str, str]
    priority: Literal["high", "standard", "bulk"]
    send_at: str
    not_after: str
    conversation_id: str
    thread_id: str
    trace_id: str
    idempotency_key: str
    on_duplicate: Literal["replay", "merge"]
    auto_submitted: Literal["auto-generated", "auto-replied", "no"]
    in_reply_to_event: str
    lease: LeaseName
    allow_new_recipients: bool


class LeaseFields(TypedDict, total=False):
    """What else a lease may be asked for (docs/api.md)."""

    mailbox_ids: list[str]
    types: list[str]
    max_threads: int
    max_events: int
    lease_s: float
    attempt_id: str
