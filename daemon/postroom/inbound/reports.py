"""Delivery reports (RFC 3464, RFC 6533) and feedback reports (RFC 5965), read from the parts of a message.

`Action` and `Status` are handed on as they stand; what follows from them is decided where deliveries are known. Where
the MIME around a report is broken, its fields are looked for in the text, but only in what claims to be a report.
Reports in plain words, a third of real ones, name no recipient here: whether it is given up or still tried is told by
their words and codes, and believed only where a return-path token says whose delivery it is.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from postroom.core.inmail import Report, ReportedRecipient
from postroom.core.message import DELIVERY_HEADER
from postroom.inbound.clean import clean_line, clean_token
from postroom.inbound.defects import Defect
from postroom.inbound.encodedwords import decode_field
from postroom.inbound.head import Head, read_head
from postroom.inbound.messageids import find_id
from postroom.inbound.mimeparts import Part, Parts
from postroom.inbound.replywords import BOUNCED, STILL_TRIED
from postroom.inbound.transfer import read_content


COMPLAINED: Final = (
    "complained"  # the action of a recipient in a feedback report; not a word of RFC 3464
)
RECIPIENTS_MOST: Final = 100
DELIVERY_MOST: Final = 100
_DIAGNOSTIC_MOST: Final = 1000
_NAME_MOST: Final = 320
_READ_MOST: Final = 256 * 1024  # of a report's own fields
_WORDS_MOST: Final = 16 * 1024  # of a report in plain words: below stands the mail that came back
_ORIGINAL_MOST: Final = 1024 * 1024  # where the fields of the original must stand

_STATUS_TYPES: Final = frozenset({"message/delivery-status", "message/global-delivery-status"})
_FEEDBACK_TYPE: Final = "message/feedback-report"
_HEADER_TYPES: Final = frozenset(
    {
        "text/rfc822-headers",
        "text/rfc822-header",
        "message/rfc822-headers",
        "message/global-headers",
    }
)
_ORIGINAL_TYPES: Final = _HEADER_TYPES | {"message/rfc822", "message/global", "text/rfc822"}
# All of a report that is of use is in `Report`: these of its parts are no files.
READ_TYPES: Final = _STATUS_TYPES | _HEADER_TYPES | {_FEEDBACK_TYPE}
_BLOCKS: Final = re.compile(rb"(?:\r?\n[ \t]*){2,}")
_BLOCK_ABOVE: Final = 500  # octets of a block above the recipient's field
_UNFOLDED: Final = re.compile(rb"\n(?![ \t]|[A-Za-z][A-Za-z0-9-]*[ \t]*:)")
_STATUS: Final = re.compile(r"(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])")
_SMTP_REFUSAL: Final = re.compile(r"(?<![\d.-])5[0-5]\d[ -](?:5\.\d|[A-Za-z<#])")
_STILL_TRIED: Final = re.compile(STILL_TRIED, re.IGNORECASE)
_ENDED: Final = re.compile("fail|undeliver|returned", re.IGNORECASE)
_GIVEN_UP: Final = re.compile(BOUNCED, re.IGNORECASE)
_LOOSE: Final = re.compile(rb"^(?:original|final)-recipient[ \t]*:", re.IGNORECASE | re.MULTILINE)
_LOOSE_ID: Final = re.compile(rb"^message-id[ \t]*:(.{0,998})", re.IGNORECASE | re.MULTILINE)
_LOOSE_DELIVERY: Final = re.compile(
    rb"^" + DELIVERY_HEADER.encode() + rb"[ \t]*:(.{0,200})", re.IGNORECASE | re.MULTILINE
)


def is_report(parts: Parts) -> bool:
    """Whether the message says that it is a report about a delivery, or about a complaint."""
    said = parts.type.parameters.get("report-type", "").lower()
    is_typed = parts.type.value == "multipart/report" and said in {
        "delivery-status",
        "feedback-report",
    }
    return is_typed or any(_is_told(part) for part in parts.leaves)


def is_receipt(parts: Parts) -> bool:
    """Whether it says that somebody has seen a mail (RFC 8098)."""
    said = parts.type.parameters.get("report-type", "").lower()
    types = {part.type.value for part in parts.leaves}
    return said == "disposition-notification" or "message/disposition-notification" in types


def read_report(raw: bytes, parts: Parts, defects: set[Defect]) -> Report:
    """What the report says; without recipients where it names none."""
    recipients: list[ReportedRecipient] = []
    for part in parts.leaves:
        if _is_told(part):
            content = read_content(raw, part, defects)[:_READ_MOST]
            is_feedback = part.type.value == _FEEDBACK_TYPE
            recipients += _complaints(content) if is_feedback else _recipients(content)
    if not recipients:
        recipients += _found_in_text(raw, parts, defects) or _in_words(raw, parts, defects)
    message_id, delivery = _original(raw, parts.leaves, defects)
    found_id = _LOOSE_ID.search(raw, parts.body, parts.body + _ORIGINAL_MOST)
    found_delivery = _LOOSE_DELIVERY.search(raw, parts.body, parts.body + _ORIGINAL_MOST)
    return Report(
        tuple(recipients[:RECIPIENTS_MOST]),
        message_id or (find_id([found_id[1]], set()) if found_id else None),
        delivery or (_delivery(found_delivery[1]) if found_delivery else None),
    )


def _is_told(part: Part) -> bool:
    """Whether the part is a report's; a status attached by a person as a file is not one."""
    return part.disposition.value != "attachment" and (
        part.type.value in _STATUS_TYPES or part.type.value == _FEEDBACK_TYPE
    )


