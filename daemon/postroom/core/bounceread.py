"""What a delivery report says of one recipient comes to: its reason, its class, and whether the address is no good.

One pure function over data: the words of the report (`core.bounceplain`), its enhanced status (RFC 3463),
its reply code, and at what point of the dialogue it was said. Linear in the text.
"""

import re
from dataclasses import dataclass
from typing import Final

from postroom.core.bouncefamilies import REFUSALS, apart, find_family, without_us
from postroom.core.bounceplain import (
    WORDS_MOST,
    find_reason,
    find_row,
    plain_words,
    without_noise,
    without_recipient,
)
from postroom.core.bouncereason import (
    PASSING_REASONS,
    BounceClass,
    BounceReason,
    Sense,
)
from postroom.core.bouncestatus import reason_of_status
from postroom.core.bouncewords import LAST


@dataclass(frozen=True, slots=True)
class Said:
    """What is known of one recipient: `action` in lower case, status and code, the server's own words, and those around.

    `recipient` is taken for a noun where a server names it in place of one ("… is unknown here").
    """

    action: str | None
    status: str | None
    code: int | None
    diagnostic: str
    around: str = ""
    recipient: str | None = None


_C = BounceClass
_R = BounceReason

_CLOSING: Final = 421
# Where in the dialogue it was said: a recipient can be unknown only after RCPT, and what is said before MAIL is of us.
_AT_CONNECT: Final = (
    "after initial connection",
    "refused to talk to me",
    "but greeting failed",
    "after ehlo",
    "after helo",
    "reply to ehlo",
    "reply to helo",
    "my name was rejected",
)
_AT_MAIL: Final = ("after mail from", "reply to mail from", ">>> mail from", "like our mail from")
_AT_DATA: Final = (
    "end of data",
    "reply to data",
    "after data",
    "our final data",
    "failed after i sent the message",
    "smtp command data",
    "transfer-mode",
    "(state 17)",  # Gmail numbers the states of its dialogue
    "(state 18)",
)
_AT_RCPT: Final = (
    "reply to rcpt",
    "after rcpt",
    "rcpt to generated",
    "sent: rcpt to",
    ">>> rcpt to",
    "<<< rcpt to",
    "[rcpt_to]",
    "in rcpt to",
    "like our rcpt to",
    "smtp:rcpt",
    "does not like recipient",
    "rcpt to response",
    "(state 13)",
    "(state 14)",
)
_CALLED_BACK: Final = "verify address"  # the sender's, whatever the code: no other has been named
_PIPELINED: Final = (
    "while talking to"  # sendmail names the last command sent, not the one that was answered
)

