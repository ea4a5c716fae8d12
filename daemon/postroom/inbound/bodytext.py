"""Which parts of a message are its text, and which are files (CASES A26).

Of a multipart/alternative the plain text counts, and the HTML where the plain text is empty; outside of one, all
inline text is joined in its order, and HTML only where it says something that is not there yet. Text with a file name,
or disposed as an attachment, is a file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postroom.core.inmail import Counted
from postroom.inbound.charsets import decode
from postroom.inbound.clean import clean_text
from postroom.inbound.defects import Defect
from postroom.inbound.htmltext import Room, html_to_text
from postroom.inbound.mimeparts import Part
from postroom.inbound.transfer import read_content


_PLAIN: Final = "text/plain"
_HTML: Final = "text/html"
_COMPARED_MOST: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Body:
    """The text, whether it was HTML, the HTML as it came ('' = none), the parts that are files, and what of the HTML was hidden."""

    text: str
    is_page: bool
    html: str
    files: tuple[Part, ...]
    hidden: Counted


@dataclass(frozen=True, slots=True)
class _Piece:
    """Decoded text of one part."""

    is_html: bool
    choice: int | None
    content: str


def read_body(raw: bytes, leaves: Sequence[Part], defects: set[Defect]) -> Body:
    """The text of a message, and its files."""
    shown = [part for part in leaves if _is_shown(part)] or _only_text(leaves)
    pieces = [_decoded(raw, part, defects) for part in shown]
    files = tuple(part for part in leaves if part not in shown)
    html = "\n".join(one.content for one in pieces if one.is_html)
    room = Room()
    text = _joined(pieces, defects, room)
    has_plain = any(not one.is_html and one.content.strip() for one in pieces)
    return Body(text, not has_plain, html, files, room.hidden.counted())


def _is_shown(part: Part) -> bool:
    """Whether the part is text to be read in the message itself."""
    is_named = part.disposition.parameters.get("filename") or part.type.parameters.get("name")
    return _is_text(part) and not is_named


def _only_text(leaves: Sequence[Part]) -> list[Part]:
    """Where all text has a name, the first one is nevertheless the message."""
    return [part for part in leaves if _is_text(part)][:1]


def _is_text(part: Part) -> bool:
    return part.type.value in {_PLAIN, _HTML} and part.disposition.value != "attachment"


def _decoded(raw: bytes, part: Part, defects: set[Defect]) -> _Piece:
    content = read_content(raw, part, defects)
    text, defect = decode(content, part.type.parameters.get("charset"))
    if defect is not None:
        defects.add(defect)
    cleaned = clean_text(text)
    if "\ufffd" in cleaned and "\0" in text:
        defects.add(Defect.TEXT_CLEANED)
    return _Piece(part.type.value == _HTML, part.choice, cleaned)


def _joined(pieces: Sequence[_Piece], defects: set[Defect], room: Room) -> str:
    chosen = {one.choice for one in pieces if not one.is_html and one.content.strip()} - {None}
    texts: list[str] = []
    for one in pieces:
        if one.is_html and one.choice in chosen:
            continue
        text = html_to_text(one.content, defects, room) if one.is_html else one.content
        if text.strip() and not (one.is_html and _says_nothing_new(text, texts)):
            texts.append(text)
    ended = [text if text.endswith("\n") else text + "\n" for text in texts[:-1]]
    return "".join([*ended, *texts[-1:]])


def _says_nothing_new(text: str, texts: Sequence[str]) -> bool:
    """Whether the plain texts say the same: some senders put both side by side."""
    is_short = sum(map(len, texts)) <= _COMPARED_MOST
    return is_short and _squeezed(text) in _squeezed("".join(texts))


def _squeezed(text: str) -> str:
    return "".join(text.split())
