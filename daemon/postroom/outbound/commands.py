"""What a relay offers in its EHLO answer, and the command lines of one transaction.

RFC 5321 §4.1.1, SIZE (RFC 1870), DSN (RFC 3461), SMTPUTF8 (RFC 6531), PIPELINING (RFC 2920). Content is always 7-bit, so
BODY= is needed only beside SMTPUTF8, where the header lines may not be.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from postroom.core.reply import Stage
from postroom.ports.relay import Envelope, Unfit


_LONGEST_ENVID: Final = 100  # RFC 3461 §4.4
_LONGEST_ORCPT: Final = 500  # RFC 3461 §4.2
_CONTROLS: Final = r"\x00-\x1f\x7f-\x9f"
# What can not end the path or begin another command; whether it is an address was judged when the job was accepted.
_ADDRESS: Final = re.compile(
    rf'(?:"(?:[^"\\{_CONTROLS}]|\\[^{_CONTROLS}])*"|[^\s<>"{_CONTROLS}]+)@[^\s<>"{_CONTROLS}]+'
)
_NOT_XTEXT: Final = re.compile(r"[^!-*,-<>-~]")


@dataclass(frozen=True, slots=True)
class Offer:
    """The extensions that we use. `size_bytes` is the largest message the relay takes, 0 = it names none."""

    has_pipelining: bool = False
    has_dsn: bool = False
    has_smtputf8: bool = False
    has_8bitmime: bool = False
    has_size: bool = False
    size_bytes: int = 0


def read_offer(extensions: Mapping[str, str]) -> Offer:
    """The offer in an EHLO answer, its keywords in lower case."""
    size = extensions.get("size", "").strip()
    return Offer(
        has_pipelining="pipelining" in extensions,
        has_dsn="dsn" in extensions,
        has_smtputf8="smtputf8" in extensions,
        has_8bitmime="8bitmime" in extensions,
        has_size="size" in extensions,
        size_bytes=int(size) if re.fullmatch(r"[0-9]{1,20}", size) else 0,
    )


def find_unfit(offer: Offer, envelope: Envelope) -> Unfit | None:
    """Why this relay can not take this message at all; None when it can be tried."""
    if envelope.sender and not _ADDRESS.fullmatch(envelope.sender):
        return Unfit(
            Stage.MAIL, "the sender can not be written in a MAIL command", is_too_big=False
        )
    if not _ADDRESS.fullmatch(envelope.recipient):
        detail = "the recipient can not be written in a RCPT command"
        return Unfit(Stage.RCPT, detail, is_too_big=False)
    if offer.size_bytes and envelope.size_bytes > offer.size_bytes:
        detail = f"the message has {envelope.size_bytes} bytes, the relay takes {offer.size_bytes}"
        return Unfit(Stage.MAIL, detail, is_too_big=True)
    if envelope.needs_smtputf8 and not offer.has_smtputf8:
        detail = "an address needs SMTPUTF8, which the relay does not offer"
        return Unfit(Stage.MAIL, detail, is_too_big=False)
    return None


def mail_command(offer: Offer, envelope: Envelope) -> bytes:
    """The MAIL line."""
    words = [f"MAIL FROM:<{envelope.sender}>"]
    if offer.has_size:
        words.append(f"SIZE={envelope.size_bytes}")
    if envelope.needs_smtputf8:
        words.append("SMTPUTF8")
        if offer.has_8bitmime:
            words.append("BODY=8BITMIME")
    if offer.has_dsn and 0 < len(envelope.envid) <= _LONGEST_ENVID:
        words.append(f"RET=HDRS ENVID={xtext(envelope.envid)}")
    return f"{' '.join(words)}\r\n".encode()


def rcpt_command(offer: Offer, envelope: Envelope) -> bytes:
    """The RCPT line. Success is asked for beside what a relay reports anyway, never alone (RFC 3461 §4.1)."""
    words = [f"RCPT TO:<{envelope.recipient}>"]
    if offer.has_dsn and envelope.wants_success:
        words.append("NOTIFY=SUCCESS,FAILURE,DELAY")
        original = f"rfc822;{xtext(envelope.recipient)}"
        if envelope.recipient.isascii() and len(original) <= _LONGEST_ORCPT:
            words.append(f"ORCPT={original}")
    return f"{' '.join(words)}\r\n".encode()


def xtext(text: str) -> str:
    """`text` as xtext (RFC 3461 §4); what is not ASCII becomes `?`."""
    plain = text.encode("ascii", "replace").decode()
    return _NOT_XTEXT.sub(lambda found: f"+{ord(found.group()):02X}", plain)
