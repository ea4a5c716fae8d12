"""What a report says: of each recipient, its fields and what they come to; and which message of ours it is about.

First the fields (`reportfields`), in their own parts or, where the MIME around them is broken, anywhere in the text, but
only in what claims to be a report; then plain words (`reportwords`), at last what the library for the rest finds. The
words around the fields are asked, too, where the fields are general. What follows is decided where deliveries are known.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.core.bounceread import MADE_BY, Said, make_sense
from postroom.core.bouncereason import BounceReason
from postroom.core.inmail import Report, ReportedRecipient
from postroom.inbound.charsets import decode
from postroom.inbound.clean import clean_line, clean_text
from postroom.inbound.defects import Defect
from postroom.inbound.encodedwords import decode_field
from postroom.inbound.fluflbounce import find_failed
from postroom.inbound.head import read_head
from postroom.inbound.htmltext import Room, html_to_text
from postroom.inbound.messageids import find_id
from postroom.inbound.mimeparts import Part, Parts
from postroom.inbound.people import read_addresses
from postroom.inbound.reportfields import (
    COMPLAINED,
    DIAGNOSTIC_MOST,
    RECIPIENTS_MOST,
    find_loose_blocks,
    find_reporting_mta,
    read_blocks,
    read_feedback,
)
from postroom.inbound.reportjson import find_in_json
from postroom.inbound.reportwords import (
    WORDS_MOST,
    Named,
    above_the_original,
    find_action,
    find_named,
    find_numbers,
    is_rejecting,
    is_worded,
)
from postroom.inbound.transfer import read_content


_READ_MOST: Final = 256 * 1024  # of a report's own fields
_ORIGINAL_MOST: Final = 1024 * 1024  # where the fields of the original must stand
_TEXTS_MOST: Final = 3  # parts that are looked at for the report's own words

_STATUS_TYPES: Final = frozenset({"message/delivery-status", "message/global-delivery-status"})
_FEEDBACK_TYPE: Final = "message/feedback-report"
_RECEIPT_TYPE: Final = "message/disposition-notification"
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
READ_TYPES: Final = _STATUS_TYPES | _HEADER_TYPES | {_FEEDBACK_TYPE, _RECEIPT_TYPE}
_FAILED_FIELDS: Final = ("x-failed-recipients",)
_COMPLAINT: Final = re.compile(r"complaint about message from [0-9a-f.:]{3,45}", re.IGNORECASE)
_LOOSE_ID: Final = re.compile(rb"^message-id[ \t]*:(.{0,998})", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Words:
    """The report's own words, and whom they name."""

    subject: str
    body: str
    named: tuple[Named, ...]

    def of(self, recipient: str | None) -> str:
        """What they say of this one."""
        key = (recipient or "").casefold()
        return next((one.words for one in self.named if one.address.casefold() == key), "")

    def of_all(self) -> str:
        """All of them, where they speak of one."""
        return f"{self.body}\n{self.subject}" if len(self.named) <= 1 else self.subject


def is_report(parts: Parts) -> bool:
    """Whether the message says that it is a report about a delivery, or about a complaint."""
    said = parts.type.parameters.get("report-type", "").lower()
    is_typed = parts.type.value == "multipart/report" and said in {
        "delivery-status",
        "feedback-report",
    }
    return is_typed or any(_is_told(part) for part in parts.leaves) or _is_bare_complaint(parts)


def is_report_in_words(raw: bytes, parts: Parts) -> bool:
    """Whether a mail that came from where no person writes says in its words that another was not delivered.

    It needs a sentence that says so and an address that it names; absence notices have the one or the other.
    """
    words = _words(raw, parts, set())
    return bool(words.named) and is_worded(words.subject, words.body)


def is_notice(raw: bytes, parts: Parts) -> bool:
    """Whether it is a notice of Amazon SES in JSON."""
    is_from = b"@sns.amazonaws.com" in (parts.head.first("from") or b"")
    return is_from and bool(find_in_json(_words(raw, parts, set()).body))


