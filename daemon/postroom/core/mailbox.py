"""Mailboxes and relays as the operator set them up: values only, checked by `config`, read by everything else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum, StrEnum


class Lane(IntEnum):
    """A job's priority as a number, in order of urgency; `Lane.HIGH.word` is the contract's word."""

    HIGH = 0
    STANDARD = 1
    BULK = 2

    @property
    def word(self) -> str:
        """`high`, `standard` or `bulk`."""
        return self.name.lower()


class Tls(StrEnum):
    """How the connection to a relay is encrypted; certificates are always checked."""

    IMPLICIT = "implicit"
    STARTTLS = "starttls"
    NONE = "none"


class AcceptNew(StrEnum):
    """Which mail that belongs to no conversation begins one: all, none, or that of authenticated senders."""

    ALL = "all"
    NONE = "none"
    AUTHENTICATED = "authenticated"


class Require(StrEnum):
    """What a person's mail must have to be accepted."""

    ANY = "any"
    DKIM = "dkim"
    DMARC = "dmarc"
    TOKEN = "token"  # noqa: S105 - a word of the contract


class AutoSubmitted(StrEnum):
    """RFC 3834 §5: who wrote the mail."""

    AUTO_GENERATED = "auto-generated"
    AUTO_REPLIED = "auto-replied"
    NO = "no"


class OnUncertain(StrEnum):
    """What becomes by itself of a delivery in doubt: nothing, one more copy, or it is taken for sent."""

    HOLD = "hold"
    RESEND = "resend"
    ASSUME_SENT = "assume_sent"


@dataclass(frozen=True, slots=True)
class DoubtPolicy:
    """What is done about doubt, and how long after it began. 15 minutes: an answer or a bounce mostly comes sooner."""

    kind: OnUncertain = OnUncertain.HOLD
    after: timedelta = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Pace:
    """Upper bounds on starts; None = no bound. `per_minute` and `per_day` are rolling windows in minute buckets."""

    per_second: float | None = None
    burst: int = 1
    per_minute: int | None = None
    per_day: int | None = None


@dataclass(frozen=True, slots=True)
class DomainPace:
    """Bounds on starts to one recipient domain from one mailbox."""

    per_second: float | None = None
    burst: int = 1
    concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class LaneShares:
    """How the starts of a mailbox are shared among its lanes while all have work."""

    high: int = 6
    standard: int = 3
    bulk: int = 1
    bulk_per_second: float | None = None
    reserve_high: float = 0.1


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When a temporary failure is tried again, and when it is given up."""

    first: timedelta = timedelta(seconds=60)
    factor: float = 2.0
    cap: timedelta = timedelta(hours=1)
    jitter: float = 0.1
    max_attempts: int = 50
    lifetime: timedelta = timedelta(days=5)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a mailbox accepts; 0 = no limit."""

    queued: int = 100_000
    accepted_per_hour: int = 0
    attachment_bytes: int = 26_214_400


@dataclass(frozen=True, slots=True)
class Relay:
    """An SMTP server. `password` is the secret itself: it is kept out of `repr` and of every log."""

    id: str
    host: str
    port: int
    tls: Tls
    tls_ca: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    pace: Pace = Pace()
    concurrency: int = 10
    max_per_connection: int = 100
    idle_close: timedelta = timedelta(seconds=30)

    @property
    def access(self) -> tuple[str | int | None, ...]:
        """How it is reached and how it knows us: what a connection was made with."""
        return self.host, self.port, self.tls, self.tls_ca, self.username, self.password


@dataclass(frozen=True, slots=True)
class Mailbox:
    """A sender identity. `address` is an addr-spec with an A-label domain; `display_name` may be empty.

    `reply_address` and `return_path` are addresses with `{token}` in the local part, their domain in lower case; None =
    answers come back by headers alone. `accept_new` and `require` say which received mail is accepted (core.refusal). `wants_success`:
    relays that offer it are asked to report success, too (RFC 3461). `owner`: the address that is told of alerts, and daily of
    what ended unsent; None = nobody.
    """

    id: str
    address: str
    display_name: str
    relay_id: str
    pace: Pace = Pace()
    concurrency: int = 4
    domain_pace: Mapping[str, DomainPace] = field(default_factory=dict)
    lanes: LaneShares = LaneShares()
    retry: RetryPolicy = RetryPolicy()
    on_uncertain: DoubtPolicy = DoubtPolicy()
    limits: Limits = Limits()
    recipients_allow: tuple[str, ...] = ()
    recipients_deny: tuple[str, ...] = ()
    divert_to: str | None = None
    attachment_roots: tuple[str, ...] = ()
    auto_submitted: AutoSubmitted = AutoSubmitted.AUTO_GENERATED
    reply_address: str | None = None
    return_path: str | None = None
    accept_new: AcceptNew = AcceptNew.AUTHENTICATED
    require: Require = Require.ANY
    wants_success: bool = False
    owner: str | None = None
