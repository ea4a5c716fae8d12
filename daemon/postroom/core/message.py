"""The serialiser: a job becomes wire bytes, the body once and a head for each delivery (RFC 5322, 2045, 2046, 2387).

Wire bytes = Date line + head + body, in 7 bits but for addresses that need SMTPUTF8. Bcc is never among them. Boundaries
begin with `=_`, which neither quoted-printable nor base64 can produce, so they never meet the content; they are made of a
value that is passed in, so that the same job gives the same bytes. What changes these bytes raises SERIALIZER_VERSION.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from email.utils import getaddresses
from functools import lru_cache
from typing import Final

from postroom.core.ancestry import Ancestry, ancestry_lines
from postroom.core.body import Body, Encoding, FileSegment, Segment
from postroom.core.encodings import (
    address_header,
    base64_size,
    encode_text,
    parameter,
    text_header,
)
from postroom.core.filename import ascii_name
from postroom.core.instant import SECOND, Instant, utc
from postroom.core.job import Address, Attachment, Copies, Field, Job
from postroom.core.mailbox import AutoSubmitted, Mailbox


SERIALIZER_VERSION: Final = 1

DELIVERY_HEADER: Final = "X-Postroom-Delivery"
DIVERTED_HEADER: Final = "X-Postroom-Diverted-From"

# Never "All": that would ask Exchange to keep its bounces to itself, and we need them.
_NO_AUTO_REPLIES: Final = b"X-Auto-Response-Suppress: OOF, AutoReply\r\n"
_SUPPRESS: Final = "x-auto-response-suppress"

_REPLY_TO: Final = "Reply-To: "
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """An attachment with its bytes at hand: what the job asked for, completed by what the file says."""

    asked: Attachment
    filename: str
    content_type: str
    sha256: str
    size_bytes: int
    pinned_path: str | None = None


@dataclass(frozen=True, slots=True)
class HeadParts:
    """What the heads of one job share: the lines before the recipient, To and Cc of a conversation, the lines after."""

    before: bytes
    parties: bytes | None
    after: bytes


def date_line(instant: Instant) -> bytes:
    """The Date header, with its line end."""
    return _date_line(instant // SECOND)


@lru_cache
def _date_line(seconds: int) -> bytes:
    """Kept, for many begin in the same second."""
    at = utc(Instant(seconds * SECOND))
    day, month = _DAYS[at.weekday()], _MONTHS[at.month - 1]
    return f"Date: {day}, {at.day:02} {month} {at.year:04} {at:%H:%M:%S} +0000\r\n".encode("ascii")


def shared_head(job: Job, mailbox: Mailbox) -> HeadParts:
    """What all heads of this job have in common."""
    sender = address_header("From", [(mailbox.display_name, mailbox.address)])
    after = [text_header("Subject", job.subject)]
    if job.reply_to:
        after.insert(0, _addresses("Reply-To", job.reply_to))
    auto = job.auto_submitted or mailbox.auto_submitted
    if auto is not AutoSubmitted.NO:
        after.append(f"Auto-Submitted: {auto}\r\n".encode("ascii"))
        if all(name.lower() != _SUPPRESS for name, _ in job.headers):
            after.append(_NO_AUTO_REPLIES)
    after += [text_header(name, value) for name, value in job.headers]
    return HeadParts(sender, _parties(job, mailbox), b"".join(after))


def head(
    shared: HeadParts,
    recipient: Address,
    *,
    message_id: str,
    delivery_id: str,
    diverted_to: str | None = None,
    threading: bytes = b"",
) -> bytes:
    """Every header line but Date and those of the body, without the blank line.

    `recipient` is whom the caller named; where the mailbox diverts, `diverted_to` gets the copy, and `recipient` is
    only named in X-Postroom-Diverted-From. `threading` are lines of `thread_lines`.
    """
    personal = recipient if diverted_to is None else Address(diverted_to)
    parties = _addresses("To", [personal]) if shared.parties is None else shared.parties
    identity = f"Message-ID: {message_id}\r\n{DELIVERY_HEADER}: {delivery_id}\r\n".encode()
    diverted = b""
    if diverted_to is not None:
        diverted = _addresses(DIVERTED_HEADER, [recipient])
    return b"".join((shared.before, parties, identity, threading, diverted, shared.after))


def reply_to_of(head: bytes) -> tuple[str, ...]:
    """The addresses in the Reply-To of a head that was made here."""
    lines = head.decode("utf-8", "replace").replace("\r\n ", " ").split("\r\n")
    found = [line for line in lines if line.startswith(_REPLY_TO)]
    return tuple(address for _, address in getaddresses([line[len(_REPLY_TO) :] for line in found]))


def thread_lines(ancestry: Ancestry, reply_to: Address | None) -> bytes:
    """What a message follows, and where its answers come back; a job's own Reply-To is among what is shared."""
    lines = ancestry_lines(ancestry)
    return lines if reply_to is None else lines + _addresses("Reply-To", [reply_to])


