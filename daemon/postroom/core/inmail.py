"""A received message as it was understood: what the parser process hands back, plain values only (CONTRACT §5).

Everything in it is a stranger's: bounded, without control characters, surrogates or bidi overrides in one-line values.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from postroom.core.bouncereason import NO_SENSE, Sense


class Parse(StrEnum):
    """How far a message was read."""

    COMPLETE = "complete"
    LIMITED = "limited"
    FAILED = "failed"


class AutomationKind(StrEnum):
    """Who wrote it, as far as the message says."""

    HUMAN = "human"
    AUTO_REPLY = "auto_reply"
    LIST = "list"
    BULK = "bulk"
    REPORT = "report"
    LOOP = "loop"


LIST_IN_FROM: Final = "list-in-from"  # evidence: the address in From is the list's own


class RemovedWhy(StrEnum):
    """Why a range of the text is not part of what was written now."""

    QUOTE = "quote"
    SIGNATURE = "signature"
    FORWARD = "forward"
    BANNER = "banner"


class TextConfidence(StrEnum):
    """Whether what is new is told apart by marks that programs set, or is doubtful."""

    HIGH = "high"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Person:
    """A name and an addr-spec as a header has them; the address has its domain in lower case, '' where it has none."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Removed:
    """A range of `text`, in characters."""

    start: int
    end: int
    why: RemovedWhy


@dataclass(frozen=True, slots=True)
class InAttachment:
    """An attachment, or a text kept as a file; its bytes lie in a file named `sha256` (hex) in the directory that the parser was given."""

    sha256: str
    size_bytes: int
    filename: str
    content_type: str
    is_inline: bool


@dataclass(frozen=True, slots=True)
class ReportedRecipient:
    """One recipient of a delivery report (RFC 3464 §2.3); None = the report does not say. `sense`: what it comes to."""

    recipient: str | None
    action: str | None
    status: str | None
    diagnostic: str | None
    remote_mta: str | None
    reply_code: int | None = None
    sense: Sense = NO_SENSE


@dataclass(frozen=True, slots=True)
class Report:
    """A delivery report: its recipients, the Message-ID of the original (with brackets), and the host that made it."""

    recipients: tuple[ReportedRecipient, ...]
    original_message_id: str | None
    reporting_mta: str | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    """So many characters, and in which places or by which means: short constant words."""

    characters: int = 0
    where: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReaderSigns:
    """What a reader of the text should know of it (docs/trust.md, signals): facts, each harmless by itself.

    `fields`: names of the header fields that are there and were used, in lower case. `name_address`: an address in
    the display name that is not the one in From.
    """

    fields: tuple[str, ...] = ()
    name_address: str | None = None
    hidden: Counted = Counted()
    invisible: Counted = Counted()
    bidi: Counted = Counted()


@dataclass(frozen=True, slots=True)
class InMail:
    """The whole of it.

    Ids have their brackets and stand in the order of the header. `text` is the text, at most 256 KiB of UTF-8; where it
    has more, `text_file` is the whole of it. `new_text` is `text` without the `removed` ranges, `is_forward`: a message
    of somebody else is handed on in it. The HTML as it came is a file, too, so that nothing large goes through the
    daemon's loop. `defects` are short constant words. `dedupe` is the hex SHA-256 over From, Date, Subject, Message-ID
    and body, without trace fields.
    `forwarded_for` are the addresses of Delivered-To, X-Original-To and X-Forwarded-To, `header_recipients` those of To
    and Cc: a token may stand in them. `evidence_if_answer`: why it is a machine's if a token shows that it answers.
    """

    parse: Parse
    message_id: str | None
    in_reply_to: tuple[str, ...]
    references: tuple[str, ...]
    sender: Person | None
    is_sender_ambiguous: bool
    to: tuple[Person, ...]
    cc: tuple[Person, ...]
    reply_to: tuple[Person, ...]
    subject: str
    date: str | None
    text: str
    text_file: InAttachment | None
    new_text: str
    removed: tuple[Removed, ...]
    html_file: InAttachment | None
    attachments: tuple[InAttachment, ...]
    defects: tuple[str, ...]
    automation: AutomationKind
    evidence: tuple[str, ...]
    report: Report | None
    thread_index: str | None
    forwarded_for: tuple[str, ...]
    header_recipients: tuple[str, ...]
    dedupe: str
    text_confidence: TextConfidence
    is_forward: bool
    evidence_if_answer: tuple[str, ...] = field(default=(), kw_only=True)
    signs: ReaderSigns = field(default=ReaderSigns(), kw_only=True)

    @property
    def author(self) -> str | None:
        """The one address in From; None where that is not one."""
        if self.sender is None or self.is_sender_ambiguous:
            return None
        return self.sender.address or None
