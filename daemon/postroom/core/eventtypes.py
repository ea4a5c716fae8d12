"""The types of events (CONTRACT §5), which of them a consumer gets unasked, and what a received message becomes. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.core.delivery import Feedback
from postroom.core.inmail import AutomationKind, ReportedRecipient


class EventType(StrEnum):
    """What happened."""

    DELIVERY_SENT = "delivery.sent"
    DELIVERY_FAILED = "delivery.failed"
    DELIVERY_UNCERTAIN = "delivery.uncertain"
    DELIVERY_CORRECTED = "delivery.corrected"
    DELIVERY_SKIPPED = "delivery.skipped"
    DELIVERY_BOUNCED = "delivery.bounced"
    DELIVERY_DELAYED = "delivery.delayed"
    DELIVERY_CONFIRMED = "delivery.confirmed"
    REPLY_RECEIVED = "reply.received"
    MESSAGE_RECEIVED = "message.received"
    AUTO_REPLY_RECEIVED = "auto_reply.received"
    LIST_MAIL_RECEIVED = "list_mail.received"
    COMPLAINT_RECEIVED = "complaint.received"
    ALERT_RAISED = "alert.raised"
    ALERT_CLEARED = "alert.cleared"


_T = EventType

# They have no thread, and so nobody leases them: they are read from the log.
UNLEASED: Final = frozenset({_T.ALERT_RAISED, _T.ALERT_CLEARED})
DEFAULT_TYPES: Final = frozenset(
    set(_T)
    - UNLEASED
    - {
        _T.DELIVERY_SENT,
        _T.DELIVERY_DELAYED,
        _T.DELIVERY_SKIPPED,
        _T.AUTO_REPLY_RECEIVED,
        _T.LIST_MAIL_RECEIVED,
    }
)


@dataclass(frozen=True, slots=True)
class ReportFact:
    """What a report says of one recipient: the event that it is, and the feedback that it proves, if any."""

    type: EventType
    feedback: Feedback


def type_of_mail(kind: AutomationKind, *, is_known: bool) -> EventType:
    """The type of a received message; `is_known`: it belongs to a thread that was there before.

    A report of which nothing can be read, and our own mail come back, wake nobody who did not ask.
    """
    match kind:
        case AutomationKind.HUMAN:
            return _T.REPLY_RECEIVED if is_known else _T.MESSAGE_RECEIVED
        case AutomationKind.LIST | AutomationKind.BULK:
            return _T.LIST_MAIL_RECEIVED
        case AutomationKind.AUTO_REPLY | AutomationKind.LOOP | AutomationKind.REPORT:
            return _T.AUTO_REPLY_RECEIVED


def read_report(block: ReportedRecipient) -> ReportFact | None:
    """What one block of a report says; None when it says nothing that is known.

    `Action` is believed before `Status` (a peer that gave up on a full mailbox says `failed` and 4.2.2). `relayed` went
    on to where nobody reports; `expanded` reached this recipient, whatever became of those behind it (RFC 3464 §2.3.3).
    """
    if block.action in _FACTS:
        return _FACTS[block.action]
    return _BY_CLASS.get((block.status or "")[:2])


_BOUNCED: Final = ReportFact(_T.DELIVERY_BOUNCED, Feedback.BOUNCED)
_DELAYED: Final = ReportFact(_T.DELIVERY_DELAYED, Feedback.DELAYED)
_DELIVERED: Final = ReportFact(_T.DELIVERY_CONFIRMED, Feedback.DELIVERED)

_FACTS: Final[dict[str | None, ReportFact]] = {
    "failed": _BOUNCED,
    "delayed": _DELAYED,
    "delivered": _DELIVERED,
    "expanded": _DELIVERED,
    "relayed": ReportFact(_T.DELIVERY_CONFIRMED, Feedback.NONE),
    "auto-replied": ReportFact(_T.AUTO_REPLY_RECEIVED, Feedback.NONE),
    "complained": ReportFact(_T.COMPLAINT_RECEIVED, Feedback.COMPLAINED),
}
_BY_CLASS: Final = {"5.": _BOUNCED, "4.": _DELAYED, "2.": _DELIVERED}
