"""Reads a relay's replies (RFC 5321 §4.2) out of the bytes that it sends.

Strict where a wrong guess would tell a lie: the codes of all lines of a reply agree, a code is 200-599, nothing but a
space, a hyphen or the end of the line follows it, lines and replies are bounded. Lenient where nothing can be mistaken:
a line may end in a bare LF, a text may be missing or hold any byte. What is malformed is reported once, and the reader
is of no more use: nobody knows any more which reply belongs to which command.

A relay's text is a stranger's: it leaves here bounded and without control characters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from postroom.core.reply import SmtpReply


LONGEST_LINE: Final = (
    8192  # RFC 5321 §4.5.3.1.5 asks for 512; real relays send more, none sends this
)
LONGEST_REPLY: Final = 65_536
KEPT_RAW: Final = 8192
KEPT_TEXT: Final = 1024

_LINE: Final = re.compile(rb"([2-5]\d\d)(?:([ -])(.*?))?\r?\n", re.DOTALL)
_ENHANCED: Final = re.compile(rb"[245]\.\d{1,3}\.\d{1,3}(?=[ \t]|$)")


@dataclass(frozen=True, slots=True)
class Malformed:
    """What came is no reply; `detail` is one safe line."""

    detail: str


class ReplyReader:
    """Feed it what comes; it gives whole replies in order."""

    __slots__ = ("_buffer", "_code", "_raw", "_texts")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._raw = bytearray()
        self._texts: list[bytes] = []
        self._code = b""

    @property
    def is_between(self) -> bool:
        """Whether no reply has begun."""
        return not self._buffer and not self._texts

    def feed(self, data: bytes) -> list[SmtpReply | Malformed]:
        """The replies that end in `data`; a Malformed is the last of them."""
        self._buffer += data
        found: list[SmtpReply | Malformed] = []
        start = 0
        while (end := self._buffer.find(b"\n", start)) >= 0:
            reply = self._take(bytes(self._buffer[start : end + 1]))
            start = end + 1
            if reply is not None:
                found.append(reply)
            if isinstance(reply, Malformed):
                return found
        del self._buffer[:start]
        if len(self._buffer) > LONGEST_LINE:
            found.append(Malformed("the relay sent a line that does not end"))
        return found

    def _take(self, line: bytes) -> SmtpReply | Malformed | None:
        whole = None if self._texts else _read_alone(line)
        if whole is not None:
            return whole
        parts = _LINE.fullmatch(line)
        if parts is None or len(line) > LONGEST_LINE:
            return Malformed(f"malformed reply: {clean_text(line[:200], 80)!r}")
        code, sign, text = parts.groups()
        if self._texts and code != self._code:
            return Malformed(f"a reply with two codes, {self._code.decode()} and {code.decode()}")
        self._code = code
        self._texts.append(text or b"")
        self._raw += line
        if len(self._raw) > LONGEST_REPLY:
            return Malformed("a reply that does not end")
        return None if sign == b"-" else self._whole()

    def _whole(self) -> SmtpReply:
        reply = make_reply(int(self._code), self._texts, bytes(self._raw))
        self._raw.clear()
        self._texts = []
        return reply


@lru_cache(64)
def _read_alone(line: bytes) -> SmtpReply | None:
    """The reply that is this one line, None where it is none; kept, for relays say the same to most commands."""
    parts = _LINE.fullmatch(line) if len(line) <= LONGEST_LINE else None
    if parts is None or parts[2] == b"-":
        return None
    return make_reply(int(parts[1]), (parts[3] or b"",), line)


def make_reply(code: int, texts: Sequence[bytes], raw: bytes) -> SmtpReply:
    """The reply that these lines make, its text made safe."""
    enhanced = _ENHANCED.match(texts[0])
    return SmtpReply(
        code=code,
        enhanced=enhanced.group().decode() if enhanced else None,
        text=clean_text(b" ".join(texts), KEPT_TEXT),
        raw=raw[:KEPT_RAW],
    )


def clean_text(text: bytes, longest: int) -> str:
    """At most `longest` printable characters; what is not printable becomes a space."""
    shown = text[: 4 * longest].decode("utf-8", "replace")[:longest]
    if not shown.isprintable():
        shown = "".join(char if char.isprintable() else " " for char in shown)
    return shown.strip()
