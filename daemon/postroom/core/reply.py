"""A server's reply (RFC 5321 §4.2): what it said, as it said it, and a text that is safe to keep and show."""

from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """Where in the dialogue of one attempt a reply, or its absence, belongs."""

    CONNECT = "connect"
    GREETING = "greeting"
    EHLO = "ehlo"
    STARTTLS = "starttls"
    AUTH = "auth"
    MAIL = "mail"
    RCPT = "rcpt"
    DATA = "data"
    BODY = "body"
    DOT = "dot"


@dataclass(frozen=True, slots=True)
class SmtpReply:
    """One whole reply.

    `code` is 200-599. `enhanced` is the RFC 3463 status of its first line ("5.1.1") or None. `text` has its lines
    joined by a space, no control characters, no surrogates, at most 1,024 characters. `raw` is at most 8 KiB as it came.
    """

    code: int
    enhanced: str | None
    text: str
    raw: bytes
