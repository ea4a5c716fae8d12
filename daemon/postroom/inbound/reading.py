"""From raw bytes to `InMail`: all of it, or only what the header says. Runs in the worker process (`worker`).

Limits count while reading: what goes over one makes the message `limited`, and everything that was read stays. Nothing
here asks the network or the clock; files go to the directory that is handed in.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from postroom.core.inmail import (
    AutomationKind,
    Counted,
    InAttachment,
    InMail,
    Parse,
    Person,
    ReaderSigns,
    Report,
    ReportedRecipient,
    TextConfidence,
)
from postroom.core.subject import answers_something, forwards_something
from postroom.inbound.automation import NULL_REVERSE_PATH, Signs, judge
from postroom.inbound.awaytext import look_again
from postroom.inbound.bodytext import read_body
from postroom.inbound.clean import clean_line, clean_token
from postroom.inbound.dates import read_date
from postroom.inbound.defects import LIMITING, Defect
from postroom.inbound.encodedwords import decode_field
from postroom.inbound.files import keep, keep_part, written_name
from postroom.inbound.head import Head, read_head
from postroom.inbound.messageids import find_id, read_ids
from postroom.inbound.mimeparts import Part, read_parts
from postroom.inbound.newtext import find_new
from postroom.inbound.people import read_addresses, read_people
from postroom.inbound.reports import (
    READ_TYPES,
    is_notice,
    is_receipt,
    is_rejection,
    is_report,
    is_report_in_words,
    read_report,
)
from postroom.inbound.signs import read_signs
from postroom.inbound.transfer import read_content


TEXT_MOST: Final = 256 * 1024  # octets of UTF-8 (CONTRACT §5)
SUBJECT_MOST: Final = 1000
_INDEX_MOST: Final = 1000
_FORWARDED: Final = ("delivered-to", "x-original-to", "x-forwarded-to")
_IDENTITY: Final = ("from", "date", "subject", "message-id")
_PASSED_ON: Final = frozenset({AutomationKind.LIST, AutomationKind.BULK})
_ONCE: Final = (*_IDENTITY, "to", "cc", "reply-to", "in-reply-to")


def read_mail(raw: bytes, envelope_sender: str, directory: Path) -> InMail:
    """The message as it was understood. Raises OSError when a file can not be written."""
    defects: set[Defect] = set()
    if b"\n" in raw.replace(b"\r\n", b"") or raw.count(b"\r") != raw.count(b"\r\n"):
        defects.add(Defect.BARE_NEWLINE)
    parts = read_parts(raw)
    defects |= parts.defects
    is_known = is_report(parts) or is_notice(raw, parts) or is_rejection(raw, parts)
    report = read_report(raw, parts, defects) if is_known else None
    mail = describe(
        parts.head, envelope_sender, defects, report=report, has_receipt=is_receipt(parts)
    )
    is_mute = mail.evidence == (NULL_REVERSE_PATH,) or mail.automation in _PASSED_ON
    if is_mute and not envelope_sender and is_report_in_words(raw, parts):
        # No word of its header says what it is, but its text does.
        mail = replace(mail, automation=AutomationKind.REPORT, evidence=("report-words",))
    if report is None and mail.automation is AutomationKind.REPORT:
        # It comes from where no person writes and is called a report: its fields may stand anywhere.
        found = read_report(raw, parts, defects)
        # What has a sender, and says neither who nor why, is what those write who want a link clicked.
        is_telling = not envelope_sender or any(map(_tells, found.recipients))
        report = found if found.recipients and is_telling else None
    body = read_body(raw, parts.leaves, defects)
    files = [part for part in body.files if report is None or part.type.value not in READ_TYPES]
    text, text_file = _bounded(body.text, directory)
    new = find_new(
        text,
        is_page=body.is_page,
        is_forwarding=forwards_something(mail.subject),
        is_answer=bool(mail.in_reply_to or mail.references) or answers_something(mail.subject),
    )
    mail = look_again(replace(mail, new_text=new.text, removed=new.removed), parts.head)
    return replace(
        mail,
        parse=Parse.LIMITED if defects & LIMITING else Parse.COMPLETE,
        text=text,
        text_file=text_file,
        html_file=_kept_html(body.html, directory),
        attachments=tuple(_attachments(raw, files, directory, defects)),
        defects=tuple(sorted(defects)),
        report=report,
        dedupe=digest(parts.head, raw[parts.body :]),
        text_confidence=new.confidence,
        is_forward=new.is_forward,
        signs=_signs(
            parts.head,
            mail.sender,
            {"text": text, "filename": "\n".join(written_name(one) for one in files)},
            body.hidden,
        ),
    )


def _tells(one: ReportedRecipient) -> bool:
    return (one.recipient or one.status or one.reply_code) is not None


def describe(
    head: Head,
    envelope_sender: str,
    defects: set[Defect],
    *,
    report: Report | None = None,
    has_receipt: bool = False,
) -> InMail:
    """What the header alone says; without text, and `failed` until somebody knows better."""
    if any(sum(1 for _ in head.every(name)) > 1 for name in _ONCE):
        defects.add(Defect.FIELD_REPEATED)
    senders = read_people(head.every("from"), defects)
    to = read_people(head.every("to"), defects)
    cc = read_people(head.every("cc"), defects)
    sender = next((one for one in senders if one.address), next(iter(senders), None))
    header_recipients = _addresses(to + cc)
    forwarded_for = read_addresses(
        (value for name in _FORWARDED for value in head.every(name)), defects
    )
    subject = clean_line(decode_field(head.first("subject") or b"", defects), SUBJECT_MOST)
    automation, evidence = judge(
        Signs(
            head=head,
            envelope_sender=envelope_sender,
            from_address=(sender.address or sender.name) if sender else "",
            subject=subject,
            recipients=header_recipients + forwarded_for,
            is_report=report is not None,
            is_receipt=has_receipt,
        )
    )
    return InMail(
        parse=Parse.FAILED,
        message_id=find_id(head.every("message-id"), defects),
        in_reply_to=read_ids(head.every("in-reply-to"), defects),
        references=read_ids(head.every("references"), defects),
        sender=sender,
        is_sender_ambiguous=len(senders) != 1 or not senders[0].address,
        to=to,
        cc=cc,
        reply_to=read_people(head.every("reply-to"), defects),
        subject=subject,
        date=read_date(head.first("date"), defects),
        text="",
        text_file=None,
        new_text="",
        removed=(),
        html_file=None,
        attachments=(),
        defects=tuple(sorted(defects)),
        automation=automation,
        evidence=evidence,
        report=report,
        thread_index=_token(head, "thread-index", _INDEX_MOST),
        forwarded_for=forwarded_for,
        header_recipients=header_recipients,
        dedupe="",
        text_confidence=TextConfidence.LOW,
        is_forward=False,
        signs=_signs(head, sender, {}, Counted()),
    )


def describe_unread(raw: bytes, envelope_sender: str) -> InMail:
    """A message that nobody could read, by its header; `raw` may be its beginning only, and `dedupe` is left to do."""
    head, _ = read_head(raw)
    defects = {*head.defects, Defect.NOT_READ}
    return describe(head, envelope_sender, defects)


def digest(head: Head, body: bytes) -> str:
    """What tells a message that comes again: nothing of it changes on the way (CONTRACT §5)."""
    hashed = sha256(identity(head))
    hashed.update(body)
    return hashed.hexdigest()


def identity(head: Head) -> bytes:
    """The part of the header that goes into the digest."""
    values = [b" ".join((head.first(name) or b"").split()) for name in _IDENTITY]
    return b"\0".join([*values, b""])


def _signs(
    head: Head, sender: Person | None, places: dict[str, str], hidden: Counted
) -> ReaderSigns:
    """The signs of these places, and of what the header shows."""
    shown = {name: decode_field(head.first(name) or b"", set()) for name in ("subject", "from")}
    return read_signs(head, sender, {**shown, **places}, hidden)


def _bounded(text: str, directory: Path) -> tuple[str, InAttachment | None]:
    """As much of the text as an event shows, and the file of the whole where that is more."""
    octets = text.encode()
    if len(octets) <= TEXT_MOST:
        return text, None
    whole = keep(directory, octets, filename="text.txt", content_type="text/plain; charset=utf-8")
    return octets[:TEXT_MOST].decode(errors="ignore"), whole


def _kept_html(html: str, directory: Path) -> InAttachment | None:
    if not html.strip():
        return None
    return keep(
        directory, html.encode(), filename="message.html", content_type="text/html; charset=utf-8"
    )


def _attachments(
    raw: bytes, files: Iterable[Part], directory: Path, defects: set[Defect]
) -> Iterator[InAttachment]:
    for part in files:
        yield keep_part(directory, part, read_content(raw, part, defects))


def _addresses(people: tuple[Person, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.address for one in people if one.address))


def _token(head: Head, name: str, most: int) -> str | None:
    value = head.first(name)
    return (clean_token(value.decode("ascii", errors="replace"), most) or None) if value else None
