"""Events (CONTRACT §5), and what they bring: of a delivery, or of a mail that came in (docs/trust.md).

Each describes what the store wrote, and is never made here: an event is shown as it was written.
"""

from typing import Literal

from msgspec import UNSET, UnsetType, field

from postroom.api.answered import Answered
from postroom.api.requests import DeliveryId, EventId, JobId, Moment, ThreadId
from postroom.api.shapes_alerts import EventAlert
from postroom.api.shapes_reports import DeliveryReport
from postroom.core.authentication import Outcome, Verdict
from postroom.core.delivery import DeliveryState
from postroom.core.inmail import AutomationKind, Parse, RemovedWhy, TextConfidence
from postroom.core.matching import Confidence, MatchedBy
from postroom.core.reason import ReasonCode
from postroom.core.refusal import RefusedBy
from postroom.core.token import TokenStatus


class EventThread(Answered, frozen=True):
    """Its thread as it stood then; `matched_by`, `confidence` and `held` are those of a mail."""

    id: ThreadId
    version: int
    conversation_id: str | None
    metadata: dict[str, str]
    matched_by: MatchedBy | UnsetType = UNSET
    confidence: Confidence | UnsetType = UNSET
    held: bool | UnsetType = UNSET
    held_at: Moment | UnsetType = UNSET


class EventAnswers(Answered, frozen=True):
    """The delivery; `from_recipient`: the author of the mail is whom it went to."""

    job_id: JobId
    delivery_id: DeliveryId
    from_recipient: bool | UnsetType = UNSET


class RelayReply(Answered, frozen=True):
    """What the relay answered last."""

    code: int
    enhanced_status: str | None
    text: str | None


class EventDelivery(Answered, frozen=True):
    """A delivery as it stood then."""

    id: DeliveryId
    recipient: str
    state: DeliveryState
    reason_code: ReasonCode | None
    attempts: int
    deferrals: int
    message_id: str
    relay_message_id: str | None
    settled_by: str | None
    reply: RelayReply | None


class Envelope(Answered, frozen=True):
    """The envelope of a mail; `relay_ip`: a trusted relay says that it had the mail from `client_ip`."""

    sender: str = field(name="from")
    to: list[str]
    client_ip: str
    tls: bool
    relay_ip: str | UnsetType = UNSET


class EventPerson(Answered, frozen=True):
    """A name and an address as a header has them; '' = none."""

    name: str
    address: str


class RemovedRange(Answered, frozen=True):
    """A range of `text`, in characters, that is not new."""

    start: int = field(name="from")
    end: int = field(name="to")
    why: RemovedWhy


class EventAttachment(Answered, frozen=True):
    """A file of the mail; `ref` is for `GET /v1/attachments/{ref}`."""

    ref: str
    filename: str
    content_type: str
    size_bytes: int
    sha256: str
    inline: bool


class Message(Answered, frozen=True):
    """What the mail says: a stranger's words, all of it. `from_ambiguous`: From does not name one address."""

    message_id: str | None
    in_reply_to: str | None
    references: list[str]
    sender: EventPerson | None = field(name="from")
    to: list[EventPerson]
    cc: list[EventPerson]
    reply_to: list[EventPerson]
    subject: str
    date: Moment | None
    text: str
    new_text: str
    new_text_confidence: TextConfidence
    is_forward: bool
    removed: list[RemovedRange]
    truncated: bool
    text_ref: str | None
    html_ref: str | None
    attachments: list[EventAttachment]
    parse: Parse
    defects: list[str]
    from_ambiguous: bool | UnsetType = UNSET


class SpfResult(Answered, frozen=True):
    """RFC 7208."""

    result: Outcome
    scope: str | None
    domain: str | None
    client_ip: str | None
    aligned: bool
    why: str | None


class DkimResult(Answered, frozen=True):
    """One signature (RFC 6376)."""

    result: Outcome
    domain: str | None
    selector: str | None
    algorithm: str | None
    key_bits: int | None
    signed_headers: list[str]
    aligned: bool
    why: str | None


class DmarcResult(Answered, frozen=True):
    """RFC 9989."""

    result: Outcome
    domain: str | None
    policy: str | None


class TrustedServer(Answered, frozen=True):
    """What a server of `trusted_authserv_ids` found."""

    authserv_id: str
    spf: Outcome
    spf_domain: str | None
    dkim: Outcome
    dkim_domain: str | None
    dmarc: Outcome
    dmarc_domain: str | None


class ReplyToken(Answered, frozen=True):
    """The token of the address that the mail came to."""

    status: TokenStatus
    key_id: str | None


class ReplyToDiffers(Answered, frozen=True):
    """Answers are asked for in other domains."""

    home: str = field(name="from")
    reply_to: list[str]


class CountedCharacters(Answered, frozen=True):
    """So many, and in which places or by which means."""

    characters: int
    where: list[str]


class Signals(Answered, frozen=True):
    """Facts to have before the text is believed; none is a verdict."""

    first_time_sender: bool
    reply_to_differs: ReplyToDiffers | None
    name_has_address: str | None
    hidden_text: CountedCharacters
    unsigned_headers: list[str] | None
    invisible_characters: CountedCharacters
    bidi_characters: CountedCharacters


class Authentication(Answered, frozen=True):
    """Who the mail is from, as far as anybody vouches for it."""

    verdict: Verdict
    decided_by: str | None
    from_domain: str | None
    from_organisation: str | None
    reply_to_organisation: str | None
    spf: SpfResult
    dkim: list[DkimResult]
    dmarc: DmarcResult
    trusted: list[TrustedServer]
    forged_results: int
    unchecked_signatures: int
    reply_token: ReplyToken
    signals: Signals


class Automation(Answered, frozen=True):
    """Whether a person wrote it, and which signs say not."""

    kind: AutomationKind
    evidence: list[str]


class Event(Answered, frozen=True):
    """One fact in the log. What follows `created_at` is there where its type brings it.

    `answers`: the delivery that it is about, or that a mail answers; null = a mail that answers none. `accepted`,
    `refused_by` and `names_thread_id` stand in mail that its mailbox refused. `same_message_as`: the mail is an event
    in another thread, too. `mailbox_id` is null where an alert concerns several mailboxes, or all.
    """

    id: EventId
    type: str
    seq: int
    log_id: str
    schema_version: int
    mailbox_id: str | None
    created_at: Moment
    thread: EventThread | UnsetType = UNSET
    answers: EventAnswers | UnsetType | None = UNSET
    job_id: JobId | UnsetType = UNSET
    trace_id: str | UnsetType = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    delivery: EventDelivery | UnsetType = UNSET
    envelope: Envelope | UnsetType = UNSET
    message: Message | UnsetType = UNSET
    authentication: Authentication | UnsetType = UNSET
    automation: Automation | UnsetType = UNSET
    delivery_report: DeliveryReport | UnsetType | None = UNSET
    raw_ref: str | UnsetType = UNSET
    alert: EventAlert | UnsetType = UNSET
    accepted: Literal[False] | UnsetType = UNSET
    refused_by: RefusedBy | UnsetType = UNSET
    names_thread_id: ThreadId | UnsetType | None = UNSET
    same_message_as: EventId | UnsetType = UNSET


class EventPage(Answered, frozen=True):
    """The same as it is written: an event's further members as its type brings them."""

    items: list[dict[str, object]]
    next_cursor: str | None
    log_id: str


class EventList(Answered, frozen=True):
    """Events in the order of seq; `next_cursor` is the next `after`, null at the end of the log."""

    items: list[Event]
    next_cursor: str | None
    log_id: str