def is_receipt(parts: Parts) -> bool:
    """Whether it says that somebody has seen a mail (RFC 8098)."""
    said = parts.type.parameters.get("report-type", "").lower()
    types = {part.type.value for part in parts.leaves}
    return said == "disposition-notification" or _RECEIPT_TYPE in types


def is_rejection(raw: bytes, parts: Parts) -> bool:
    """Whether it is a receipt by which a filter sends the mail back: deleted, and the words say why."""
    body = _words(raw, parts, set()).body if is_receipt(parts) else ""
    return any(_is_sent_back(raw, part, body) for part in parts.leaves)


def read_report(raw: bytes, parts: Parts, defects: set[Defect]) -> Report:
    """What the report says; without recipients where it names none."""
    words = _words(raw, parts, defects)
    told, reporting_mta = _told(raw, parts, words.body, defects)
    if _is_bare_complaint(parts):
        told = [_complaint(raw, parts.leaves[0])]
    blocks = (
        told or _loose(raw, parts, defects) or find_in_json(words.body) or _in_words(raw, words)
    )
    message_id = _original_id(raw, parts.leaves, defects)
    found_id = _LOOSE_ID.search(raw, parts.body, parts.body + _ORIGINAL_MOST)
    return Report(
        tuple(_understood(one, words, reporting_mta) for one in blocks[:RECIPIENTS_MOST]),
        message_id or (find_id([found_id[1]], set()) if found_id else None),
        reporting_mta,
    )


def _is_told(part: Part) -> bool:
    """Whether the part is a report's; a status attached by a person as a file is not one."""
    return part.disposition.value != "attachment" and (
        part.type.value in _STATUS_TYPES or part.type.value == _FEEDBACK_TYPE
    )


def _is_sent_back(raw: bytes, part: Part, body: str) -> bool:
    return (
        part.type.value == _RECEIPT_TYPE
        and b"deleted" in read_content(raw, part, set())[:_READ_MOST].lower()
        and is_rejecting(body)
    )


def _is_bare_complaint(parts: Parts) -> bool:
    """Whether it is a complaint as Hotmail sends them: a subject, and the message."""
    subject = decode_field(parts.head.first("subject") or b"", set())
    types = [part.type.value for part in parts.leaves]
    return _COMPLAINT.fullmatch(subject.strip()) is not None and types == ["message/rfc822"]


def _told(
    raw: bytes, parts: Parts, body: str, defects: set[Defect]
) -> tuple[list[ReportedRecipient], str | None]:
    """The blocks of the report's own parts, and who made it."""
    blocks: list[ReportedRecipient] = []
    reporting_mta: str | None = None
    for part in (one for one in parts.leaves if _is_told(one) or _is_sent_back(raw, one, body)):
        content = read_content(raw, part, defects)[:_READ_MOST]
        if part.type.value == _FEEDBACK_TYPE:
            blocks += read_feedback(content)
        elif part.type.value == _RECEIPT_TYPE:
            blocks += [replace(one, action=one.action or "failed") for one in read_blocks(content)]
        else:
            blocks += read_blocks(content)
        reporting_mta = reporting_mta or find_reporting_mta(content)
    return blocks, reporting_mta


def _complaint(raw: bytes, part: Part) -> ReportedRecipient:
    head, _ = read_head(read_content(raw, part, set())[:_READ_MOST].lstrip())
    known = read_addresses(head.every("x-hmxmroriginalrecipient"), set())
    return ReportedRecipient(next(iter(known), None), COMPLAINED, None, "abuse", None)


