"""The fields of delivery reports (RFC 3464, RFC 6533) and feedback reports (RFC 5965), as blocks of recipients.

They are read wherever they stand, folded or not, in every spelling that servers give them; `Action` is handed on as it
stands. A block without a recipient and without an action is the one about the message.
"""

import re
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
_UNFOLDED: Final = re.compile(rb"\n(?![ \t]|[A-Za-z][A-Za-z0-9-]*[ \t]*:)")
_LOOSE: Final = re.compile(rb"^(?:original|final)-recipient[ \t]*:", re.IGNORECASE | re.MULTILINE)
_STATUS: Final = re.compile(r"(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])")
_DIAGNOSTICS: Final = ("diagnostic-code", "x-powermta-bouncecategory")
_RECIPIENTS: Final = ("original-recipient", "final-recipient", "x-actual-recipient")


def read_blocks(content: bytes) -> list[ReportedRecipient]:
    """The recipients of a delivery-status part."""
    blocks = (_recipient(block) for block in _BLOCKS.split(content.strip())[: 2 * RECIPIENTS_MOST])
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
    addresses = dict.fromkeys(_address(decode_field(value, set())) for value in values)
    kind = _field(head, "feedback-type", NAME_MOST)
    action = TOLD if (kind or "").lower() in _NO_COMPLAINTS else COMPLAINED
    # Many keep back who complained: then only a return-path token says whose delivery it is.
    known: list[str | None] = [one for one in addresses if one]
    for address in known or [None]:
        yield ReportedRecipient(address, action, None, kind, None)


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
    return " ".join(filter(None, values))[:DIAGNOSTIC_MOST] or None


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


def _address(text: str) -> str:
    inner = text.partition("<")[2].partition(">")[0] if "<" in text else text
    return clean_token(inner.strip().strip('"'), NAME_MOST)
