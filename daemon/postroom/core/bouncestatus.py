"""What an enhanced status (RFC 3463 and its registry) says of a bounce where no words say more: data for `core.bounceread`.

Here stands what reports mean by it; the rest is what relays mean (`core.replytable`), in the words of reports.
"""

from typing import Final

from postroom.core.bouncereason import BounceReason
from postroom.core.reason import ReasonCode
from postroom.core.replytable import STATUS_BY_CLASS
from postroom.core.throttles import STATUS


_R = BounceReason

_STATUS: Final[dict[str, BounceReason]] = {
    "1.0": _R.RECIPIENT_UNKNOWN,
    "1.4": _R.RECIPIENT_UNKNOWN,
    "2.0": _R.RECIPIENT_REFUSED,
    "1.6": _R.RECIPIENT_MOVED,
    "3.2": _R.DOMAIN_NO_MAIL,
    "3.3": _R.DOMAIN_TROUBLE,
    "3.5": _R.DOMAIN_TROUBLE,
    "4.0": _R.DOMAIN_TROUBLE,
    "4.1": _R.DOMAIN_TROUBLE,
    "4.2": _R.DOMAIN_TROUBLE,
    "4.3": _R.DOMAIN_TROUBLE,
    "4.6": _R.DOMAIN_TROUBLE,
    "4.7": _R.DOMAIN_TROUBLE,
    "5.1": _R.DOMAIN_TROUBLE,
    "5.2": _R.DOMAIN_TROUBLE,
    "5.4": _R.DOMAIN_TROUBLE,
    "5.5": _R.DOMAIN_TROUBLE,
    "2.121": _R.RATE_LIMITED,
    "2.122": _R.RATE_LIMITED,
    "4.14": _R.DOMAIN_TROUBLE,
    "4.310": _R.DOMAIN_UNKNOWN,
    "4.312": _R.DOMAIN_TROUBLE,
    "4.316": _R.DOMAIN_TROUBLE,
    "1.20": _R.MESSAGE_MALFORMED,
    "6.11": _R.MESSAGE_MALFORMED,
    "7.0": _R.MESSAGE_REFUSED,
    "7.1": _R.MESSAGE_REFUSED,
    "7.6": _R.MESSAGE_REFUSED,
    "7.7": _R.MESSAGE_REFUSED,
    "7.13": _R.RECIPIENT_DISABLED,
    "7.15": _R.MESSAGE_REFUSED,
    "7.16": _R.MESSAGE_TOO_BIG,
    "7.29": _R.SENDER_UNAUTHENTICATED,
    "7.17": _R.RECIPIENT_MOVED,  # RFC 7293: the mailbox, or the domain, is another's now
    "7.18": _R.RECIPIENT_MOVED,
    "7.124": _R.RECIPIENT_REFUSED,
    "7.129": _R.RECIPIENT_REFUSED,
    "7.133": _R.RECIPIENT_REFUSED,
    "7.134": _R.RECIPIENT_REFUSED,
    "7.136": _R.RECIPIENT_REFUSED,
    "7.500": _R.DOMAIN_TROUBLE,
    "7.501": _R.SENDER_REFUSED,
    "7.502": _R.SENDER_REFUSED,
    "7.503": _R.SENDER_REFUSED,
    "7.506": _R.SENDER_REFUSED,
    "7.513": _R.SENDER_REFUSED,
    "7.520": _R.SENDER_REFUSED,
    "7.750": _R.SENDER_REFUSED,
}
_SUBJECTS: Final[dict[str, BounceReason]] = {  # of details that no registry has
    "4": _R.DOMAIN_TROUBLE,
    "6": _R.MESSAGE_MALFORMED,
    "7": _R.MESSAGE_REFUSED,
}
_PUT_OFF: Final = frozenset({"2.0", "3.2", "7.0", "7.1"})  # with 4: come again
RELAYS: Final[dict[ReasonCode, BounceReason]] = {
    ReasonCode.RECIPIENT_UNKNOWN: _R.RECIPIENT_UNKNOWN,
    ReasonCode.RECIPIENT_BAD_ADDRESS: _R.RECIPIENT_UNKNOWN,
    ReasonCode.RECIPIENT_DISABLED: _R.RECIPIENT_DISABLED,
    ReasonCode.RECIPIENT_MOVED: _R.RECIPIENT_MOVED,
    ReasonCode.RECIPIENT_MAILBOX_FULL: _R.RECIPIENT_MAILBOX_FULL,
    ReasonCode.RECIPIENT_REFUSED: _R.RECIPIENT_REFUSED,
    ReasonCode.RECIPIENT_DEFERRED: _R.DOMAIN_TROUBLE,
    ReasonCode.DOMAIN_UNKNOWN: _R.DOMAIN_UNKNOWN,
    ReasonCode.DOMAIN_NO_MAIL: _R.DOMAIN_NO_MAIL,
    ReasonCode.DOMAIN_DEFERRED: _R.SENDER_REFUSED,
    ReasonCode.DOMAIN_QUOTA: _R.RATE_LIMITED,
    ReasonCode.GREYLISTED: _R.DOMAIN_TROUBLE,
    ReasonCode.MESSAGE_TOO_BIG: _R.MESSAGE_TOO_BIG,
    ReasonCode.MESSAGE_REFUSED: _R.MESSAGE_MALFORMED,
    ReasonCode.MESSAGE_SPAM: _R.MESSAGE_SPAM,
    ReasonCode.MESSAGE_MALFORMED: _R.MESSAGE_MALFORMED,
    ReasonCode.SMTPUTF8_UNSUPPORTED: _R.MESSAGE_MALFORMED,
    ReasonCode.SENDER_REFUSED: _R.SENDER_REFUSED,
    ReasonCode.SENDER_UNAUTHENTICATED: _R.SENDER_UNAUTHENTICATED,
    ReasonCode.QUOTA_DAILY: _R.RATE_LIMITED,
    ReasonCode.RATE_LIMITED: _R.RATE_LIMITED,
    ReasonCode.AUTH_FAILED: _R.MESSAGE_REFUSED,
    ReasonCode.RELAYING_DENIED: _R.RELAYING_DENIED,
    ReasonCode.IP_BLOCKED: _R.SENDER_REFUSED,
    ReasonCode.RELAY_BUSY: _R.RATE_LIMITED,
    ReasonCode.RELAY_STORAGE_FULL: _R.DOMAIN_TROUBLE,
    ReasonCode.RELAY_DEFERRED: _R.DOMAIN_TROUBLE,
}


def reason_of_status(status: str | None) -> BounceReason | None:
    """What a status says by itself; None where it says no more than its class."""
    if status is None:
        return None
    first, _, detail = status.partition(".")
    if first == "4" and detail in _PUT_OFF:
        return _R.DOMAIN_TROUBLE
    if detail in _STATUS:
        return _STATUS[detail]
    reading = STATUS_BY_CLASS.get(f"{first}.{detail}") or STATUS.get(detail)
    if reading is None:
        reason = _SUBJECTS.get(detail.partition(".")[0])
        return _R.DOMAIN_TROUBLE if reason and first == "4" else reason
    return RELAYS.get(reading.reason)