def _loose(raw: bytes, parts: Parts, defects: set[Defect]) -> list[ReportedRecipient]:
    """The recipients in the first text that names any; the last text is the body as it came."""
    texts = (
        read_content(raw, part, defects)[:_READ_MOST]
        for part in parts.leaves
        if part.type.value == "text/plain"
    )
    for text in (*texts, raw[parts.body : parts.body + _READ_MOST]):
        found = find_loose_blocks(text)
        if found:
            return found
    return []


def _words(raw: bytes, parts: Parts, defects: set[Defect]) -> _Words:
    """What stands in the first texts, above the mail that came back."""
    texts = [part for part in parts.leaves if part.type.value in {"text/plain", "text/html"}]
    plain = [part for part in texts if part.type.value == "text/plain"] or texts[:1]
    bodies = [_text(raw, part, defects) for part in plain[:_TEXTS_MOST]]
    if not bodies:
        rest = raw[parts.body : parts.body + WORDS_MOST]
        bodies = [rest.decode("utf-8", errors="replace")]
    body = above_the_original("\n".join(bodies))[:WORDS_MOST]
    ends = (value for name in ("to", "from") for value in parts.head.every(name))
    us = frozenset(one.casefold() for one in read_addresses(ends, set()))
    subject = decode_field(parts.head.first("subject") or b"", set())
    failed = read_addresses((v for n in _FAILED_FIELDS for v in parts.head.every(n)), set())
    named = find_named(body, us)
    if not named:
        named = tuple(Named(one, body) for one in failed)
    return _Words(subject, body, named)


def _text(raw: bytes, part: Part, defects: set[Defect]) -> str:
    content = read_content(raw, part, defects)[:_READ_MOST]
    text = clean_text(decode(content, part.type.parameters.get("charset"))[0])
    return (
        html_to_text(text, set(), Room()) if part.type.value == "text/html" else text[:WORDS_MOST]
    )


def _in_words(raw: bytes, words: _Words) -> list[ReportedRecipient]:
    """Those whom the words name, or one of nobody; nothing where there is no word of a report."""
    action = find_action(words.subject, words.body)
    if action is None:
        return []
    named = words.named or _found_otherwise(raw, words.body)
    if not named:
        return [ReportedRecipient(None, action, None, None, None)]
    return [
        ReportedRecipient(
            one.address,
            action,
            None,
            clean_line(" ".join(one.words.split()), DIAGNOSTIC_MOST),
            None,
        )
        for one in named
    ]


def _found_otherwise(raw: bytes, body: str) -> tuple[Named, ...]:
    delayed, failed = find_failed(raw)
    return tuple(Named(one, body) for one in (failed or delayed))


def _understood(
    block: ReportedRecipient, words: _Words, reporting_mta: str | None
) -> ReportedRecipient:
    """The block with its status, its reply code and what they come to."""
    maker = f"{MADE_BY} {reporting_mta or 'somebody'}"
    own = f"{words.of(block.recipient)}\n{maker}"
    near = _read_with(block, own)
    if near.reply_code is not None and near.sense.reason is not BounceReason.UNKNOWN:
        return near
    wide = _read_with(block, f"{own}\n{words.of_all()}")
    return wide if near.sense.reason is BounceReason.UNKNOWN or wide.reply_code else near


def _read_with(block: ReportedRecipient, around: str) -> ReportedRecipient:
    diagnostic = block.diagnostic or ""
    status, code = find_numbers(diagnostic, block.status)
    if code is None:
        status, code = find_numbers(around, status)
    sense = make_sense(Said(block.action, status, code, diagnostic, around, block.recipient))
    return replace(block, status=status, reply_code=code, sense=sense)


def _original_id(raw: bytes, leaves: Sequence[Part], defects: set[Defect]) -> str | None:
    """The Message-ID of the message that the report is about, as far as it is returned."""
    for part in reversed(leaves):
        if part.type.value in _ORIGINAL_TYPES:
            content = read_content(raw, part, defects)[:_ORIGINAL_MOST]
            head, _ = read_head(content.lstrip())
            return find_id(head.every("message-id"), set())
    return None
