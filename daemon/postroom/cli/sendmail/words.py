"""Encoded words (RFC 2047): decoded where they can be read exactly, else left as they came."""

from binascii import Error
from email.errors import HeaderParseError
from email.header import decode_header
from typing import Final


_PLAIN: Final = "ascii"


def decode_words(text: str) -> str:
    """The text as its readers see it."""
    if "=?" not in text or not text.isascii():
        return text
    try:
        pieces = decode_header(text)
        return "".join(
            one if isinstance(one, str) else one.decode(charset or _PLAIN)
            for one, charset in pieces
        )
    except (HeaderParseError, Error, LookupError, UnicodeError):
        return text