def compose(job: Job, files: Sequence[AttachedFile], boundary: str) -> Body:
    """The body: its MIME headers, a blank line, the content. `boundary` is any short token of letters and digits."""
    related = [one for one in files if _is_related(one, job)]
    apart = [one for one in files if not _is_related(one, job)]
    content = _content(job, related, boundary)
    if apart:
        content = _multipart("mixed", [content, *map(_file_part, apart)], f"{boundary}.m")
    segments = _joined([b"MIME-Version: 1.0\r\n", *content])
    sizes = (
        len(one) if isinstance(one, bytes) else base64_size(one.size_bytes) for one in segments
    )
    return Body(segments, sum(sizes))


def _addresses(name: str, addresses: Iterable[Address]) -> bytes:
    return address_header(name, [(one.name, one.address) for one in addresses])


def _parties(job: Job, mailbox: Mailbox) -> bytes | None:
    """To and Cc as everyone sees them; None where each copy names its own recipient."""
    if job.copies is Copies.INDIVIDUAL or mailbox.divert_to is not None:
        return None
    lines = b""
    for field, name in ((Field.TO, "To"), (Field.CC, "Cc")):
        named = [one.address for one in job.recipients if one.field is field]
        if named:
            lines += _addresses(name, named)
    return lines or b"To: undisclosed-recipients:;\r\n"


def _is_related(file: AttachedFile, job: Job) -> bool:
    """Whether the HTML refers to it (RFC 2387, RFC 2392), so that it belongs to the text and is not a thing apart."""
    return job.html is not None and file.asked.inline and file.asked.content_id is not None


def _content(job: Job, related: Sequence[AttachedFile], boundary: str) -> list[Segment]:
    """Text, HTML with what it refers to, or both as alternatives, the richest last."""
    text = [] if job.text is None else _text_part("plain", job.text)
    if job.html is None:
        return text
    html = _text_part("html", job.html)
    if related:
        html = _multipart("related", [html, *map(_file_part, related)], f"{boundary}.r")
    return _multipart("alternative", [text, html], f"{boundary}.a") if text else html


def _text_part(subtype: str, text: str) -> list[Segment]:
    encoding, lines = encode_text(text)
    header = f"Content-Type: text/{subtype}; charset=utf-8\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    return [header.encode("ascii"), lines]


def _file_part(file: AttachedFile) -> list[Segment]:
    name = parameter("name", ascii_name(file.filename))
    # Old readers look for a name here and know no RFC 2231: for them a plain one.
    content_type = file.content_type if "name=" in file.content_type else file.content_type + name
    disposition = "inline" if file.asked.inline else "attachment"
    lines = [
        f"Content-Type: {content_type}",
        "Content-Transfer-Encoding: base64",
        f"Content-Disposition: {disposition}{parameter('filename', file.filename)}",
    ]
    if file.asked.content_id is not None:
        lines.append(f"Content-ID: <{file.asked.content_id}>")
    header = "\r\n".join([*lines, "", ""]).encode("ascii")
    content = FileSegment(file.sha256, file.size_bytes, Encoding.BASE64, file.pinned_path)
    return [header, content]


def _multipart(subtype: str, parts: Sequence[list[Segment]], boundary: str) -> list[Segment]:
    """The parts between boundaries. The CRLF before a boundary belongs to it, so each part keeps its own last one."""
    mark = f"=_{boundary}"
    segments: list[Segment] = [
        f'Content-Type: multipart/{subtype}; boundary="{mark}"\r\n'.encode("ascii")
    ]
    for part in parts:
        segments += [f"\r\n--{mark}\r\n".encode("ascii"), *part]
    return [*segments, f"\r\n--{mark}--\r\n".encode("ascii")]


def _joined(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """The same bytes with neighbours in memory made one."""
    joined: list[Segment] = []
    run: list[bytes] = []
    for segment in segments:
        if isinstance(segment, bytes):
            run.append(segment)
            continue
        joined += [b"".join(run), segment]
        run = []
    return (*joined, b"".join(run)) if run else tuple(joined)
