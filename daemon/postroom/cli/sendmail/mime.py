"""A message taken apart (RFC 5322, RFC 2045, RFC 2046) without touching an octet: fields, body, and the parts of a multipart.

Lines end in LF or CRLF. A line that is no field ends the header even without an empty line, as sendmail has it. What
stands before the first part and behind the last one is no content and is left out.
"""

import binascii
import re
from dataclasses import dataclass
from email.message import Message
from typing import Final

from postroom.cli.exits import Exit
from postroom.cli.sendmail.unfit import Unfit, harmless


Fields = list[tuple[str, str]]

# Nobody nests deeper by intent; every level costs a look at all of it.
DEPTH_MOST: Final = 20

# A name of 255 characters in its longest form fits. The library reads parameters in the square of their length.
_ABOUT_MOST: Final = 4 * 1024

_FIELD: Final = re.compile(rb"([!-9;-~]+)[ \t]*:(.*)", re.DOTALL)
_AS_IT_IS: Final = frozenset({"", "7bit", "8bit", "binary"})
_MESSAGE: Final = "message/rfc822"


@dataclass(frozen=True, slots=True)
class Part:
    """A leaf, or a multipart with `parts`. `about` has its MIME fields, `body` its octets as they came."""

    about: Message
    media_type: str
    body: bytes
    parts: tuple["Part", ...] = ()

    def content(self) -> bytes:
        """The octets that it stands for.

        Raises: Unfit where its transfer encoding can not be undone.
        """
        encoding = str(self.about.get("Content-Transfer-Encoding", "")).strip().lower()
        if encoding in _AS_IT_IS:
            return self.body
        if encoding == "quoted-printable":
            return binascii.a2b_qp(self.body)
        if encoding != "base64":
            told = f"The Content-Transfer-Encoding {harmless(encoding)} is not known."
            raise Unfit(Exit.BAD_DATA, told)
        try:
            return binascii.a2b_base64(b"".join(self.body.split()), strict_mode=True)
        except binascii.Error as fault:
            raise Unfit(Exit.BAD_DATA, f"A part is no base64: {fault}.") from fault


def read_message(raw: bytes) -> tuple[Fields, Part]:
    """The fields of a message in their order, unfolded, and its content.

    Raises: Unfit where it can not be taken apart.
    """
    # what a mailbox file has before each message is none of its fields
    is_filed = raw.startswith(b"From ")
    fields, body = _split(raw.partition(b"\n")[2] if is_filed else raw)
    return fields, _part(fields, body, "text/plain", 0)


def _split(raw: bytes) -> tuple[Fields, bytes]:
    found: list[tuple[bytes, list[bytes]]] = []
    at = 0
    while at < len(raw):
        end = raw.find(b"\n", at) + 1 or len(raw)
        line = raw[at:end].rstrip(b"\r\n")
        if not line:
            at = end
            break
        field = _FIELD.fullmatch(line)
        if line[:1] in {b" ", b"\t"} and found:
            found[-1][1].append(line)
        elif field is not None:
            found.append((field[1], [field[2]]))
        else:
            break
        at = end
    return [(name.decode("ascii"), _text(b"".join(lines))) for name, lines in found], raw[at:]


def _text(value: bytes) -> str:
    """A field's value on one line; octets that are no UTF-8 are shown by their numbers."""
    if b"\0" in value:
        raise Unfit(Exit.BAD_DATA, "A header holds NUL.")
    return value.replace(b"\t", b" ").strip(b" ").decode("utf-8", "backslashreplace")


def _part(fields: Fields, body: bytes, default: str, depth: int) -> Part:
    about = Message()
    about.set_default_type(default)
    for name, value in fields:
        if name.lower().startswith("content-"):
            if len(value) > _ABOUT_MOST:
                told = f"Its field {harmless(name)} has more than {_ABOUT_MOST:,} characters."
                raise Unfit(Exit.BAD_DATA, told)
            about[name] = value
    media_type = about.get_content_type()
    if not media_type.startswith("multipart/"):
        return Part(about, media_type, body)
    if depth >= DEPTH_MOST:
        raise Unfit(Exit.BAD_DATA, f"Its parts are nested deeper than {DEPTH_MOST} levels.")
    inner = _MESSAGE if media_type == "multipart/digest" else "text/plain"
    parts = (_split(one) for one in _torn(body, about))
    return Part(about, media_type, body, tuple(_part(*one, inner, depth + 1) for one in parts))


def _torn(body: bytes, about: Message) -> list[bytes]:
    """The octets of each part; the line end before a boundary belongs to the boundary."""
    boundary = about.get_boundary()
    if not boundary:
        raise Unfit(Exit.BAD_DATA, "It is a multipart without a boundary.")
    mark = re.escape(boundary.encode("utf-8", "surrogateescape"))
    starts: list[int] = []
    ends: list[int] = []
    for found in re.finditer(rb"^--" + mark + rb"(--)?[ \t]*\r?$", body, re.MULTILINE):
        ends.append(found.start())
        if found[1]:
            break
        starts.append(found.end() + 1)
    else:
        ends.append(len(body))
    if not starts:
        raise Unfit(Exit.BAD_DATA, "It is a multipart, and its boundary is nowhere.")
    pieces = [body[start:end] for start, end in zip(starts, ends[1:], strict=True)]
    is_cut = ends[-1] == len(body)
    whole = pieces[:-1] if is_cut else pieces
    return [one.removesuffix(b"\n").removesuffix(b"\r") for one in whole] + pieces[len(whole) :]
