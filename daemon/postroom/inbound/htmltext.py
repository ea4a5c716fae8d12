"""HTML as the text that a reader would see, without recursion; the one place that knows lxml.

What is hidden (`hiding`) is dropped and counted, for it is written for machines (HAZARDS D11); links keep their target; what mail programs
mark as quoted gets `> ` before its lines, as in plain mail. Known limits: style sheets are not read, only `style`
attributes; beyond HTML_MOST characters or ELEMENTS_MOST elements nothing is read, nor what libxml2 leaves out behind 256 levels.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from lxml import etree

from postroom.inbound.clean import clean_line, clean_text
from postroom.inbound.defects import Defect
from postroom.inbound.hiding import Colours, HiddenText, find_hiding
from postroom.inbound.htmltags import thinned


# What takes about a second: of a message, not of each of its parts.
HTML_MOST: Final = 2 * 1024 * 1024
ELEMENTS_MOST: Final = 50_000
_LINK_MOST: Final = 2000
_LINK_PIECES: Final = 8
_MARKS_MOST: Final = 5  # whose words they are is no clearer with more

_DROPPED: Final = frozenset(
    {
        "script",
        "style",
        "head",
        "title",
        "template",
        "noscript",
        "svg",
        "math",
        "iframe",
        "object",
        "embed",
    }
    | {"select", "textarea", "button", "audio", "video", "canvas", "map"}
)
_PARAGRAPHS: Final = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "dl", "pre", "table", "hr"}
)
_BLOCKS: Final = frozenset(
    {
        "div",
        "tr",
        "li",
        "dt",
        "dd",
        "section",
        "article",
        "header",
        "footer",
        "main",
        "aside",
        "nav",
    }
    | {"address", "center", "form", "fieldset", "caption", "body", "html", "figure", "figcaption"}
)
# Classes and ids by which mail programs mark what they quote.
_QUOTES: Final = frozenset(
    {
        "gmail_quote",
        "gmail_quote_container",
        "yahoo_quoted",
        "protonmail_quote",
        "moz-cite",
        "tutanota_quote",
    }
    | {"zmail_extra", "ntes-mailmaster-quote", "isReplyContent"}
)
_RULED: Final = re.compile(r"border-left\s*:|border-left-(?:width|style)\s*:", re.IGNORECASE)
# libxml2 takes it for a tag, and the address would be gone.
_ADDRESS_TAG: Final = re.compile(r"<((?:mailto:)?[\w.+=\-]{1,64}@[\w.\-]{1,255})>")
_WHITE: Final = re.compile(r"[ \t\r\n\f\u00a0]+")


@dataclass(slots=True)
class Room:
    """How much HTML of a message is still read, and what of it was hidden."""

    characters: int = HTML_MOST
    elements: int = ELEMENTS_MOST
    hidden: HiddenText = field(default_factory=HiddenText)


def html_to_text(html: str, defects: set[Defect], room: Room) -> str:
    """The visible text, with LF line ends, as far as there is room for it; '' where there is none."""
    if len(html) > room.characters:
        defects.add(Defect.HTML_CUT)
    cut = clean_text(html[: room.characters])
    room.characters -= len(cut)
    cut = _ADDRESS_TAG.sub(r"&lt;\1&gt;", cut)
    parser = etree.HTMLParser(
        recover=True,
        huge_tree=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
    )
    try:
        root = etree.fromstring(thinned(cut, defects).encode(), parser)
    except etree.LxmlError:
        root = None
    if any(
        one.type_name == "ERR_RESOURCE_LIMIT" or "depth" in one.message for one in parser.error_log
    ):
        defects.add(Defect.HTML_DAMAGED)
    if root is None:
        return ""
    has_sheet = next(root.iter("style", "link"), None) is not None
    writer = _Writer(Colours(has_sheet), room.hidden)
    _walk(root, writer, defects, room)
    if room.hidden.characters:
        defects.add(Defect.HIDDEN_TEXT_DROPPED)
    return writer.text()


@dataclass(frozen=True, slots=True)
class _Leave:
    """What is to be done when an element ends."""

    element: etree._Element
    link: str | None
    link_from: int
    is_quote: bool
    colours: Colours


def _walk(root: etree._Element, writer: "_Writer", defects: set[Defect], room: Room) -> None:
    todo: list[etree._Element | _Leave] = [root]
    while todo:
        one = todo.pop()
        if isinstance(one, _Leave):
            _leave(one, writer)
            continue
        room.elements -= 1
        if room.elements < 0:
            defects.add(Defect.HTML_CUT)
            return
        tag = str(one.tag)
        attributes = {str(name): str(value) for name, value in one.attrib.items()}
        hiding = None if tag in _DROPPED else find_hiding(attributes)
        if hiding is not None:
            room.hidden.add(_words(one), hiding)
        if hiding is not None or tag in _DROPPED or tag == "input":
            writer.write(one.tail)
            continue
        todo.append(_enter(one, tag, writer, attributes))
        todo.extend(reversed(one))


def _enter(
    element: etree._Element, tag: str, writer: "_Writer", attributes: dict[str, str]
) -> _Leave:
    outside, writer.colours = writer.colours, writer.colours.within(tag, attributes)
    writer.break_for(tag)
    is_quote = _is_quote(element, tag, writer.depth)
    writer.depth += is_quote
    writer.kept += tag == "pre"
    if tag == "br":
        writer.newline()
    elif tag == "li" and not writer.colours.are_equal:
        writer.write("- ")
    elif tag in {"td", "th"}:
        writer.write(" ")
    start = writer.size()
    writer.write(element.text)
    href = element.get("href", "") if tag == "a" else ""
    is_shown = href.lower().startswith(("http://", "https://", "mailto:"))
    return _Leave(
        element, clean_line(href, _LINK_MOST) if is_shown else None, start, is_quote, outside
    )


def _leave(one: _Leave, writer: "_Writer") -> None:
    tag = str(one.element.tag)
    is_seen = not writer.colours.are_equal
    if is_seen and one.link is not None and not writer.has_just(one.link, one.link_from):
        writer.write(f" <{one.link}>")
    writer.break_for(tag)
    writer.depth -= one.is_quote
    writer.kept -= tag == "pre"
    writer.colours = one.colours
    writer.write(one.element.tail)


def _words(element: etree._Element) -> str:
    """All text of an element that is none of a program's."""
    nodes = list(element.iter())
    texts = [str(one.text) for one in nodes if one.text and str(one.tag) not in _DROPPED]
    return " ".join([*texts, *(str(one.tail) for one in nodes if one.tail and one is not element)])


