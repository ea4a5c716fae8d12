"""Characters that a reader does not see, counted: what they carry reaches a model all the same.

Invisible are blanks without width, fillers, soft hyphens, tags and variation selectors, but not where a script or an
emoji needs them: joiners between characters beyond ASCII, one selector behind such a character (or a keycap's digit), the
flags of parts of countries, a mark at the very beginning, direction marks in text that has letters from right to left.
Bidi characters turn the direction of what follows: embeddings, overrides, isolates and their ends.
Known limits: it is told that they are there, not what for.
"""

import re
from typing import Final


_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2064\u206a-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_FLAG: Final = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{4,6}\U000e007f")
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_JOINERS: Final = "\u200c\u200d\u180b\u180c\u180d"
_MARKS: Final = "\u061c\u200e\u200f"
_EMOJI_SELECTORS: Final = "\ufe0e\ufe0f"
_KEYCAPS: Final = frozenset("0123456789#*")
_BOM: Final = "\ufeff"
_ASCII_MOST: Final = "\x7f"


def count_invisible(text: str) -> int:
    """How many stand where nothing needs them."""
    plain = _FLAG.sub("\U0001f3f4", text)
    has_marks = _RIGHT_TO_LEFT.search(plain) is not None
    return sum(
        not _is_needed(plain, found.start(), has_marks=has_marks)
        for found in _INVISIBLE.finditer(plain)
    )


def count_bidi(text: str) -> int:
    """How many turn the direction."""
    return len(_BIDI.findall(text))


def without_invisible(text: str) -> str:
    """The text as it looks."""
    return _BIDI.sub("", _INVISIBLE.sub("", text))


def _is_needed(text: str, at: int, *, has_marks: bool) -> bool:
    one, before, after = text[at], text[max(0, at - 1) : at], text[at + 1 : at + 2]
    if one in _JOINERS:
        is_selected = before and before in _EMOJI_SELECTORS
        return _is_seen(text[at - 2 : at - 1] if is_selected else before) and _is_seen(after)
    if "\ufe00" <= one <= "\ufe0f" or "\U000e0100" <= one <= "\U000e01ef":
        return _is_seen(before) or (one in _EMOJI_SELECTORS and before in _KEYCAPS)
    return (one == _BOM and at == 0) or (one in _MARKS and has_marks)


def _is_seen(character: str) -> bool:
    """Whether it is a visible character beyond ASCII."""
    return character > _ASCII_MOST and not (_INVISIBLE.match(character) or _BIDI.match(character))
