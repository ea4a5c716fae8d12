"""Address fields (RFC 5322 §3.4) as people: tolerant, bounded, without recursion.

What is not exactly one address has none: a parser that guesses can be led to another person (HAZARDS A1). Names are
decoded after the structure is read, so that no encoded word can make a comma or an angle bracket.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from postroom.core.inmail import Person
from postroom.inbound.clean import clean_line, clean_token
from postroom.inbound.defects import Defect
from postroom.inbound.encodedwords import decode_words, raw_text


PEOPLE_MOST: Final = 500
NAME_MOST: Final = 256
ADDRESS_MOST: Final = 320

_PIECE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\\.|[(),:;<>]|[^"\\(),:;<>]+|["\\]', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_SPEC: Final = re.compile(r'(?:[^\s"(),:;<>@\\]+|"(?:[^"\\\s]|\\.)*")@[^\s"(),:;<>@\\]+')


def read_people(values: Iterable[bytes], defects: set[Defect]) -> tuple[Person, ...]:
    """The people of fields of one name, at most PEOPLE_MOST; who has neither name nor address is left out."""
    people: list[Person] = []
    for value in values:
        people += _List(raw_text(value, defects), defects).run()
        if len(people) > PEOPLE_MOST:
            defects.add(Defect.ADDRESSES_DROPPED)
            break
    return tuple(people[:PEOPLE_MOST])


def read_addresses(values: Iterable[bytes], defects: set[Defect]) -> tuple[str, ...]:
    """The addresses of such fields."""
    return tuple(one.address for one in read_people(values, defects) if one.address)


@dataclass(slots=True)
class _Entry:
    """One entry of a list, as far as it is read."""

    phrase: list[str] = field(default_factory=list)
    angle: list[str] | None = None
    comment: list[str] = field(default_factory=list)
    is_open: bool = False


class _List:
    """One pass over the pieces of a field."""

    def __init__(self, text: str, defects: set[Defect]) -> None:
        self._text = text
        self._defects = defects
        self._people: list[Person] = []
        self._entry = _Entry()
        self._depth = 0

    def run(self) -> list[Person]:
        for piece in _PIECE.findall(self._text):
            if len(self._people) > PEOPLE_MOST:
                break
            if self._depth or piece == "(":
                self._comment(piece)
            elif self._entry.is_open:
                self._in_angle(piece)
            else:
                self._outside(piece)
        self._finish()
        return self._people

    def _comment(self, piece: str) -> None:
        self._depth += (piece == "(") - (piece == ")")
        if piece not in "()":
            self._entry.comment.append(piece)

    def _in_angle(self, piece: str) -> None:
        if piece == ">":
            self._entry.is_open = False
        elif self._entry.angle is not None:
            self._entry.angle.append(piece)

    def _outside(self, piece: str) -> None:
        match piece:
            case "<" if self._entry.angle is None:
                self._entry.angle = []
                self._entry.is_open = True
            case "," | ";":
                self._finish()
            case ":":
                self._entry = _Entry()  # a group's name
            case _:
                self._entry.phrase.append(piece)

    def _finish(self) -> None:
        entry, self._entry = self._entry, _Entry()
        phrase = "".join(entry.phrase).strip()
        if entry.angle is None:
            address = _address(phrase)
            name = "" if address else self._name(entry.phrase)
            name = name or self._name(entry.comment)
        else:
            inner = "".join(entry.angle).strip()
            route, colon, rest = inner.rpartition(":")
            address = _address(rest if colon and route.startswith("@") else inner)
            name = self._name(entry.phrase) or self._name(entry.comment)
        if address or name:
            self._people.append(Person(name, address))

    def _name(self, pieces: list[str]) -> str:
        plain = "".join(_unquoted(one) for one in pieces)
        return clean_line(" ".join(decode_words(plain, self._defects).split()), NAME_MOST)


def _unquoted(piece: str) -> str:
    is_quoted = len(piece) > 1 and piece.startswith('"')
    return _ESCAPED.sub(r"\1", piece[1:-1]) if is_quoted else piece


def _address(text: str) -> str:
    """The text if it is one address, its domain in lower case; else ''."""
    if (
        len(text) > ADDRESS_MOST
        or not _SPEC.fullmatch(text)
        or clean_token(text, ADDRESS_MOST) != text
    ):
        return ""
    local, _, domain = text.rpartition("@")
    return f"{local}@{domain.lower()}"
