"""Notices of Amazon SES in JSON, as its notification service sends them by mail: bounces, complaints, deliveries."""

import json
import re
from typing import Final

import msgspec

from postroom.core.inmail import ReportedRecipient
from postroom.inbound.clean import clean_line, clean_token
from postroom.inbound.reportfields import COMPLAINED, DIAGNOSTIC_MOST, NAME_MOST, RECIPIENTS_MOST


READ_MOST: Final = 64 * 1024
_BREAKS: Final = re.compile(r"\r?\n")


class _Person(msgspec.Struct, rename="camel"):
    email_address: str = ""
    action: str = ""
    status: str = ""
    diagnostic_code: str = ""


class _Bounce(msgspec.Struct, rename="camel"):
    bounced_recipients: list[_Person] = []
    reporting_mta: str = msgspec.field(name="reportingMTA", default="")


class _Complaint(msgspec.Struct, rename="camel"):
    complained_recipients: list[_Person] = []
    complaint_feedback_type: str = ""


class _Delivery(msgspec.Struct, rename="camel"):
    recipients: list[str] = []
    smtp_response: str = ""


class _Notice(msgspec.Struct, rename="camel"):
    bounce: _Bounce | None = None
    complaint: _Complaint | None = None
    delivery: _Delivery | None = None


class _Envelope(msgspec.Struct):
    message: str = msgspec.field(name="Message", default="")


def find_in_json(text: str) -> list[ReportedRecipient]:
    """Whom a notice names; nobody where the text is none."""
    start = text.find("{")
    if start < 0 or text[:start].strip():
        return []
    try:
        value = _beginning(text[start : start + READ_MOST])
        inner = msgspec.convert(value, _Envelope).message
        return _blocks(msgspec.convert(_beginning(inner) if inner else value, _Notice))
    except (ValueError, RecursionError):
        return []


def _beginning(text: str) -> object:
    # Mail programs on the way break the long line.
    value: object = json.JSONDecoder(strict=False).raw_decode(_BREAKS.sub("", text))[0]
    return value


def _blocks(notice: _Notice) -> list[ReportedRecipient]:
    found: list[ReportedRecipient] = []
    if notice.bounce is not None:
        found += [
            _block(one, one.action or "failed", one.diagnostic_code)
            for one in notice.bounce.bounced_recipients[:RECIPIENTS_MOST]
        ]
    if notice.complaint is not None:
        kind = notice.complaint.complaint_feedback_type
        found += [
            _block(one, COMPLAINED, kind)
            for one in notice.complaint.complained_recipients[:RECIPIENTS_MOST]
        ]
    if notice.delivery is not None:
        reply = notice.delivery.smtp_response
        found += [
            _block(_Person(one), "delivered", reply)
            for one in notice.delivery.recipients[:RECIPIENTS_MOST]
        ]
    return found


def _block(person: _Person, action: str, diagnostic: str) -> ReportedRecipient:
    return ReportedRecipient(
        recipient=clean_token(person.email_address, NAME_MOST) or None,
        action=clean_token(action.lower(), NAME_MOST) or None,
        status=clean_token(person.status, NAME_MOST) or None,
        diagnostic=clean_line(diagnostic, DIAGNOSTIC_MOST) or None,
        remote_mta=None,
    )
