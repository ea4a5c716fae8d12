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


class JobFields(TypedDict, total=False):
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