# Whose words are sure with a bare 550 and a general status, and whose only where there is no status at all.
_SURE: Final = (
    "user not found",
    "this user doesn't have a",
    "bad-mailbox",
    "address ( ) does not exist",
)
_SURE_PEERS: Final = ("@ezweb.ne.jp", "@au.com")  # they call it otherwise when their filter refuses
_SURE_IN_FIELDS: Final = ("no such user here",)
# What filters say, and servers that tell nobody why. Whoever says it in other words means it.
_FORMULAS: Final = (
    "user unknown",
    "unknown user",
    "no such user",
    "unavailable",
    "not available",
    "reject",
    "refuse",
    "denied",
    "verif",
)
_SURE_ALONE: Final = ("unknown user", "... user unknown", "... no such user", "... user not exist")
_BARE: Final = frozenset({"0.0", "2.0", "2.1", "3.0"})  # they do not say it either
_ANNOUNCED: Final = re.compile(
    r"the response (?:from the remote server )?was:|(?:diagnostic information for|diagnoseinformationen f.r|informations de diagnostic (?:pour|à l'attention) (?:les|des)"
    r"|información de diagnóstico para|informazioni di diagnostica per gli|informações de diagnóstico para) (?:los )?admin"
)
MADE_BY: Final = "report made by"  # what stands before the name of the reporting host in `around`
# A rule of the owner answers, not the mailbox: Amazon SES, Sieve.
_RULES: Final = (f"{MADE_BY} inbound-smtp.", "automatically rejected")
# What some say of accounts that are there, too, where they show no server's answer.
_HEARSAY: Final = ("doesn't have a", "recipient not found", "[user unknown]")
# What an answer at once, to nothing but our name, does not really say.
_NO_REASONS: Final = frozenset(
    {
        None,
        _R.DOMAIN_TROUBLE,
        _R.MESSAGE_REFUSED,
        _R.RECIPIENT_UNKNOWN,
        _R.RECIPIENT_REFUSED,
        _R.RECIPIENT_DISABLED,
    }
)
# What is refused at MAIL is refused to us, whatever is said: no recipient has been named, nothing sent.
_NOT_AT_MAIL: Final = frozenset(
    {
        None,
        _R.RECIPIENT_UNKNOWN,
        _R.RECIPIENT_DISABLED,
        _R.RECIPIENT_REFUSED,
        _R.DOMAIN_UNKNOWN,
    }
)
# A refusal that gives no reason, but names an address of the network, means ours.
_WITHOUT_WHY: Final = frozenset({None, _R.MESSAGE_REFUSED})
_OUR_IP: Final = re.compile(
    r"(?<![\w.])[45]\d\d[ -][^\n]{0,300}?(?<![\w.])(?:(?:\d{1,3}\.){3}\d{1,3}|ip)(?!\w)"
)
_LINK: Final = re.compile(r"https?://\S{1,500}")  # the address in it is for the page, not for us
_FOUR: Final = re.compile(r"(?:smtp;)?[ \t]{0,8}4\d\d(?!\d)", re.IGNORECASE)
_FILTERED: Final = (
    "550 : user unknown"  # a large Japanese provider's filter says so of addresses that are there
)

_CLASSES: Final[dict[str, BounceClass]] = {
    "delayed": _C.DELAYED,
    "delivered": _C.NONE,
    "relayed": _C.NONE,
    "expanded": _C.NONE,
    "complained": _C.COMPLAINT,
    "feedback": _C.NONE,
    "auto-replied": _C.AUTO_REPLY,
}
_FIXED: Final[dict[str, BounceReason]] = {
    "delivered": _R.DELIVERED,
    "relayed": _R.DELIVERED,
    "expanded": _R.DELIVERED,
    "complained": _R.FEEDBACK,
    "feedback": _R.FEEDBACK,
    "auto-replied": _R.AUTO_REPLY,
}


def make_sense(said: Said) -> Sense:
    """The class and the reason."""
    action = said.action or ""
    fixed = _FIXED.get(action)
    if fixed is not None:
        return Sense(_CLASSES[action], fixed)
    if action != "failed" and (said.status or "").startswith("2"):
        return Sense(_C.NONE, _R.DELIVERED)
    reason = _reason(said)
    if action == "delayed" or (action != "failed" and _is_temporary(said)):
        reason = _R.DOMAIN_TROUBLE if reason is _R.UNKNOWN else reason
        return Sense(_C.DELAYED, reason)
    is_passing = reason in PASSING_REASONS or _is_temporary(said)
    return Sense(_C.TEMPORARY if is_passing else _C.PERMANENT, reason)


def _reason(said: Said) -> BounceReason:
    if _FILTERED in " ".join(f"{said.diagnostic} {said.around}"[:WORDS_MOST].lower().split()):
        return _R.RECIPIENT_REFUSED
    diagnostic = plain_words(said.diagnostic or said.around, said.recipient)
    around = plain_words(said.around, said.recipient)
    spoken = without_recipient(f"{diagnostic} {around}")
    told = find_reason(_answer_in(diagnostic)) or find_reason(diagnostic)
    reason = (
        told
        or reason_of_status(said.status)
        or find_reason(around)
        or find_row(LAST, spoken)
        or find_family(REFUSALS, without_us(apart(diagnostic)))
    )
    if reason is _R.DOMAIN_TROUBLE:
        reason = _more_than_trouble(said, diagnostic)
    if reason in {_R.MESSAGE_TOO_BIG, _R.RECIPIENT_UNKNOWN} and (said.status or "").endswith(
        ".2.2"
    ):
        reason = _R.RECIPIENT_MAILBOX_FULL  # many name both
    if reason is None and said.code == _CLOSING:
        reason = _R.DOMAIN_TROUBLE
    if reason is _R.RECIPIENT_UNKNOWN and told is None and not _is_placed(said, spoken):
        return _R.RECIPIENT_REFUSED  # what stands around the server's answer is not its answer
    return _at_its_place(reason, said, spoken)


