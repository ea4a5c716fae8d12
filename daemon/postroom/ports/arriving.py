"""Values of a mail's way in: what the listener hands over, what intake makes of it, what comes of publishing it."""

from dataclasses import dataclass

from postroom.core.authentication import Authentication
from postroom.core.inmail import InMail
from postroom.core.instant import Instant
from postroom.core.matching import MatchedBy
from postroom.core.refusal import RefusedBy, Wanted
from postroom.core.token import Token


@dataclass(frozen=True, slots=True)
class ArrivalRecipient:
    """One accepted RCPT: the mailbox it belongs to, and the genuine token in it, if there is one."""

    address: str
    mailbox_id: str
    token: Token | None


@dataclass(frozen=True, slots=True)
class RawFile:
    """Raw bytes in the spool, by hex SHA-256."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message at its final dot. `sender` '' = the null reverse-path. `raw` above 64 KiB lies in the spool.

    `defects` are constant words for what was wrong with it on the wire and is mended in `raw`. `relay_ip`: a trusted
    relay handed it over from there, and `client_ip` and `helo` are those of the client that the relay had it from;
    None = they are those of who handed it over.
    """

    at: Instant
    sender: str
    recipients: tuple[ArrivalRecipient, ...]
    client_ip: str
    helo: str
    is_tls: bool
    is_trusted: bool
    raw: bytes | RawFile
    defects: tuple[str, ...] = ()
    relay_ip: str | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """A stored arrival that is not published yet."""

    number: int
    arrival: Arrival


@dataclass(frozen=True, slots=True)
class StoredAttachment:
    """An attachment that got a public reference."""

    ref: str
    sha256: str
    size_bytes: int
    filename: str
    content_type: str
    is_inline: bool


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A message that was received, and can not be read any more from where it is stored."""

    number: int


@dataclass(frozen=True, slots=True)
class Publication:
    """One received message for one mailbox, parsed, to become at most one event.

    `received` is where it comes from, `recipients` are its accepted addresses of this mailbox. `tokens` are the genuine
    ones, best first; the unit finds the thread by them, by `mail`'s ids, and at last by its subject. What is not `wanted`
    is stored, its event has `accepted: false` and is pending for nobody who does not ask. `is_last`: intake is done with
    what was received. Files are in the spool already.
    """

    received: Received
    mailbox_id: str
    at: Instant
    recipients: tuple[str, ...]
    tokens: tuple[Token, ...]
    mail: InMail
    authentication: Authentication
    wanted: Wanted
    attachments: tuple[StoredAttachment, ...]
    html_ref: StoredAttachment | None
    text_ref: StoredAttachment | None
    is_last: bool


@dataclass(frozen=True, slots=True)
class Published:
    """It became an event; with `refused_by` it is kept, and not accepted."""

    seq: int
    thread_number: int
    type: str
    matched_by: MatchedBy
    refused_by: RefusedBy | None = None


@dataclass(frozen=True, slots=True)
class Doubled:
    """The same mail was published before, as this event; its envelope.to was widened."""

    seq: int


PublishResult = Published | Doubled
