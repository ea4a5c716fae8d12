"""Content-Type, Content-Disposition and their parameters (RFC 2045 §5, 2183, 2231), as they are found."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from postroom.inbound.charsets import decode
from postroom.inbound.clean import clean_token
from postroom.inbound.defects import Defect
from postroom.inbound.encodedwords import decode_words, raw_text


TYPE_MOST: Final = 100
_VALUE_MOST: Final = 2000
_END_KEPT: Final = 100
_SECTIONS_MOST: Final = 200

_PARAMETER: Final = re.compile(r';\s*([^\s=;"]{1,60})\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)', re.DOTALL)
_TYPE: Final = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+")
_NAME: Final = re.compile(r"([^*]+)(?:\*(\d{1,3}))?(\*)?")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Typed:
    """A value such as `text/plain` or `attachment`, in lower case, '' where it is none; and its parameters."""

    value: str
    parameters: dict[str, str]


def read_typed(raw: bytes | None, defects: set[Defect]) -> Typed:
    """The value and parameters of a field, which may be missing."""
    if raw is None:
        return Typed("", {})
    text = raw_text(raw, defects)
    words = text.partition(";")[0].split()  # some leave the semicolon out
    value = clean_token(words[0], TYPE_MOST).lower() if words else ""
    return Typed(value, _parameters(text, defects))


def read_media_type(raw: bytes | None, defects: set[Defect]) -> Typed:
    """A Content-Type; text/plain where it is missing or damaged (RFC 2045 §5.2)."""
    found = read_typed(raw, defects)
    if _TYPE.fullmatch(found.value):
        return found
    if raw is not None:
        defects.add(Defect.CONTENT_TYPE_DAMAGED)
    return Typed("text/plain", found.parameters)


def _parameters(text: str, defects: set[Defect]) -> dict[str, str]:
    plain: dict[str, str] = {}
    sections: dict[str, list[tuple[int, bool, str]]] = {}
    for name, value in _PARAMETER.findall(text):
        found = _NAME.fullmatch(name.lower())
        if found is None:
            continue
        base, number, star = found.groups()
        if number is None and star is None:
            plain.setdefault(base, clean(decode_words(_unquoted(value), defects)))
        elif len(sections.setdefault(base, [])) < _SECTIONS_MOST:
            sections[base].append((int(number or 0), star is not None, _unquoted(value)))
    extended = {base: _joined(pieces, defects) for base, pieces in sections.items()}
    return plain | extended


def clean(text: str) -> str:
    """A parameter's value; a long one loses its middle, for what kind of file it is stands at the end of a name."""
    is_long = len(text) > _VALUE_MOST
    return text[: _VALUE_MOST - _END_KEPT] + text[-_END_KEPT:] if is_long else text


def _joined(pieces: list[tuple[int, bool, str]], defects: set[Defect]) -> str:
    """RFC 2231: the sections in their order, percent-decoded where a star says so, in the charset that the first names."""
    pieces.sort(key=lambda one: one[0])
    charset = None
    octets = b""
    for at, (_, is_encoded, value) in enumerate(pieces):
        rest = value
        if at == 0 and is_encoded and value.count("'") >= len("''"):
            charset, _, rest = value.split("'", 2)
        octets += unquote_to_bytes(rest) if is_encoded else rest.encode(errors="replace")
    text, defect = decode(octets[: 4 * _VALUE_MOST], charset or "utf-8")
    if defect is not None:
        defects.add(defect)
    return clean(text)


def _unquoted(value: str) -> str:
    stripped = value.strip()
    if len(stripped) > 1 and stripped.startswith('"') and stripped.endswith('"'):
        return _ESCAPED.sub(r"\1", stripped[1:-1])
    return stripped.strip('"')