def _is_quote(element: etree._Element, tag: str, depth: int) -> bool:
    """Whether a mail program marked this as another's words. (A blockquote alone may be the writer's own.)"""
    if tag != "blockquote":
        # These two have the header inside.
        classes = element.get("class", "").split()
        return "yahoo_quoted" in classes or (tag == "div" and element.get("name") == "quote")
    parent = element.getparent()
    return (
        bool(depth)
        or element.get("type") == "cite"
        or "cite" in element.attrib
        or bool(_marks(element) & _QUOTES)
        or _RULED.search(element.get("style", "")) is not None
        or (parent is not None and bool(_marks(parent) & _QUOTES))
    )


def _marks(element: etree._Element) -> frozenset[str]:
    return frozenset([*element.get("class", "").split(), element.get("id", "")])


class _Writer:
    """Text in the making: blanks collapsed, breaks held back until something follows."""

    def __init__(self, colours: Colours, hidden: HiddenText) -> None:
        self.colours = colours
        self._hidden = hidden
        self.depth = 0
        self.kept = 0
        self._pieces: list[str] = []
        self._breaks = 0
        self._last_depth = 0
        self._is_blank_due = False

    def write(self, text: str | None) -> None:
        """Text as it stands in the source."""
        if not text:
            return
        if self.colours.are_equal:
            self._hidden.add(text, "color")
            return
        if self.kept:
            first, *rest = text.split("\n")
            self._put(first)
            for line in rest:
                self.newline()
                self._put(line)
            return
        collapsed = _WHITE.sub(" ", text)
        self._is_blank_due |= collapsed.startswith(" ")
        self._put(collapsed.strip(" "))
        if collapsed.strip(" "):
            self._is_blank_due = collapsed.endswith(" ")

    def newline(self) -> None:
        """A line end."""
        self._breaks += 1
        self._is_blank_due = False

    def break_for(self, tag: str) -> None:
        """The break that an element of this name has before and behind it."""
        wanted = 2 if tag in _PARAGRAPHS else tag in _BLOCKS
        if wanted:
            self._breaks = max(self._breaks, wanted)
            self._is_blank_due = False

    def size(self) -> int:
        """How many pieces there are."""
        return len(self._pieces)

    def has_just(self, link: str, size: int) -> bool:
        """Whether all that was written since there were so many pieces is the link itself."""
        written = "".join(self._pieces[size : size + _LINK_PIECES]).strip()
        return written in {link, link.removeprefix("mailto:")}

    def text(self) -> str:
        """The whole of it."""
        return "".join([*self._pieces, "\n"]) if self._pieces else ""

    def _put(self, text: str) -> None:
        if not text:
            return
        mark = "> " * min(self.depth, _MARKS_MOST)
        if not self._pieces:
            self._pieces.append(mark)
        elif self._breaks:
            # More than one empty line in a row says nothing.
            between = "> " * min(self.depth, self._last_depth, _MARKS_MOST)
            self._pieces.append(
                ("\n" + between.rstrip()) * (min(self._breaks, 2) - 1) + "\n" + mark
            )
        elif self._is_blank_due:
            self._pieces.append(" ")
        self._breaks = 0
        self._last_depth = self.depth
        self._is_blank_due = False
        self._pieces.append(text)
