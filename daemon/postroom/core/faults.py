"""Collecting everything that is wrong with a request while it is read, and reading its plain values.

Each reader takes a value as decoded from JSON, notes what is wrong under its JSON pointer, and gives what was
understood, or None. A null is a field that was not given, so readers never see None.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice
from typing import Final, TypeVar

from postroom.core.instant import Instant, parse_instant
from postroom.core.job import Problem
from postroom.core.words import find_line_fault, pointer, shown


# More would make a megabyte of nonsense into many megabytes of answer.
MOST_PROBLEMS: Final = 1_000

UNKNOWN_FIELD: Final = "unknown_field"

Choice = TypeVar("Choice", bound=StrEnum)


class Faults:
    """The problems found so far, in the order they were found."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, where: str, detail: str, code: str | None = None) -> None:
        """Note one."""
        if len(self._found) < MOST_PROBLEMS:
            self._found.append(Problem(where, detail, code))

    def add_unknown(self, names: Iterable[str], where: str = "") -> None:
        """Note fields that do not exist; a megabyte of them is not gone through."""
        for name in islice(names, MOST_PROBLEMS - len(self._found)):
            at = pointer(name)
            self.add(where + at, f"There is no field {at[1:]!r} here.", UNKNOWN_FIELD)

    def all(self) -> tuple[Problem, ...]:
        """All of them."""
        return tuple(self._found)


def read_text(
    given: object, where: str, faults: Faults, *, most: int, least: int = 1
) -> str | None:
    """One line of `least` to `most` characters."""
    if not isinstance(given, str):
        faults.add(where, "This must be a string.")
        return None
    fault = find_line_fault(given)
    if fault is not None:
        faults.add(where, f"The text {fault}.")
        return None
    if not least <= len(given) <= most:
        faults.add(where, f"This must have {least} to {most} characters, not {len(given)}.")
        return None
    return given


def read_ascii(given: object, where: str, faults: Faults, *, most: int) -> str | None:
    """One line of 1 to `most` printable ASCII characters."""
    text = read_text(given, where, faults, most=most)
    if text is not None and not text.isascii():
        faults.add(where, "This must be printable ASCII.")
        return None
    return text


def read_flag(given: object, where: str, faults: Faults) -> bool:
    """True or false; false where it is neither."""
    if not isinstance(given, bool):
        faults.add(where, "This must be true or false.")
        return False
    return given


def read_choice(
    given: object, where: str, faults: Faults, choices: dict[str, Choice]
) -> Choice | None:
    """One of the words."""
    if isinstance(given, str) and given in choices:
        return choices[given]
    faults.add(where, f"This must be one of: {', '.join(choices)}.")
    return None


def read_moment(given: object, where: str, faults: Faults) -> Instant | None:
    """An RFC 3339 instant."""
    found = parse_instant(given) if isinstance(given, str) else None
    if found is None:
        faults.add(where, "This must be an RFC 3339 instant such as 2026-11-30T07:00:00Z.")
    return found


def read_list(given: object, where: str, faults: Faults, *, most: int) -> list[object]:
    """The items of a list; none where it is no list or has more than `most`."""
    if not isinstance(given, list):
        faults.add(where, "This must be a list.")
        return []
    if len(given) > most:
        faults.add(where, f"This may have {most:,} items, not {len(given):,}.")
        return []
    return given


def read_object(
    given: object, where: str, faults: Faults, fields: frozenset[str]
) -> dict[str, object] | None:
    """The fields of an object that were given; every other one is noted as unknown."""
    if not isinstance(given, dict):
        faults.add(where, "This must be an object.")
        return None
    faults.add_unknown((name for name in given if name not in fields), where)
    return {name: value for name, value in given.items() if value is not None}


def read_pairs(
    given: object, where: str, faults: Faults, *, most: int
) -> Iterator[tuple[str, str, str]]:
    """Each pair of strings of an object, with its pointer."""
    if not isinstance(given, dict):
        faults.add(where, "This must be an object of strings.")
        return None
    if len(given) > most:
        faults.add(where, f"This may have {most} members, not {len(given):,}.")
        return None
    for name, value in given.items():
        at = where + pointer(name)
        if isinstance(value, str):
            yield name, value, at
        else:
            faults.add(at, f"The value of {shown(name)!r} must be a string.")
    return None
