"""By what HTML hides text from a reader: attributes, styles, and letters in the colour of what is behind them.

Pure: it is given attributes, never elements. Known limits: style sheets are not read, nor are escapes in styles; where
a style sheet may colour an element, or a picture lies behind it, its background is not known and nothing is called hidden by
colour.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from postroom.core.inmail import Counted


Colour = tuple[int, int, int]

_ZERO: Final = r"(?:0+(?:\.0*)?|\.0+)(?:px|pt|em|rem|%)?\s*(?:;|!|$)"
_HIDING: Final = re.compile(
    r"(?P<display>display\s*:\s*none)|(?P<visibility>visibility\s*:\s*(?:hidden|collapse))|(?P<mso>mso-hide\s*:\s*all)"
    rf"|(?P<font>font-size\s*:\s*{_ZERO})|(?P<height>max-height\s*:\s*{_ZERO})|(?P<opacity>opacity\s*:\s*{_ZERO})"
    r"|(?P<indent>text-indent\s*:\s*-\d{3})"
)
_WORDS: Final = {
    "display": "display:none",
    "visibility": "visibility:hidden",
    "mso": "mso-hide:all",
    "font": "font-size:0",
    "height": "max-height:0",
    "opacity": "opacity:0",
    "indent": "off-screen",
}
_PLACED: Final = re.compile(r"position\s*:\s*(?:absolute|fixed)")
_FAR: Final = re.compile(r"(?:^|[;\s])(?:left|top|right|bottom)\s*:\s*-\d{3}")
_CLIPPED: Final = re.compile(r"overflow\s*:\s*hidden")
_NO_SIZE: Final = re.compile(rf"(?:^|[;\s])(?:max-)?(?:width|height)\s*:\s*{_ZERO}")
_INK: Final = re.compile(r"(?:^|[;\s])color\s*:([^;!]*)")
_PAPER: Final = re.compile(r"(?:^|[;\s])background(-color|-image)?\s*:([^;!]*)")
_RGB: Final = re.compile(
    r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*(?:[,/]\s*(\d{1,3}(?:\.\d{1,8})?|\.\d{1,8}))?%?\s*\)"
)
_HEX: Final = re.compile(r"#?([0-9a-f]{3}|[0-9a-f]{6})")
_LONGEST_COLOUR: Final = 64
_NAMED: Final[Mapping[str, Colour]] = {
    "white": (255, 255, 255),
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
    "ghostwhite": (248, 248, 255),
    "whitesmoke": (245, 245, 245),
    "black": (0, 0, 0),
    "blue": (0, 0, 255),
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
}
_LINK: Final = (0, 0, 238)
_NEAR: Final = 16  # of 255 in each channel: nobody reads that
_CLEAR: Final = frozenset({"transparent", "none"})
_COLOURING: Final = frozenset({"style", "bgcolor", "background", "color", "class", "id"})


@dataclass(slots=True)
class HiddenText:
    """What was dropped of a message: characters but blanks, and by what they were hidden."""

    characters: int = 0
    where: dict[str, None] = field(default_factory=dict)

    def add(self, text: str, how: str) -> None:
        """Text that a reader would not see."""
        size = len("".join(text.split()))
        if size:
            self.characters += size
            self.where[how] = None

    def counted(self) -> Counted:
        """As a value."""
        return Counted(self.characters, tuple(self.where))


def find_hiding(attributes: Mapping[str, str]) -> str | None:
    """What hides an element with these attributes from a reader, in a word; None when nothing does."""
    if "hidden" in attributes:
        return "hidden"
    if attributes.get("aria-hidden", "").lower() == "true":
        return "aria-hidden"
    style = _style(attributes)
    if ":" not in style:
        return None
    found = _HIDING.search(style)
    if found is not None:
        return _WORDS[found.lastgroup or ""]
    if _PLACED.search(style) and _FAR.search(style):
        return "off-screen"
    if _CLIPPED.search(style) and _NO_SIZE.search(style):
        return "no size"
    return None


@dataclass(frozen=True, slots=True)
class Colours:
    """Of letters and of what is behind them; None = not known. `has_sheet`: a style sheet may say otherwise."""

    has_sheet: bool = False
    ink: Colour | None = (0, 0, 0)
    paper: Colour | None = (255, 255, 255)
    is_clear: bool = False

    @property
    def are_equal(self) -> bool:
        """Whether letters can not be seen."""
        if self.is_clear:
            return True
        if self.ink is None or self.paper is None:
            return False
        return all(abs(a - b) <= _NEAR for a, b in zip(self.ink, self.paper, strict=True))

    def within(self, tag: str, attributes: Mapping[str, str]) -> "Colours":
        """Inside of an element."""
        inner = replace(self, ink=_LINK, is_clear=False) if tag == "a" else self
        if not attributes or _COLOURING.isdisjoint(attributes):
            return inner
        if self.has_sheet and ("class" in attributes or "id" in attributes):
            inner = replace(inner, ink=None, paper=None, is_clear=False)
        style = _style(attributes)
        return inner._with_ink(style, attributes)._with_paper(style, attributes)  # noqa: SLF001 - its own

    def _with_ink(self, style: str, attributes: Mapping[str, str]) -> "Colours":
        found = (_INK.findall(style) if "color" in style else []) or [
            one for one in (attributes.get("color"),) if one
        ]
        if not found:
            return self
        word = found[-1].strip().lower()[:_LONGEST_COLOUR]
        is_clear = word == "transparent" or _alpha(word) == 0
        return replace(self, ink=_read_colour(word), is_clear=is_clear)

    def _with_paper(self, style: str, attributes: Mapping[str, str]) -> "Colours":
        if "background" in attributes:
            return replace(self, paper=None)
        found = _PAPER.findall(style) if "background" in style else []
        if not found:
            bgcolor = attributes.get("bgcolor")
            return self if not bgcolor else replace(self, paper=_read_colour(bgcolor.lower()))
        paper = self.paper
        for kind, written in found:
            word = written.strip()[:_LONGEST_COLOUR]
            if word in _CLEAR or (kind != "-image" and _alpha(word) == 0):
                continue
            paper = None if kind == "-image" else _read_colour(word)
        return replace(self, paper=paper)


def _style(attributes: Mapping[str, str]) -> str:
    """The style without comments, in lower case."""
    style = attributes.get("style", "").lower()
    if "/*" not in style:
        return style
    first, *others = style.split("/*")
    return "".join([first, *(one.partition("*/")[2] for one in others)])


def _read_colour(text: str) -> Colour | None:
    word = text.strip()[:_LONGEST_COLOUR]
    if word in _NAMED:
        return _NAMED[word]
    if (found := _HEX.fullmatch(word)) is not None:
        digits = found[1] if len(found[1]) > len("rgb") else "".join(2 * one for one in found[1])
        return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
    if (found := _RGB.fullmatch(word)) is not None:
        return int(found[1]), int(found[2]), int(found[3])
    return None


def _alpha(word: str) -> float | None:
    found = _RGB.fullmatch(word)
    return None if found is None or found[4] is None else float(found[4])
