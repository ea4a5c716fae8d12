"""Delivery reports as events show them (docs/trust.md)."""

from msgspec import field

from postroom.api.answered import Answered
from postroom.core.bouncereason import BounceClass, BounceReason


class ReportedRecipient(Answered, frozen=True):
    """What a report says of one recipient, and what that comes to."""

    recipient: str | None
    kind: BounceClass = field(name="class")
    reason: BounceReason
    hard: bool
    action: str | None
    status: str | None
    reply_code: int | None
    diagnostic: str | None
    remote_mta: str | None


class DeliveryReport(ReportedRecipient, frozen=True):
    """A report: of the recipient that the event is about, and of all that it names."""

    verified: bool
    suppressed: bool
    original_message_id: str | None
    reporting_mta: str | None
    recipients: list[ReportedRecipient]
