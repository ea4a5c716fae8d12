"""The fields of delivery reports (RFC 3464, RFC 6533) and feedback reports (RFC 5965), as blocks of recipients.

They are read wherever they stand, folded or not, in every spelling that servers give them; `Action` is handed on as it
stands. A block without a recipient and without an action is the one about the message.
"""

import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from postroom.core.inmail import ReportedRecipient
from postroom.inbound.clean import clean_line, clean_token
from postroom.inbound.encodedwords import decode_field
from postroom.inbound.head import Head, read_head


COMPLAINED: Final = (
    "complained"  # actions of a recipient in a feedback report; no words of RFC 3464
)
TOLD: Final = "feedback"  # of one that tells no complaint
RECIPIENTS_MOST: Final = 100
DIAGNOSTIC_MOST: Final = 1000
NAME_MOST: Final = 320

# RFC 5965 §3.1 and RFC 6591: what is no person's complaint.
_NO_COMPLAINTS: Final = frozenset({"auth-failure", "not-spam"})
_BLOCKS: Final = re.compile(rb"(?:\r?\n[ \t]*){2,}")
_BLOCK_ABOVE: Final = 500  # octets of a block above the recipient's field
_CODED: Final = re.compile(
    rb"^content-transfer-encoding:[ \t]{0,8}base64[ \t]{0,8}\r?\n(?:[!-9;-~]{1,40}:[^\n]{0,200}\n){0,4}\r?\n",
    re.IGNORECASE | re.MULTILINE,
)
_UNFOLDED: Final = re.compile(rb"\n(?![ \t]|[A-Za-z][A-Za-z0-9-]*[ \t]*:)")
_LOOSE: Final = re.compile(rb"^(?:original|final)-recipient[ \t]*:", re.IGNORECASE | re.MULTILINE)
_STATUS: Final = re.compile(r"(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])")
_DIAGNOSTICS: Final = (
    "diagnostic-code",
    "x-powermta-bouncecategory",
    "x-supplementary-info",
    "x400-supplementary-info",
)
# Where there is none, some say it behind the status or the action.
_REMARKED: Final = ("status", "action")
_REMARK: Final = re.compile(r"\(([^()]{1,300})\)")
_RECIPIENTS: Final = ("original-recipient", "final-recipient", "x-actual-recipient")


def read_blocks(content: bytes) -> list[ReportedRecipient]:
    """The recipients of a delivery-status part."""
    blocks = map(_recipient, _BLOCKS.split(_decoded(content.strip()))[: 2 * RECIPIENTS_MOST])
    return [one for one in blocks if one is not None]


def find_reporting_mta(content: bytes) -> str | None:
    """Who made the report."""
    first = _BLOCKS.split(content.strip(), 1)[0]
    return _typed(read_head(first + b"\n")[0], "reporting-mta")


def find_loose_blocks(body: bytes) -> list[ReportedRecipient]:
    """The recipients of a report whose MIME can not be read."""
    found: list[ReportedRecipient] = []
    at = 0
    for start in (one.start() for one in _LOOSE.finditer(body)):
        if start < at:
            continue
        end = _BLOCKS.search(body, start)
        at = len(body) if end is None else end.start()
        nearest = max(0, start - _BLOCK_ABOVE)
        ends = [one.end() for one in _BLOCKS.finditer(body, nearest, start)]
        one = _recipient(body[max(ends, default=start if nearest else 0) : at])
        if one is not None:
            found.append(one)
    return found


def read_feedback(content: bytes) -> Iterator[ReportedRecipient]:
    """Those who are said to have complained."""
    head, _ = read_head(content)
    names = ("original-rcpt-to", "removal-recipient")
    values = [value for name in names for value in head.every(name)]
    addresses = dict.fromkeys(
        _address(one) for value in values for one in _listed(decode_field(value, set()))
    )
    kind = _field(head, "feedback-type", NAME_MOST)
    action = TOLD if (kind or "").lower() in _NO_COMPLAINTS else COMPLAINED
    # Many keep back who complained: then only a return-path token says whose delivery it is.
    known: list[str | None] = [one for one in addresses if one]
    for address in known or [None]:
        yield ReportedRecipient(address, action, None, kind, None)


def _decoded(content: bytes) -> bytes:
    """The blocks, where a gateway on the way has coded all but the first."""
    found = _CODED.search(content)
    if found is None:
        return content
    coded = b"".join(content[found.end() :].split())
    try:
        return content[: found.start()] + b"\n\n" + b64decode(coded)
    except ValueError:
        return content


def _recipient(block: bytes) -> ReportedRecipient | None:
    """One block; None when it is the one about the message, or about nothing."""
    # Some write the relay's answer over several lines without folding it.
    head, _ = read_head(_UNFOLDED.sub(b"\n ", block.lstrip()) + b"\n")
    names = [_typed(head, name) for name in _RECIPIENTS]
    recipient = next(
        (name for name in names if name and "@" in name), next(filter(None, names), None)
    )
    action = _field(head, "action", NAME_MOST)
    status = _field(head, "status", DIAGNOSTIC_MOST)
    if recipient is None and action is None:
        return None
    code = None if status is None else _STATUS.search(status)
    return ReportedRecipient(
        recipient=recipient,
        action=action.split()[0].lower() if action else None,
        status=code[1] if code else None,
        diagnostic=_diagnostic(head),
        remote_mta=_typed(head, "remote-mta"),
    )


def _diagnostic(head: Head) -> str | None:
    """The server's answer, and the name that some give it."""
    values = [_field(head, name, DIAGNOSTIC_MOST) for name in _DIAGNOSTICS]
    told = " ".join(filter(None, values))[:DIAGNOSTIC_MOST]
    return told or next(filter(None, (_remark(head, name) for name in _REMARKED)), None)


def _remark(head: Head, name: str) -> str | None:
    found = _REMARK.search(_field(head, name, DIAGNOSTIC_MOST) or "")
    return found[1] if found else None


def _field(head: Head, name: str, most: int) -> str | None:
    value = head.first(name)
    return (
        (clean_line(" ".join(decode_field(value, set()).split()), most) or None) if value else None
    )


def _typed(head: Head, name: str) -> str | None:
    """What follows the type, as in `rfc822; user@example.com`."""
    value = _field(head, name, NAME_MOST + len("rfc822; "))
    if value is None:
        return None
    return _address(value.rpartition(";")[2]) or None


def _listed(value: str) -> list[str]:
    """Each of the addresses in a field; some name several in one."""
    return value.split(",")[:RECIPIENTS_MOST] if value.count("@") > 1 else [value]


def _address(text: str) -> str:
    inner = (text.partition("<")[2].partition(">")[0] if "<" in text else text).strip()
    is_quoted = inner.startswith('"') and inner.endswith('"')  # not only its local part
    return clean_token(inner.strip('"') if is_quoted else inner, NAME_MOST)
