"""Notices of Amazon SES in JSON, as its notification service sends them by mail: bounces, complaints, deliveries.

What is there in another shape than it should be counts as not there.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from postroom.core.inmail import ReportedRecipient
from postroom.inbound.clean import clean_line, clean_token
from postroom.inbound.reportfields import COMPLAINED, DIAGNOSTIC_MOST, NAME_MOST, RECIPIENTS_MOST


READ_MOST: Final = 64 * 1024
_BREAKS: Final = re.compile(r"\r?\n")


def find_in_json(text: str) -> list[ReportedRecipient]:
    """Whom a notice names; nobody where the text is none."""
    notice = _beginning(text.lstrip()[:READ_MOST])
    inner = _text(notice, "Message")
    return list(_blocks(_beginning(inner) if inner else notice))[:RECIPIENTS_MOST]


def _beginning(text: str) -> object:
    """The value that the text begins with; mail programs on the way break its long line."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(_BREAKS.sub("", text))[0]
    except (ValueError, RecursionError):
        return None


def _blocks(notice: object) -> Iterator[ReportedRecipient]:
    for person in _list(_member(notice, "bounce"), "bouncedRecipients"):
        yield _block(person, _text(person, "action") or "failed", _text(person, "diagnosticCode"))
    complaint = _member(notice, "complaint")
    for person in _list(complaint, "complainedRecipients"):
        yield _block(person, COMPLAINED, _text(complaint, "complaintFeedbackType"))
    delivery = _member(notice, "delivery")
    for address in _list(delivery, "recipients"):
        yield _block({"emailAddress": address}, "delivered", _text(delivery, "smtpResponse"))


def _block(person: object, action: str, diagnostic: str) -> ReportedRecipient:
    return ReportedRecipient(
        recipient=clean_token(_text(person, "emailAddress"), NAME_MOST) or None,
        action=clean_token(action.lower(), NAME_MOST) or None,
        status=clean_token(_text(person, "status"), NAME_MOST) or None,
        diagnostic=clean_line(diagnostic, DIAGNOSTIC_MOST) or None,
        remote_mta=None,
    )


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: object, name: str) -> str:
    found = _member(value, name)
    return found if isinstance(found, str) else ""


def _list(value: object, name: str) -> list[object]:
    found = _member(value, name)
    return found if isinstance(found, list) else []
