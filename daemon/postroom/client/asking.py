"""How a call is written: path parts, queries, and bodies without what was not given."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode


Filter = str | int | None


# A name that is no text (a file's, a word of the command line in another charset) is sent as it is, for the daemon to judge.
_ERRORS: Final = "surrogatepass"


def part(name: str) -> str:
    """`name` as one part of a path."""
    return quote(name, safe="", errors=_ERRORS)


def query(filters: Mapping[str, Filter]) -> str:
    """The query of those that are given, with its `?`."""
    found = given(filters)
    return f"?{urlencode(found, errors=_ERRORS)}" if found else ""


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
