"""What text from a caller may hold, and how wrong text is named without being repeated.

Text that becomes a header, an id or a log field has no control characters (C0, DEL, C1), no U+2028 or U+2029 and no
lone surrogates (HAZARDS A2, Q9); text of a body may hold every character but NUL and lone surrogates, because it is
always encoded.
"""

import re
from typing import Final


_UNSAFE_LINE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_UNSAFE_BODY: Final = re.compile("[\x00\ud800-\udfff]")

# Long enough to recognise a name by, short enough that a thousand of them stay a small answer.
_SHOWN: Final = 80


def find_line_fault(text: str) -> str | None:
    """What makes this text unfit for one line, as the end of a sentence; None when nothing does."""
    if text.isascii() and text.isprintable():
        return None
    found = _UNSAFE_LINE.search(text)
    return None if found is None else _named(found[0])


def find_body_fault(text: str) -> str | None:
    """What makes this text unfit for a body, as the end of a sentence; None when nothing does."""
    if text.isascii() and "\0" not in text:
        return None
    found = _UNSAFE_BODY.search(text)
    return None if found is None else _named(found[0])


def shown(text: str, most: int = _SHOWN) -> str:
    """The text cut to `most` characters and cleaned, so that it can stand in an answer."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return _UNSAFE_LINE.sub("?", cut)


def pointer(*tokens: str | int) -> str:
    """The JSON pointer (RFC 6901) made of these tokens, safe to show."""
    return "".join("/" + shown(str(one)).replace("~", "~0").replace("/", "~1") for one in tokens)


def _named(character: str) -> str:
    if "\ud800" <= character <= "\udfff":
        return "holds half of a surrogate pair"
    if character in "\r\n\u2028\u2029\x85\x0b\x0c":
        return f"holds a line end (U+{ord(character):04X})"
    return f"holds a control character (U+{ord(character):04X})"
