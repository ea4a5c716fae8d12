"""Reading one TOML table key by key: types, ranges, unknown keys; every problem is noted, none stops the reading.

Whoever reads asks for each key once and gets its value or its default; what was never asked for is unknown.
No value is ever repeated in a problem unless it comes from a closed list: it could be a secret.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from enum import StrEnum
from os.path import normpath
from pathlib import Path
from typing import Final, TypeVar

from postroom.core.instant import SECOND
from postroom.core.words import find_line_fault, shown
from postroom.ports.errors import SettingProblem


E = TypeVar("E", bound=StrEnum)
D = TypeVar("D")
T = TypeVar("T")

NOWHERE: Final[Mapping[str, str]] = {}

_LEAST: Final = 1e-6  # a microsecond, or one in eleven days: what is less is as good as nothing
_HUGE: Final = 1 << 53  # whole numbers up to here are exact as floats, and no range reaches it
_TYPES: Final = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a table",
}


@dataclass(frozen=True, slots=True)
class Span:
    """Both ends are allowed, unless `is_open`: then the low end is not."""

    low: float
    high: float
    is_open: bool = False

    def __contains__(self, number: float) -> bool:
        """Whether the number lies within; NaN lies nowhere."""
        low = self.low + _LEAST if self.is_open else self.low
        return low <= number <= self.high

    @property
    def words(self) -> str:
        """As a person would say it."""
        low = "more than" if self.is_open else "at least"
        return f"{low} {self.low:g} and at most {self.high:,.12g}"


@dataclass(slots=True)
class Table:
    """One table of `file`; `key` is where it stands there, dotted."""

    file: Path
    key: str
    values: Mapping[str, object]
    problems: list[SettingProblem]
    known: list[str] = field(default_factory=list)
    faulty: set[str] = field(default_factory=set)

    def has(self, name: str) -> bool:
        """Whether the key is written there."""
        return name in self.values

    def text(self, name: str, default: str = "") -> str:
        """A line of text without control characters."""
        value = self._read(name, str)
        if value is None:
            return default
        fault = find_line_fault(value)
        if fault:
            self.wrong(name, f"{fault}.", "Write it anew, on one line.")
            return default
        return value

    def required(self, name: str, fix: str) -> str:
        """The same, of a key that must be there and not empty."""
        value = self.text(name)
        if not value and name not in self.faulty:
            self.wrong(name, "is missing.", fix)
        return value

    def path(self, name: str, default: Path) -> Path:
        """A path; one that is not absolute starts at the folder of the file."""
        written = self.text(name)
        return self.beside(written) if written else default

    def beside(self, written: str) -> Path:
        """A path as this file means it, absolute and without `..`."""
        return Path(normpath(self.file.parent.absolute() / written))

    def integer(self, name: str, default: D, span: Span) -> int | D:
        """A whole number."""
        value = self._read(name, int)
        return default if value is None or not self._is_within(name, value, span) else value

    def flag(self, name: str) -> bool:
        """True or false; false where it is not written."""
        return self._read(name, bool) or False

    def number(self, name: str, default: D, span: Span) -> float | D:
        """A number, with or without a fraction."""
        value = self._read(name, float)
        return default if value is None or not self._is_within(name, value, span) else value

    def seconds(self, name: str, default: timedelta, span: Span) -> timedelta:
        """A duration, written in seconds."""
        value = self.number(name, None, span)
        return default if value is None else timedelta(microseconds=round(value * SECOND))

    def choice(self, name: str, default: E) -> E:
        """One of the words of the default's enumeration."""
        written = self.text(name, default)
        kind = type(default)
        if written in set(kind):
            return kind(written)
        self.wrong(name, f"is '{shown(written)}'.", f"It must be {listed(kind)}.")
        return default

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self._read(name, list) or []
        texts = tuple(one for one in value if isinstance(one, str) and not find_line_fault(one))
        if len(texts) < len(value):
            self.wrong(name, "holds something that is not one line of text.", 'Write ["a", "b"].')
        return texts

    def table(self, name: str) -> "Table":
        """An inner table; empty where it is not written."""
        return Table(self.file, self._key_of(name), self._read(name, dict) or {}, self.problems)

    def each(self) -> "Iterator[tuple[str, Table]]":
        """Every key of this table, whatever it is called, with the table behind it."""
        return ((name, self.table(name)) for name in self.values)

    def array(self, name: str) -> "tuple[Table, ...]":
        """An array of tables, `[[name]]`, counted from 1."""
        rows = self._read(name, list) or []
        if not all(isinstance(row, dict) for row in rows):
            self.wrong(name, "is not an array of tables.", f"Write [[{name}]] above each.")
            return ()
        key = self._key_of(name)
        return tuple(
            Table(self.file, f"{key}[{place}]", row, self.problems)
            for place, row in enumerate(rows, start=1)
        )

    def wrong(self, name: str, wrong: str, fix: str) -> None:
        """Note a problem with a key of this table; '' = with the table itself."""
        self.faulty.add(name)
        self.problems.append(SettingProblem(str(self.file), self._key_of(name), wrong, fix))

    def close(self, elsewhere: Mapping[str, str] = NOWHERE) -> None:
        """Note every key that nobody asked for; `elsewhere` says what to do about some of them."""
        for name in self.values:
            if name in self.known:
                continue
            if name in elsewhere:
                self.wrong(name, "can not be set here.", elsewhere[name])
            else:
                self.wrong(name, "is not a setting.", self._suggest(name))

    def _suggest(self, name: str) -> str:
        near = get_close_matches(name, self.known, n=1)
        if near:
            return f"Did you mean '{near[0]}'?"
        return f"Known here: {', '.join(self.known)}."

    def _key_of(self, name: str) -> str:
        return ".".join(part for part in (self.key, shown(name)) if part)

    def _is_within(self, name: str, number: float, span: Span) -> bool:
        if number in span:
            return True
        self.wrong(name, f"is {shown(str(number))}.", f"It must be {span.words}.")
        return False

    def _read(self, name: str, kind: type[T]) -> T | None:
        self.known.append(name)
        value = self.values.get(name)
        if kind is float and type(value) is int:
            value = float(max(-_HUGE, min(value, _HUGE)))
        if type(value) is kind:
            return value
        if value is not None:
            given = _TYPES.get(type(value), "a date or time")
            self.wrong(name, f"is {given}.", f"It must be {_TYPES[kind]}.")
        return None


def listed(words: Iterable[str]) -> str:
    """`a`, `b` or `c`."""
    *head, last = [f"'{word}'" for word in words]
    return f"{', '.join(head)} or {last}" if head else last
