"""Text from strangers, made harmless where it enters (HAZARDS A2, L2, Q9)."""

import re
from typing import Final


# Control characters, line and paragraph separators, direction overrides, halves of surrogate pairs.
_LINE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+"
)
_TEXT: Final = re.compile("[\x00\ud800-\udfff]")


def clean_line(text: str, most: int) -> str:
    """The text as one line of at most `most` characters."""
    return _LINE.sub(" ", text[: 2 * most]).strip()[:most]


def clean_token(text: str, most: int) -> str:
    """The text without anything that is not a visible character, at most `most` of them."""
    return "".join(_LINE.sub("", text[: 2 * most]).split())[:most]


def clean_text(text: str) -> str:
    """The text with LF line ends; NUL and half surrogates become U+FFFD, so that nothing moves."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _TEXT.sub("\ufffd", lines)
