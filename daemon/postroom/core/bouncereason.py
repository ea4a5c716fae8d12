"""Why a delivery report says that a mail came back: the closed list of its reasons, and of its classes (CONTRACT §5).

The words are those of `core.reason` where both mean the same: there a relay answers us, here somebody tells us later
what became of a mail that was taken. One reason for each thing that an agent or an operator does differently, no more.
`docs/trust.md` is held against this list by a test.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class BounceClass(StrEnum):
    """What kind of fact a report tells of one recipient."""

    PERMANENT = "permanent"
    TEMPORARY = "temporary"
    DELAYED = "delayed"
    COMPLAINT = "complaint"
    AUTO_REPLY = "auto_reply"
    NONE = "none"


class BounceReason(StrEnum):
    """Why."""

    RECIPIENT_UNKNOWN = "recipient.unknown"
    RECIPIENT_MOVED = "recipient.moved"
    RECIPIENT_DISABLED = "recipient.disabled"
    RECIPIENT_MAILBOX_FULL = "recipient.mailbox_full"
    RECIPIENT_REFUSED = "recipient.refused"
    DOMAIN_UNKNOWN = "domain.unknown"
    DOMAIN_NO_MAIL = "domain.no_mail"
    DOMAIN_TROUBLE = "domain.trouble"
    SENDER_REFUSED = "sender_refused"
    SENDER_UNAUTHENTICATED = "sender.unauthenticated"
    RATE_LIMITED = "rate.limited"
    RELAYING_DENIED = "relaying_denied"
    MESSAGE_TOO_BIG = "message.too_big"
    MESSAGE_SPAM = "message.spam"
    MESSAGE_VIRUS = "message.virus"
    MESSAGE_MALFORMED = "message.malformed"
    MESSAGE_REFUSED = "message.refused"
    FEEDBACK = "feedback"
    AUTO_REPLY = "auto_reply"
    DELIVERED = "delivered"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Meaning:
    """One sentence on what was said, one on what to do about it."""

    means: str
    to_do: str


_FINAL: Final = frozenset({BounceClass.PERMANENT, BounceClass.TEMPORARY})


@dataclass(frozen=True, slots=True)
class Sense:
    """What a report comes to for one recipient."""

    class_: BounceClass
    reason: BounceReason

    @property
    def is_hard(self) -> bool:
        """Whether it is final and says of the address that it is no good: any mail to it would come back so."""
        return self.class_ in _FINAL and self.reason in ADDRESS_REASONS

    @property
    def suppression(self) -> str | None:
        """The word under which the address is suppressed, if who says so can be trusted; None = it may be written to."""
        if self.class_ is BounceClass.COMPLAINT:
            return BounceClass.COMPLAINT
        is_gone = self == Sense(BounceClass.PERMANENT, BounceReason.RECIPIENT_UNKNOWN)
        return self.reason if is_gone else None


_R = BounceReason
_ADDRESS: Final = "Correct the address, or reach the person another way; do not send there again."
_LATER: Final = "Send a new job later, or reach the person another way."

MEANINGS: Final[dict[BounceReason, Meaning]] = {
    _R.RECIPIENT_UNKNOWN: Meaning("There is no such address there.", _ADDRESS),
    _R.RECIPIENT_MOVED: Meaning("The person has another address now.", _ADDRESS),
    _R.RECIPIENT_DISABLED: Meaning("The account is locked, suspended or inactive.", _LATER),
    _R.RECIPIENT_MAILBOX_FULL: Meaning("The mailbox is full.", _LATER),
    _R.RECIPIENT_REFUSED: Meaning(
        "The recipient's own rules refuse it, or it was called unknown only after the content was seen.",
        "Reach the person another way.",
    ),
    _R.DOMAIN_UNKNOWN: Meaning("The recipient's domain does not exist.", _ADDRESS),
    _R.DOMAIN_NO_MAIL: Meaning("The recipient's domain takes no mail.", _ADDRESS),
    _R.DOMAIN_TROUBLE: Meaning(
        "The recipient's server could not be reached, failed, or put the mail off until it was given up.",
        _LATER,
    ),
    _R.SENDER_REFUSED: Meaning(
        "Mail from us is not taken there: from the mailbox's address or domain, from the host that sent it, or for their reputation.",
        "The operator reads the diagnostic, then asks the relay's provider, that server's postmaster or the block list it names.",
    ),
    _R.SENDER_UNAUTHENTICATED: Meaning(
        "The mail failed SPF, DKIM or DMARC there.", "The operator mends the domain's DNS records."
    ),
    _R.RATE_LIMITED: Meaning(
        "Too much came from us in too short a time.", "The operator lowers the pace."
    ),
    _R.RELAYING_DENIED: Meaning(
        "A server on the way does not forward mail for us.",
        "The operator looks at the relay's settings, or at the recipient domain's MX.",
    ),
    _R.MESSAGE_TOO_BIG: Meaning(
        "The message is larger than the recipient takes.", "Send it with smaller attachments."
    ),
    _R.MESSAGE_SPAM: Meaning(
        "The content was taken for unwanted mail.", "Change the content, or write by hand."
    ),
    _R.MESSAGE_VIRUS: Meaning(
        "The content was taken for harmful.", "Look at the attachments and links."
    ),
    _R.MESSAGE_MALFORMED: Meaning(
        "The message was called malformed.", "Please report it with `postroom show --raw`."
    ),
    _R.MESSAGE_REFUSED: Meaning(
        "A policy there does not let the message in.", "Read the diagnostic."
    ),
    _R.FEEDBACK: Meaning(
        "A feedback report (RFC 5965); its type is the diagnostic.",
        "With class `complaint`: do not write to this person again.",
    ),
    _R.AUTO_REPLY: Meaning("It is an absence notice, no report.", "Nothing."),
    _R.DELIVERED: Meaning("It was handed on or delivered.", "Nothing."),
    _R.UNKNOWN: Meaning("It does not say why in words that we know.", "Read the diagnostic."),
}

# What says that the address is no good, whoever writes to it.
ADDRESS_REASONS: Final = frozenset(
    {_R.RECIPIENT_UNKNOWN, _R.RECIPIENT_MOVED, _R.DOMAIN_UNKNOWN, _R.DOMAIN_NO_MAIL}
)
# What may be otherwise tomorrow, though the server calls it permanent.
PASSING_REASONS: Final = frozenset(
    {
        _R.RECIPIENT_MAILBOX_FULL,
        _R.RECIPIENT_DISABLED,
        _R.DOMAIN_TROUBLE,
        _R.RATE_LIMITED,
    }
)

# The 34 reasons of the published collection (Sisimai's), and ours. Two that an agent would answer in the same way are one.
PUBLISHED: Final[dict[str, BounceReason]] = {
    "userunknown": _R.RECIPIENT_UNKNOWN,
    "hasmoved": _R.RECIPIENT_MOVED,
    "suspend": _R.RECIPIENT_DISABLED,
    "mailboxfull": _R.RECIPIENT_MAILBOX_FULL,
    "filtered": _R.RECIPIENT_REFUSED,
    "hostunknown": _R.DOMAIN_UNKNOWN,
    "notaccept": _R.DOMAIN_NO_MAIL,
    "expired": _R.DOMAIN_TROUBLE,
    "networkerror": _R.DOMAIN_TROUBLE,
    "systemerror": _R.DOMAIN_TROUBLE,
    "systemfull": _R.DOMAIN_TROUBLE,
    "mailererror": _R.DOMAIN_TROUBLE,
    "syntaxerror": _R.DOMAIN_TROUBLE,
    "rejected": _R.SENDER_REFUSED,
    "authfailure": _R.SENDER_UNAUTHENTICATED,
    "blocked": _R.SENDER_REFUSED,
    "badreputation": _R.SENDER_REFUSED,
    "requireptr": _R.SENDER_REFUSED,
    "toomanyconn": _R.RATE_LIMITED,
    "speeding": _R.RATE_LIMITED,
    "norelaying": _R.RELAYING_DENIED,
    "mesgtoobig": _R.MESSAGE_TOO_BIG,
    "exceedlimit": _R.MESSAGE_TOO_BIG,
    "spamdetected": _R.MESSAGE_SPAM,
    "virusdetected": _R.MESSAGE_VIRUS,
    "contenterror": _R.MESSAGE_MALFORMED,
    "notcompliantrfc": _R.MESSAGE_MALFORMED,
    "policyviolation": _R.MESSAGE_REFUSED,
    "securityerror": _R.MESSAGE_REFUSED,
    "feedback": _R.FEEDBACK,
    "vacation": _R.AUTO_REPLY,
    "delivered": _R.DELIVERED,
    "onhold": _R.UNKNOWN,
    "undefined": _R.UNKNOWN,
}

NO_SENSE: Final = Sense(BounceClass.NONE, _R.UNKNOWN)
