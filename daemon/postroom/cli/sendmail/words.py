"""Encoded words (RFC 2047): decoded where they can be read exactly, else left as they came.

What is longer than all headers of a job may be is left, too: the time of the library's decoder grows with the square.
"""

from binascii import Error
from email.errors import HeaderParseError
from email.header import decode_header
from typing import Final


_PLAIN: Final = "ascii"
_LONGEST: Final = 16 * 1024  # characters; the contract's limit


def decode_words(text: str) -> str:
    """The text as its readers see it."""
    if "=?" not in text or not text.isascii() or len(text) > _LONGEST:
        return text
    try:
        pieces = decode_header(text)
        return "".join(
            one if isinstance(one, str) else one.decode(charset or _PLAIN)
            for one, charset in pieces
        )
    except (HeaderParseError, Error, LookupError, UnicodeError):
        return text
