"""The types of events (CONTRACT §5), and those a consumer gets without asking."""

from enum import StrEnum
from typing import Final


class EventType(StrEnum):
    """What an event tells."""

    DELIVERY_SENT = "delivery.sent"
    DELIVERY_FAILED = "delivery.failed"
    DELIVERY_UNCERTAIN = "delivery.uncertain"
    DELIVERY_CORRECTED = "delivery.corrected"
    DELIVERY_SKIPPED = "delivery.skipped"
    REPLY_RECEIVED = "reply.received"
    MESSAGE_RECEIVED = "message.received"
    AUTO_REPLY_RECEIVED = "auto_reply.received"
    LIST_MAIL_RECEIVED = "list_mail.received"
    DELIVERY_BOUNCED = "delivery.bounced"
    DELIVERY_DELAYED = "delivery.delayed"
    DELIVERY_CONFIRMED = "delivery.confirmed"
    COMPLAINT_RECEIVED = "complaint.received"


_UNASKED_NEVER: Final = frozenset(
    {
        EventType.DELIVERY_SENT,
        EventType.DELIVERY_DELAYED,
        EventType.DELIVERY_SKIPPED,
        EventType.AUTO_REPLY_RECEIVED,
        EventType.LIST_MAIL_RECEIVED,
    }
)

DEFAULT_TYPES: Final = tuple(one for one in EventType if one not in _UNASKED_NEVER)
