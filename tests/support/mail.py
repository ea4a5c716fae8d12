"""Jobs to compose, and the wire bytes that they become."""

import base64
import email
import email.policy
import hashlib
import re
from collections.abc import Mapping
from email.message import EmailMessage

from postroom.core.body import Body, Encoding, FileSegment
from postroom.core.instant import Instant
from postroom.core.job import (
    Address,
    Attachment,
    Job,
    PathAttachment,
)
from postroom.core.jobfields import read_job
from postroom.core.mailbox import Mailbox
from postroom.core.message import AttachedFile, compose, date_line, head, shared_head
from postroom.outbound.compose import DotStuffer


NOW = Instant(1_796_022_000_000_000)  # 2026-11-30T07:00:00Z
ENDS = re.compile(rb"(?:\r\n|\r|\n)\.(?:\r\n|\r|\n)")  # as the laxest server reads them
SUPPORT = Mailbox("support", "support@example.com", "Support", "main")


def spec(**changes: object) -> dict[str, object]:
    """A small job as decoded from JSON, with these fields changed, or left out where they are None."""
    plain: dict[str, object] = {
        "mailbox_id": "support",
        "to": ["ann@one.example"],
        "subject": "Your report",
        "text": "Here it is.\n",
    }
    return {name: value for name, value in {**plain, **changes}.items() if value is not None}


def job(**changes: object) -> Job:
    """The same, read."""
    found = read_job(spec(**changes), now=NOW)
    assert isinstance(found, Job), found
    return found


def attached(
    name: str, content: bytes, content_type: str = "application/pdf", **asked: object
) -> AttachedFile:
    """A file as compose gets it."""
    is_inline, content_id = bool(asked.get("inline")), asked.get("content_id")
    assert content_id is None or isinstance(content_id, str)
    attachment = Attachment(PathAttachment("/srv/x"), None, None, is_inline, content_id)
    digest = hashlib.sha256(content).hexdigest()
    return AttachedFile(attachment, name, content_type, digest, len(content))


def rendered(body: Body, files: Mapping[str, bytes]) -> bytes:
    """The body's bytes, its files looked up by digest."""
    pieces = []
    for segment in body.segments:
        match segment:
            case bytes():
                pieces.append(segment)
            case FileSegment(digest, size, encoding):
                content = files[digest]
                assert len(content) == size
                lines = base64.encodebytes(content).replace(b"\n", b"\r\n")
                pieces.append(lines if encoding is Encoding.BASE64 else content)
    return b"".join(pieces)


def wire(
    of: Job,
    contents: Mapping[AttachedFile, bytes] | None = None,
    *,
    mailbox: Mailbox = SUPPORT,
    recipient: Address | None = None,
) -> bytes:
    """A whole message as the first recipient gets it."""
    contents = contents or {}
    body = compose(of, tuple(contents), "b1")
    content = rendered(body, {file.sha256: data for file, data in contents.items()})
    assert len(content) == body.size_bytes
    lines = head(
        shared_head(of, mailbox),
        recipient or of.recipients[0].address,
        message_id="<abc@example.com>",
        delivery_id="dlv_0000000000001",
        diverted_to=mailbox.divert_to,
    )
    return date_line(NOW) + lines + content


def parsed(message: bytes) -> EmailMessage:
    """The message as the standard library reads it."""
    found = email.message_from_bytes(message, policy=email.policy.SMTP)
    assert isinstance(found, EmailMessage)
    return found


def stuffed(message: bytes) -> bytes:
    """What goes over the wire behind 354, its end included."""
    return b"\r\n" + DotStuffer().stuff(message) + b".\r\n"


def is_one(sent: bytes) -> bool:
    """Whether it ends at its end and nowhere before, and every line ends with CR LF."""
    (end,) = ENDS.finditer(sent)
    return end.end() == len(sent) and not re.search(rb"\r(?!\n)|(?<!\r)\n|\0", sent)


def problems(**changes: object) -> set[str]:
    """The pointers of all that is wrong."""
    found = read_job(spec(**changes), now=NOW)
    return set() if isinstance(found, Job) else {one.pointer for one in found}
