"""How a call is written: path parts, queries, and bodies without what was not given."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode


Filter = str | int | None


def part(name: str) -> str:
    """`name` as one part of a path."""
    return quote(name, safe="")


def query(filters: Mapping[str, Filter]) -> str:
    """The query of those that are given, with its `?`."""
    found = given(filters)
    return f"?{urlencode(found)}" if found else ""


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
