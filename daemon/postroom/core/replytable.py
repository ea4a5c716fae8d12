"""How replies of relays are read: the tables behind `core.outcome`, data only.

Tried in this order: words of the reply (lower case, addresses taken out; between two tables of them those of
`core.throttles`), the enhanced status without its class (RFC 3463, RFC 5248 and its registry, RFC 7372, Microsoft's own), the code at its stage (RFC 5321 §4.2), the stage.
A reading says whom the reply speaks of; whether that is for good follows from the code, where `class_` does not say.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from postroom.core.reason import ReasonCode
from postroom.core.reply import Stage


class Class(StrEnum):
    """What becomes of the delivery: tried again, given up, unknown, or left waiting because it is about us."""

    TEMPORARY = "temporary"
    PERMANENT = "permanent"
    IN_DOUBT = "in_doubt"
    OURS = "ours"


class Scope(StrEnum):
    """How far what was said reaches."""

    RECIPIENT = "recipient"
    MESSAGE = "message"
    MAILBOX = "mailbox"
    DOMAIN = "domain"
    RELAY = "relay"


@dataclass(frozen=True, slots=True)
class Reading:
    """Whom a reply speaks of and why; how long to wait where it does not say; when patience with it ends.

    `slows`: it says that we are too fast, for a recipient's DOMAIN or for the RELAY (core.slowing).
    """

    scope: Scope
    reason: ReasonCode
    class_: Class | None = None
    delay: timedelta | None = None
    patience: timedelta | None = None
    slows: Scope | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """All of `needles` in the text of a reply whose code begins with one of `codes`, at one of `stages`."""

    needles: tuple[str, ...]
    reading: Reading
    codes: str = "45"
    stages: frozenset[Stage] | None = None


_R = ReasonCode
_A_DAY: Final = timedelta(
    days=1
)  # a full or unknown mailbox that stays so for a day is no passing trouble

UNKNOWN: Final = Reading(Scope.RECIPIENT, _R.RECIPIENT_UNKNOWN, patience=_A_DAY)
DISABLED: Final = Reading(Scope.RECIPIENT, _R.RECIPIENT_DISABLED, patience=_A_DAY)
FULL: Final = Reading(Scope.RECIPIENT, _R.RECIPIENT_MAILBOX_FULL, Class.TEMPORARY, patience=_A_DAY)
REFUSED: Final = Reading(Scope.RECIPIENT, _R.RECIPIENT_REFUSED)
DEFERRED: Final = Reading(Scope.RECIPIENT, _R.RECIPIENT_DEFERRED)
BAD_ADDRESS: Final = Reading(Scope.RECIPIENT, _R.RECIPIENT_BAD_ADDRESS)
MOVED: Final = Reading(Scope.RECIPIENT, _R.RECIPIENT_MOVED)
NO_DOMAIN: Final = Reading(Scope.RECIPIENT, _R.DOMAIN_UNKNOWN)
NO_MAIL: Final = Reading(Scope.RECIPIENT, _R.DOMAIN_NO_MAIL)
GREYLIST: Final = Reading(
    Scope.RECIPIENT, _R.GREYLISTED, Class.TEMPORARY, delay=timedelta(minutes=5)
)
MAIL_REFUSED: Final = Reading(Scope.RECIPIENT, _R.MAIL_REFUSED)
TOO_BIG: Final = Reading(Scope.MESSAGE, _R.MESSAGE_TOO_BIG)
CONTENT: Final = Reading(Scope.MESSAGE, _R.MESSAGE_REFUSED)
SPAM: Final = Reading(Scope.MESSAGE, _R.MESSAGE_SPAM)
MALFORMED: Final = Reading(Scope.MESSAGE, _R.MESSAGE_MALFORMED)
NO_SMTPUTF8: Final = Reading(Scope.MESSAGE, _R.SMTPUTF8_UNSUPPORTED)
DEFERRED_CONTENT: Final = Reading(Scope.MESSAGE, _R.RELAY_DEFERRED)
SENDER: Final = Reading(Scope.MAILBOX, _R.SENDER_REFUSED)
UNAUTHENTICATED: Final = Reading(Scope.MAILBOX, _R.SENDER_UNAUTHENTICATED)
DAILY: Final = Reading(Scope.MAILBOX, _R.QUOTA_DAILY)
DEFERRED_SENDER: Final = Reading(Scope.MAILBOX, _R.RELAY_DEFERRED)
AUTH: Final = Reading(Scope.RELAY, _R.AUTH_FAILED)
RELAYING: Final = Reading(Scope.RELAY, _R.RELAYING_DENIED)
BLOCKED: Final = Reading(Scope.RELAY, _R.IP_BLOCKED)
BUSY: Final = Reading(Scope.RELAY, _R.RELAY_BUSY)
STORAGE: Final = Reading(Scope.RELAY, _R.RELAY_STORAGE_FULL)
RELAY_DEFERRED: Final = Reading(Scope.RELAY, _R.RELAY_DEFERRED)
RELAY_REFUSED: Final = Reading(Scope.RELAY, _R.RELAY_REFUSED)
NO_TLS: Final = Reading(Scope.RELAY, _R.TLS_FAILED)

_MAIL: Final = frozenset({Stage.MAIL})
_MAIL_RCPT: Final = frozenset({Stage.MAIL, Stage.RCPT})
_RCPT: Final = frozenset({Stage.RCPT})
_RCPT_ON: Final = frozenset({Stage.RCPT, Stage.DATA, Stage.BODY, Stage.DOT})

WORDS_BEFORE: Final = (  # what they say is not a throttle, whatever else stands there
    # greylisting, even where it is called permanent (RFC 6647)
    Words(("greylist",), GREYLIST),
    Words(("graylist",), GREYLIST),
    Words(("grey-list",), GREYLIST),
    Words(("grey.rbl",), GREYLIST),
    Words(("grey listed",), GREYLIST),
    # who we are
    Words(("not owned by",), SENDER, stages=_MAIL_RCPT),
    Words(("sendasdenied",), SENDER),
    Words(("send as", "not allowed"), SENDER),
    Words(("permission", "send as"), SENDER),
    Words(("sender address", "not verified"), SENDER),
    Words(("email address is not verified",), SENDER),
    Words(("sending paused",), SENDER),
    Words(("sender", "not authorized"), SENDER, stages=_MAIL),
    Words(("sender", "not authorised"), SENDER, stages=_MAIL),
    Words(("sender", "not allowed"), SENDER, stages=_MAIL),
    Words(("sender address rejected",), SENDER, codes="5", stages=_MAIL_RCPT),
    Words(("authentication required",), AUTH, codes="5"),
    Words(("authenticate first",), AUTH, codes="5"),
    Words(("must authenticate",), AUTH, codes="5"),
    Words(("not authenticated", "client"), AUTH, codes="5"),
    Words(("must issue a starttls",), AUTH, codes="5"),
    Words(("relay access denied",), RELAYING),
    Words(("relaying denied",), RELAYING),
    Words(("relay denied",), RELAYING),
    Words(("relay not permitted",), RELAYING),
    Words(("relaying not allowed",), RELAYING),
    Words(("unable to relay",), RELAYING),
    Words(("not permitted to relay",), RELAYING),
    Words(("spf", "fail"), UNAUTHENTICATED, codes="5"),
    Words(("dmarc",), UNAUTHENTICATED, codes="5"),
    # how much we send
    Words(("daily", "limit"), DAILY),
    Words(("daily", "quota"), DAILY),
    Words(("sending quota",), DAILY),
    Words(("tenant", "exceeded"), DAILY),
)

WORDS_AFTER: Final = (
    # our host
    Words(("spamhaus",), BLOCKED),
    Words(("spamcop",), BLOCKED),
    Words(("barracudacentral",), BLOCKED),
    Words(("banned sending ip",), BLOCKED),
    Words(("blocked using",), BLOCKED),
    Words(("ip address", "blacklist"), BLOCKED),
    Words(("ip address", "blocklist"), BLOCKED),
    Words(("ip address", "block list"), BLOCKED),
    Words(("ptr record",), BLOCKED, codes="5"),
    Words(("reverse dns",), BLOCKED, codes="5"),
    # the recipient
    Words(("receiving mail too quickly",), DEFERRED),
    Words(("receiving mail at a rate",), DEFERRED),
    Words(("over quota",), FULL, stages=_RCPT_ON),
    Words(("overquota",), FULL, stages=_RCPT_ON),
    Words(("out of storage",), FULL, stages=_RCPT_ON),
    Words(("mailbox full",), FULL, stages=_RCPT_ON),
    Words(("mailbox is full",), FULL, stages=_RCPT_ON),
    Words(("quota exceeded",), FULL, stages=_RCPT_ON),
    Words(("user unknown",), UNKNOWN, stages=_RCPT_ON),
    Words(("unknown user",), UNKNOWN, stages=_RCPT_ON),
    Words(("no such user",), UNKNOWN, stages=_RCPT_ON),
    Words(("no such recipient",), UNKNOWN, stages=_RCPT_ON),
    Words(("no such mailbox",), UNKNOWN, stages=_RCPT_ON),
    Words(("recipient not found",), UNKNOWN, stages=_RCPT_ON),
    Words(("recipient unknown",), UNKNOWN, stages=_RCPT_ON),
    Words(("user not found",), UNKNOWN, stages=_RCPT_ON),
    Words(("does not exist",), UNKNOWN, codes="5", stages=_RCPT),
    Words(("doesn't have a",), UNKNOWN, codes="5", stages=_RCPT_ON),
    Words(("account", "disabled"), DISABLED, stages=_RCPT_ON),
    Words(("account", "inactive"), DISABLED, stages=_RCPT_ON),
    Words(("mailbox", "disabled"), DISABLED, stages=_RCPT_ON),
    Words(("domain not found",), NO_DOMAIN, stages=_RCPT),
    Words(("host not found",), NO_DOMAIN, codes="5", stages=_RCPT),
    # the message
    Words(("message", "too large"), TOO_BIG),
    Words(("message", "too big"), TOO_BIG),
    Words(("message size exceeds",), TOO_BIG),
    Words(("size limit",), TOO_BIG),
    Words(("smtputf8",), NO_SMTPUTF8, codes="5"),
    Words(("spam",), SPAM, codes="5", stages=_RCPT_ON),
    Words(("unsolicited",), SPAM, codes="5", stages=_RCPT_ON),
    Words(("bare lf",), MALFORMED),
    Words(("bare newline",), MALFORMED),
    Words(("line too long",), MALFORMED),
    # the relay
    Words(("insufficient system storage",), STORAGE),
    # who we are, where nothing says it better
    Words(("sender", "denied"), SENDER, codes="5", stages=_MAIL),
    Words(("sender", "refused"), SENDER, codes="5", stages=_MAIL),
    Words(("sender", "rejected"), SENDER, codes="5", stages=_MAIL),
)

OTHER_STATUS: Final[dict[str, Reading]] = {
    "1.1": UNKNOWN,
    "1.2": NO_DOMAIN,
    "1.3": BAD_ADDRESS,
    "1.6": MOVED,
    "1.7": SENDER,
    "1.8": SENDER,
    "1.10": NO_MAIL,
    "1.90": DAILY,
    "2.2": FULL,
    "2.3": TOO_BIG,
    "2.4": REFUSED,
    "2.252": SENDER,
    "3.1": STORAGE,
    "3.4": TOO_BIG,
    "4.4": NO_DOMAIN,
    "4.6": CONTENT,
    "6.0": CONTENT,
    "6.1": CONTENT,
    "6.2": CONTENT,
    "6.3": CONTENT,
    "6.5": CONTENT,
    "6.6": CONTENT,
    "6.7": NO_SMTPUTF8,
    "6.9": NO_SMTPUTF8,
    "7.2": REFUSED,
    "7.8": AUTH,
    "7.9": AUTH,
    "7.11": AUTH,
    "7.12": AUTH,
    "7.14": RELAYING,
    "7.20": UNAUTHENTICATED,
    "7.21": UNAUTHENTICATED,
    "7.22": UNAUTHENTICATED,
    "7.23": UNAUTHENTICATED,
    "7.24": UNAUTHENTICATED,
    "7.25": BLOCKED,
    "7.26": UNAUTHENTICATED,
    "7.27": SENDER,
    "7.57": AUTH,
    "7.60": SENDER,
    "7.64": RELAYING,
    "7.232": DAILY,
    "7.233": DAILY,
    "7.509": UNAUTHENTICATED,
    "7.511": BLOCKED,
    "7.515": UNAUTHENTICATED,
    "7.705": DAILY,
    "7.708": BLOCKED,
} | {
    f"7.{banned}": BLOCKED for banned in range(606, 650)
}  # Microsoft: this sending address is banned

STATUS_BY_CLASS: Final[dict[str, Reading]] = {
    "4.3.2": RELAY_DEFERRED,
    "4.3.5": RELAY_DEFERRED,
    "4.4.5": RELAY_DEFERRED,
    "5.2.1": DISABLED,
    "5.4.5": DAILY,
}

CODES: Final[dict[tuple[Stage, int], Reading]] = {
    (Stage.MAIL, 452): STORAGE,
    (Stage.MAIL, 530): AUTH,
    (Stage.MAIL, 552): TOO_BIG,
    (Stage.RCPT, 501): BAD_ADDRESS,
    (Stage.RCPT, 530): AUTH,
    (Stage.RCPT, 551): MOVED,
    (Stage.RCPT, 552): FULL,
    (Stage.RCPT, 553): BAD_ADDRESS,
    (Stage.DATA, 452): STORAGE,
    (Stage.DATA, 552): FULL,
    (Stage.BODY, 452): STORAGE,
    (Stage.BODY, 552): FULL,
    (Stage.DOT, 452): STORAGE,
    (Stage.DOT, 552): FULL,
}

STAGES: Final[dict[Stage, tuple[Reading, Reading]]] = {
    Stage.CONNECT: (BUSY, RELAY_REFUSED),
    Stage.GREETING: (BUSY, RELAY_REFUSED),
    Stage.EHLO: (BUSY, RELAY_REFUSED),
    Stage.STARTTLS: (NO_TLS, NO_TLS),
    Stage.AUTH: (RELAY_DEFERRED, AUTH),
    Stage.MAIL: (DEFERRED_SENDER, MAIL_REFUSED),
    Stage.RCPT: (DEFERRED, REFUSED),
    Stage.DATA: (DEFERRED_CONTENT, CONTENT),
    Stage.BODY: (DEFERRED_CONTENT, CONTENT),
    Stage.DOT: (DEFERRED_CONTENT, CONTENT),
}
