"""Header text: encoded words (RFC 2047, RFC 2231 §5), raw UTF-8 (RFC 6532), and what else is sent as such.

A word that can not be decoded is shown as it came. Neighbours of one charset are decoded together, for senders split
characters between them.
"""

import binascii
import re
from typing import Final

from postroom.inbound.charsets import decode, find_codec
from postroom.inbound.defects import Defect


_WORD: Final = re.compile(r"=\?([^?\s]{1,60})\?([bBqQ])\?([^?]*)\?=")


def decode_field(raw: bytes, defects: set[Defect]) -> str:
    """A field's value as text; notes what was wrong."""
    return decode_words(raw_text(raw, defects), defects)


def raw_text(raw: bytes, defects: set[Defect]) -> str:
    """A field's value as text, encoded words left as they are."""
    if b"\x1b$" not in raw:
        try:
            return raw.decode("utf-8")
        except UnicodeError:
            pass
    text, defect = decode(raw, None)
    if defect is not None:
        defects.add(defect)
    return text


def decode_words(text: str, defects: set[Defect]) -> str:
    """The text with its encoded words decoded."""
    if "=?" not in text:
        return text
    written: list[str] = []
    held, charset = b"", ""
    at = 0
    for found in _WORD.finditer(text):
        word = _read_word(found)
        if word is None:
            defects.add(Defect.ENCODED_WORD_DAMAGED)
            continue
        between = text[at : found.start()]
        is_neighbour = bool(held) and not between.strip()
        if not is_neighbour or word[0] != charset:
            written.append(_flushed(held, charset, defects))
            held, charset = b"", word[0]
        if not is_neighbour:
            written.append(between)
        held += word[1]
        at = found.end()
    written.append(_flushed(held, charset, defects))
    return "".join(written) + text[at:]


def _read_word(found: re.Match[str]) -> tuple[str, bytes] | None:
    """Charset and octets of a word; None when it is damaged, or in a charset that nobody knows."""
    content = _content(found)
    charset = found[1].partition("*")[0].lower()
    if content is None:
        return None
    is_plain = charset in {"us-ascii", "ascii"} and content.isascii()
    return (charset, content) if is_plain or find_codec(charset) is not None else None


def _flushed(held: bytes, charset: str, defects: set[Defect]) -> str:
    text, defect = decode(held, charset or None)
    if defect is not None:
        defects.add(defect)
    return text


def _content(found: re.Match[str]) -> bytes | None:
    try:
        content = found[3].encode("ascii")
        if found[2] in "qQ":
            return binascii.a2b_qp(content, header=True)
        stripped = content.rstrip(b"= ")
        return binascii.a2b_base64(stripped + b"=" * (-len(stripped) % 4))
    except (UnicodeError, binascii.Error):
        return None
