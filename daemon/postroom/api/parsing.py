"""From bytes and query strings to the typed values of `requests`; what does not fit becomes a refusal with its pointer."""

import re
from datetime import timedelta
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec

from postroom.api.faultwords import say
from postroom.api.problems import Code, Refusal, invalid
from postroom.api.requests import Asked
from postroom.core.address import read_address
from postroom.core.ids import Kind, base32, decode_id
from postroom.core.instant import Instant, later, parse_instant
from postroom.core.job import Address
from postroom.core.words import pointer as to_pointer


Q = TypeVar("Q", bound=Asked)

_WHERE: Final = re.compile(r"(?s)(.*) - at `\$(.*)`")
_UNKNOWN: Final = re.compile(r"(?s)Object contains unknown field `(.*)`")
_MISSING: Final = re.compile(r"(?s)Object missing required field `(.*)`")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_AGO: Final = re.compile("([0-9]{1,9})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
# No call has a tenth of these.
_PARAMETERS: Final = 100


def decode_body(body: bytes, decoder: msgspec.json.Decoder[Any]) -> Any | Refusal:
    """The value of a JSON body in the decoder's type."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as fault:
        return _refusal(str(fault), decoder.type)
    except msgspec.DecodeError:
        return Refusal(Code.NOT_JSON, "The body can not be read as JSON.")
    except RecursionError:
        return Refusal(Code.NOT_JSON, "The body is nested too deeply.")


def decode_query(raw: str, wanted: type[Q]) -> Q | Refusal:
    """A raw query string as a value of the wanted type."""
    try:
        pairs = parse_qsl(raw, keep_blank_values=True, max_num_fields=_PARAMETERS)
    except ValueError:
        return invalid("", "There are too many parameters.")
    given = dict(pairs)
    if len(given) < len(pairs):
        return invalid("", "A parameter is given more than once.")
    try:
        found = msgspec.convert(given, wanted, strict=False)
    except msgspec.ValidationError as fault:
        return _refusal(str(fault), wanted)
    # The library takes the text "null" for nothing at all; a query has no nothing but leaving it out.
    lost = next((name for name in given if getattr(found, name) is None), None)
    return (
        found
        if lost is None
        else invalid(to_pointer(lost), "This value is not one of those allowed.")
    )


def read_instant(text: str, pointer: str) -> Instant | Refusal:
    """An RFC 3339 instant."""
    found = parse_instant(text)
    return invalid(pointer, "This is not an RFC 3339 instant.") if found is None else found


def read_since(text: str | None, now: Instant, pointer: str = "/since") -> Instant | Refusal | None:
    """An instant, or a time ago such as `24h`; None = since ever."""
    if text is None:
        return None
    ago = _AGO.fullmatch(text)
    if ago is None:
        return read_instant(text, pointer)
    past = timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    return max(Instant(0), later(now, -past))


def read_cursor(text: str | None) -> int | None:
    """The row number behind a cursor; its form was checked before."""
    return None if text is None else int(text[1:], 32)


def write_cursor(number: int | None) -> str | None:
    """An opaque cursor."""
    return None if number is None else "c" + base32(number, 13)


def fold_address(text: str, pointer: str) -> str | Refusal:
    """An addr-spec in the form in which two spellings of one address are equal."""
    found = read_address(text)
    return found.key if isinstance(found, Address) else invalid(pointer, found)


def fold_domain(text: str | None, pointer: str) -> str | Refusal | None:
    """A recipient domain as it is stored, lower-case A-labels."""
    if text is None:
        return None
    found = read_address(f"x@{text}")
    return found.domain if isinstance(found, Address) else invalid(pointer, "This is no domain.")


def read_id(kind: Kind, text: str | None) -> int | None:
    """The number behind an id whose form was checked before."""
    return None if text is None else decode_id(kind, text)


def _refusal(text: str, wanted: Any) -> Refusal:
    found = _WHERE.fullmatch(text)
    what, where = (found[1], found[2]) if found else (text, "")
    steps = [step[1] or step[2] for step in _STEP.finditer(where)]
    pointer = "".join(map(to_pointer, steps))
    unknown, missing = _UNKNOWN.fullmatch(what), _MISSING.fullmatch(what)
    if unknown is not None:
        return invalid(
            pointer + to_pointer(unknown[1]), "There is no such field.", Code.UNKNOWN_FIELD
        )
    if missing is not None:
        return invalid(pointer + to_pointer(missing[1]), "This field is needed.")
    return invalid(pointer, say(what, wanted, steps))