def _more_than_trouble(said: Said, words: str) -> BounceReason:
    """What the status says is meant where the words speak of trouble only."""
    meant = reason_of_status(said.status)
    is_meant = meant in _OF_US or (meant is _R.MESSAGE_REFUSED and _BEGINNING in words)
    return meant if meant is not None and is_meant else _R.DOMAIN_TROUBLE


def _answer_in(words: str) -> str:
    """What stands below the words by which Exchange announces the server's answer: above, it guesses at the meaning."""
    found = _ANNOUNCED.search(words)
    return words[found.end() :] if found else words


_OF_US: Final = frozenset({_R.SENDER_REFUSED, _R.SENDER_UNAUTHENTICATED})
_BEGINNING: Final = "service unavailable"  # what many answers begin with, whatever they mean


def _at_its_place(reason: BounceReason | None, said: Said, words: str) -> BounceReason:
    """The same reason, or the one that it must be where it was said."""
    if reason in _NO_REASONS and _any(_AT_CONNECT, words):
        is_later = reason in {None, _R.DOMAIN_TROUBLE} and _FOUR.match(said.diagnostic)
        return _R.DOMAIN_TROUBLE if is_later else _R.SENDER_REFUSED
    if reason in _NOT_AT_MAIL and not _is_temporary(said) and _any(_AT_MAIL, words):
        return _R.SENDER_REFUSED
    if reason is None and _CALLED_BACK in words and _any(_AT_MAIL, words):
        return _R.SENDER_REFUSED
    if reason in _WITHOUT_WHY and _OUR_IP.search(
        _LINK.sub(" ", without_noise(said.diagnostic[:WORDS_MOST].lower()))
    ):
        return _R.SENDER_REFUSED
    if reason is None and _is_temporary(said):
        return _R.DOMAIN_TROUBLE
    if reason is _R.RECIPIENT_UNKNOWN and _any(_RULES, words):
        return _R.RECIPIENT_REFUSED
    if reason is _R.RECIPIENT_UNKNOWN and (said.status or "")[1:4] != ".1.":
        return reason if _is_sure(said, words) else _R.RECIPIENT_REFUSED
    return reason or _R.UNKNOWN


def _is_placed(said: Said, words: str) -> bool:
    """Whether its status or its place says that the recipient is meant."""
    return (said.status or "")[1:4] == ".1." or _any(_AT_RCPT, words)


def _is_sure(said: Said, words: str) -> bool:
    """Whether "unknown" is meant: a bare 550 is also what filters answer, and what is said after the content is theirs."""
    if _any(_AT_DATA, words) or (">>> data" in words and _PIPELINED not in words):
        return False
    if said.code is None:
        return said.status is not None or not _any(_HEARSAY, words)
    is_bare = said.status is None or said.status[2:] in _BARE
    answer = said.diagnostic.lower() or words  # around it, others say the same in a formula
    is_in_own_words = not _any(_FORMULAS, answer)
    if not is_bare or is_in_own_words or _any(_AT_RCPT, words) or _any(_SURE, words):
        return True
    if _any(_SURE_ALONE if said.status is None else _SURE_IN_FIELDS, words):
        return True
    return _any(_SURE_PEERS, said.diagnostic.lower())


def _any(needles: tuple[str, ...], words: str) -> bool:
    return any(needle in words for needle in needles)


def _is_temporary(said: Said) -> bool:
    if said.status is not None:
        return said.status.startswith("4")
    return said.code is not None and str(said.code).startswith("4")
