"""Lists of addresses in a header field or on the command line (RFC 5322 §3.4): each entry is understood whole, or refused.

Names are decoded after the structure is read, so that no encoded word can make a comma or an angle bracket. What an
address may be, the daemon judges; here it is one word, with or without a domain.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from postroom.cli.exits import Exit
from postroom.cli.sendmail.unfit import Unfit, harmless
from postroom.cli.sendmail.words import decode_words


_PIECE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[^"\\(),:;<>]+|\\.|.', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_SPEC: Final = re.compile(r'(?:[^\s"(),:;<>@\\]+|"[^"]*")(?:@[^\s"(),:;<>@\\]+)?')
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Person:
    """Who is named: an address, which for people of this machine has no domain, and a name or none."""

    address: str
    name: str = ""

    @property
    def key(self) -> str:
        """What makes two of them the same."""
        return self.address.casefold()


@dataclass(slots=True)
class _Entry:
    """What was read since the last comma; `angle` None = no address in brackets so far."""

    outside: list[str] = field(default_factory=list)
    angle: list[str] | None = None
    comment: list[str] = field(default_factory=list)
    depth: int = 0
    is_open: bool = False
    is_unclear: bool = False  # something stands behind the brackets

    def add(self, piece: str) -> None:
        """Take one piece where it belongs."""
        if self.depth or piece == "(":
            self.depth += (piece == "(") - (piece == ")")
            self.comment += [] if piece in "()" else [piece]
        elif self.is_open and piece == ">":
            self.is_open = False
        elif self.is_open and self.angle is not None:
            self.angle.append(piece)
        elif piece == "<" and self.angle is None:
            self.angle = []
            self.is_open = True
        else:
            self.is_unclear = self.is_unclear or (self.angle is not None and not piece.isspace())
            self.outside.append(piece)


def read_people(text: str) -> list[Person]:
    """Everybody in the list; groups give their members.

    Raises: Unfit for an entry that is not one address.
    """
    return [one for entry in _entries(text) if (one := _person(entry, text)) is not None]


def _entries(text: str) -> Iterator[_Entry]:
    entry = _Entry()
    for piece in _PIECE.findall(text):
        if entry.depth or entry.is_open or piece not in {",", ";", ":"}:
            entry.add(piece)
            continue
        if piece != ":":  # what stands before a colon is the name of a group
            yield entry
        entry = _Entry()
    if entry.depth or entry.is_open:
        raise _unclear(text)
    yield entry


def _person(entry: _Entry, text: str) -> Person | None:
    """The person of an entry; None for an empty one."""
    if entry.angle is None:
        spec, name = "".join(entry.outside).strip(), entry.comment
        if not spec:
            return None
    else:
        inner = "".join(entry.angle).strip()
        # a route before the address (RFC 5322 §4.4) says nothing any more
        spec = inner.rpartition(":")[2] if inner.startswith("@") else inner
        name = entry.outside if "".join(entry.outside).strip() else entry.comment
    if entry.is_unclear or _SPEC.fullmatch(spec) is None:
        raise _unclear(text)
    return Person(spec, " ".join(decode_words("".join(map(_unquoted, name))).split()))


def _unquoted(piece: str) -> str:
    bare = piece[1:-1] if len(piece) > 1 and piece.startswith('"') else piece
    return _ESCAPED.sub(r"\1", bare)


def _unclear(text: str) -> Unfit:
    return Unfit(Exit.BAD_DATA, f"This is no list of addresses: {harmless(text[:_SHOWN])}")
