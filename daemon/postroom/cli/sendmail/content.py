"""What the parts of a message become in a job: one text, one HTML, and files with their exact octets.

Rules: the first text that is no attachment is the text, and so with the HTML; everything else is a file, in its order.
What the text of a job can not hold (octets of no charset that is known, NUL, more than its limit) is a file, too, so that
nothing is lost or guessed. What would be worth nothing in another form than its own (signatures, encrypted mail, reports)
is refused.
"""

import codecs
import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from postroom.cli.exits import Exit
from postroom.cli.sendmail.mime import Part
from postroom.cli.sendmail.unfit import Unfit, harmless
from postroom.cli.sendmail.words import decode_words


# The contract's limits; a megabyte of JSON has to hold both, escapes and all, and leave room for what else there is.
_TEXT_MOST: Final = 512 * 1024
_WRITTEN_MOST: Final = 700 * 1024
_FILES_MOST: Final = 50

_KEPT: Final = frozenset(f"multipart/{one}" for one in ("mixed", "parallel", "digest"))
_SEALED: Final = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})

# Codecs of Python that are no charsets, and a charset that everybody reads as its superset.
_NO_CHARSETS: Final = frozenset({"unicode_escape", "raw_unicode_escape", "idna", "punycode"})
_READ_AS: Final = {"iso8859-1": ("cp1252", "iso8859-1"), "ascii": ("ascii", "utf-8")}

_ANY_TYPE: Final = "application/octet-stream"
_NAME: Final = r"[A-Za-z0-9!#$%&'*+.^_`{|}~-]+"
_TYPE: Final = re.compile(rf"{_NAME}/{_NAME}")
_VALUE: Final = re.compile(r"[ !#-\[\]-~]*")
_TYPE_MOST: Final = 127
_CALLED: Final = {
    "text/plain": "text.txt",
    "text/html": "text.html",
    "message/rfc822": "message.eml",
}


@dataclass(frozen=True, slots=True)
class File:
    """What goes as an attachment."""

    filename: str
    content_type: str
    octets: bytes
    is_inline: bool
    content_id: str | None


@dataclass(slots=True)
class Content:
    """What was found so far; `text` None = the message has none."""

    text: str | None = None
    html: str | None = None
    files: list[File] = field(default_factory=list)

    @property
    def missing(self) -> frozenset[str]:
        """The types of text that were not found yet."""
        both = {"text/plain": self.text, "text/html": self.html}
        return frozenset(kind for kind, text in both.items() if text is None)

    @property
    def is_begun(self) -> bool:
        """Whether there is text of either kind."""
        return self.text is not None or self.html is not None


def read_content(message: Part) -> Content:
    """The content of a message.

    Raises: Unfit where a job can not carry it.
    """
    found = Content()
    _walk(message, found, is_body=True)
    return found


def _walk(part: Part, found: Content, *, is_body: bool) -> None:
    """`is_body`: the part is, or is in, what a reader shows as the text of the mail."""
    kind = part.media_type
    if kind in _KEPT:
        for one in part.parts:
            _walk(one, found, is_body=is_body and not found.is_begun)
    elif kind == "multipart/alternative":
        for one in part.parts:
            _walk(one, found, is_body=is_body)
    elif kind == "multipart/related":
        for at, one in enumerate(part.parts):
            _walk(one, found, is_body=is_body and at == 0)
    elif kind.startswith("multipart/") or kind in _SEALED:
        told = f"A mail of the type {harmless(kind)} can not be carried as it is: its parts would change."
        raise Unfit(Exit.BAD_DATA, told)
    else:
        _take(part, found, is_body=is_body)


def _take(part: Part, found: Content, *, is_body: bool) -> None:
    """A leaf, as text or as a file."""
    octets = part.content()
    is_apart = part.about.get_content_disposition() == "attachment" or _filename(part) is not None
    is_wanted = part.media_type in found.missing and is_body and not is_apart
    text = _text(part, octets, found) if is_wanted else None
    if text is None:
        if len(found.files) == _FILES_MOST:
            told = f"It has more than {_FILES_MOST} files, which is what a job carries."
            raise Unfit(Exit.BAD_DATA, told)
        found.files.append(_file(part, octets))
    elif part.media_type == "text/plain":
        found.text = text
    else:
        found.html = text


def _text(part: Part, octets: bytes, found: Content) -> str | None:
    """The octets as text, if they can be read exactly and a job can hold them beside what it has."""
    if len(octets) > _TEXT_MOST:
        return None
    text = _decoded(octets, str(part.about.get_content_charset("ascii")))
    if text is None or "\0" in text or len(text.encode()) > _TEXT_MOST:
        return None
    written = len(json.dumps([text, found.text, found.html]))
    return text if written <= _WRITTEN_MOST else None


def _decoded(octets: bytes, charset: str) -> str | None:
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):  # ValueError: NUL in a name, which RFC 2231 can write
        return None
    for codec in _READ_AS.get(name, (name,)):
        try:
            text = octets.decode(codec)
        except (LookupError, UnicodeError):
            continue
        return None if codec in _NO_CHARSETS else text
    return None


def _file(part: Part, octets: bytes) -> File:
    name = (_filename(part) or "").replace("\\", "/").rpartition("/")[2].strip()
    if not name.strip("."):
        name = _CALLED.get(part.media_type, "attachment")
    content_id = part.about.get("Content-ID")
    is_attachment = part.about.get_content_disposition() == "attachment"
    is_shown = part.media_type.startswith("text/") or content_id is not None
    return File(
        filename=name,
        content_type=_content_type(part),
        octets=octets,
        is_inline=not is_attachment
        and (is_shown or part.about.get_content_disposition() == "inline"),
        content_id=None if content_id is None else str(content_id).strip(),
    )


def _filename(part: Part) -> str | None:
    found = part.about.get_filename()
    return None if found is None else decode_words(found)


def _content_type(part: Part) -> str:
    """The media type with those parameters that a job can carry; messages and the like have to go as plain octets."""
    if _TYPE.fullmatch(part.media_type) is None or part.media_type.startswith("message/"):
        return _ANY_TYPE
    whole = part.media_type
    given: list[tuple[str, Any]] = part.about.get_params(failobj=[])
    for name, value in given[1:]:
        # the file has its name apart; values in other charsets (RFC 2231) are tuples
        if name == "name" or not isinstance(value, str) or not _VALUE.fullmatch(value):
            continue
        longer = f'{whole}; {name}="{value}"'
        whole = longer if len(longer) <= _TYPE_MOST and re.fullmatch(_NAME, name) else whole
    return whole