def _recipients(content: bytes) -> Iterator[ReportedRecipient]:
    for block in _BLOCKS.split(content.strip())[: 2 * RECIPIENTS_MOST]:
        found = _recipient(block)
        if found is not None:
            yield found


def _found_in_text(raw: bytes, parts: Parts, defects: set[Defect]) -> list[ReportedRecipient]:
    """The recipients in the first text that names any; the last text is the body as it came."""
    texts = (
        read_content(raw, part, defects)[:_READ_MOST]
        for part in parts.leaves
        if part.type.value == "text/plain"
    )
    for text in (*texts, raw[parts.body : parts.body + _READ_MOST]):
        found = list(_loose(text))
        if found:
            return found
    return []


def _in_words(raw: bytes, parts: Parts, defects: set[Defect]) -> list[ReportedRecipient]:
    """What a report in plain words says, of nobody by name; nothing where it has no code and no word of a report."""
    subject = decode_field(parts.head.first("subject") or b"", set())
    body = next(
        (
            read_content(raw, part, defects)[:_WORDS_MOST]
            for part in parts.leaves
            if part.type.value.startswith("text/")
        ),
        raw[parts.body : parts.body + _WORDS_MOST],
    )
    words = f"{subject}\n{body.decode('utf-8', errors='replace')}"
    found = _STATUS.search(words)
    status = found[1] if found else None
    is_given_up = (
        _SMTP_REFUSAL.search(words) is not None
        or (status or "").startswith("5")
        or _ENDED.search(subject) is not None
    )
    if _STILL_TRIED.search(words) and not is_given_up:
        return [ReportedRecipient(None, "delayed", status, None, None)]
    if is_given_up or _GIVEN_UP.search(subject):
        return [ReportedRecipient(None, "failed", status, None, None)]
    return []


def _loose(body: bytes) -> Iterator[ReportedRecipient]:
    """The recipient blocks of a report whose MIME can not be read."""
    at = 0
    for found in _LOOSE.finditer(body):
        if found.start() < at:
            continue
        end = _BLOCKS.search(body, found.start())
        at = len(body) if end is None else end.start()
        nearest = max(0, found.start() - _BLOCK_ABOVE)
        ends = [one.end() for one in _BLOCKS.finditer(body, nearest, found.start())]
        one = _recipient(body[max(ends, default=found.start() if nearest else 0) : at])
        if one is not None:
            yield one


def _recipient(block: bytes) -> ReportedRecipient | None:
    """One block; None when it is the one about the message, or about nothing."""
    # Some write the relay's answer over several lines without folding it.
    head, _ = read_head(_UNFOLDED.sub(b"\n ", block.lstrip()) + b"\n")
    names = [
        _typed(head, name)
        for name in ("original-recipient", "final-recipient", "x-actual-recipient")
    ]
    recipient = next(
        (name for name in names if name and "@" in name), next(filter(None, names), None)
    )
    action = _field(head, "action", _NAME_MOST)
    status = _field(head, "status", _DIAGNOSTIC_MOST)
    if recipient is None and action is None:
        return None
    code = None if status is None else _STATUS.search(status)
    return ReportedRecipient(
        recipient=recipient,
        action=action.split()[0].lower() if action else None,
        status=code[1] if code else None,
        diagnostic=_field(head, "diagnostic-code", _DIAGNOSTIC_MOST),
        remote_mta=_typed(head, "remote-mta"),
    )


def _complaints(content: bytes) -> Iterator[ReportedRecipient]:
    head, _ = read_head(content)
    names = ("original-rcpt-to", "removal-recipient")
    values = [value for name in names for value in head.every(name)]
    addresses = dict.fromkeys(_address(decode_field(value, set())) for value in values)
    # Many keep back who complained: then only a return-path token says whose delivery it is.
    known: list[str | None] = [one for one in addresses if one]
    for address in known or [None]:
        yield ReportedRecipient(
            address, COMPLAINED, None, _field(head, "feedback-type", _NAME_MOST), None
        )


def _original(
    raw: bytes, leaves: Sequence[Part], defects: set[Defect]
) -> tuple[str | None, str | None]:
    """Message-ID and delivery of the message that the report is about, as far as it is returned."""
    for part in reversed(leaves):
        if part.type.value in _ORIGINAL_TYPES:
            content = read_content(raw, part, defects)[:_ORIGINAL_MOST]
            head, _ = read_head(content.lstrip())
            delivery = _delivery(head.first(DELIVERY_HEADER.lower()) or b"")
            return find_id(head.every("message-id"), set()), delivery
    return None, None


def _delivery(value: bytes) -> str | None:
    return clean_token(value.decode("ascii", errors="replace"), DELIVERY_MOST) or None


def _field(head: Head, name: str, most: int) -> str | None:
    value = head.first(name)
    return (
        (clean_line(" ".join(decode_field(value, set()).split()), most) or None) if value else None
    )


def _typed(head: Head, name: str) -> str | None:
    """What follows the type, as in `rfc822; user@example.com`."""
    value = _field(head, name, _NAME_MOST + len("rfc822; "))
    if value is None:
        return None
    kind, semicolon, rest = value.partition(";")
    return _address(rest if semicolon else kind) or None


def _address(text: str) -> str:
    inner = text.partition("<")[2].partition(">")[0] if "<" in text else text
    return clean_token(inner.strip().strip('"'), _NAME_MOST)
