"""A message that nobody could read, by what can be known of it without reading: its header at best, and a digest."""

import hashlib
from dataclasses import replace
from typing import Final

from postroom.core.inmail import InMail, Parse
from postroom.inbound.reading import describe_unread
from postroom.ports.arriving import Received


_HEAD_BYTES: Final = 64 * 1024


def describe_received(received: Received) -> InMail:
    """What is known of it for sure; never raises."""
    raw = received.arrival.raw
    known = raw if isinstance(raw, bytes) else raw.sha256.encode()
    digest = hashlib.sha256(b"unread\0" + known).hexdigest()
    beginning = raw[:_HEAD_BYTES] if isinstance(raw, bytes) else b""
    try:
        mail = describe_unread(beginning, received.arrival.sender)
    except Exception:  # noqa: BLE001 - even a header that nobody foresaw must not keep its mail from being told
        mail = describe_unread(b"", received.arrival.sender)
    return replace(mail, parse=Parse.FAILED, dedupe=digest)
