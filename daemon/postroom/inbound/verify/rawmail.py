"""A message as signatures see it: its fields byte for byte, and where its body begins. Bounded, in linear time.

The body begins where everybody else who reads the message sees it begin (inbound.head): two opinions on that would let a
signature cover something else than what is shown. A field is kept with its name, its folds and its CRLF line ends; lines
that belong to no field are left out, as they are there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postroom.inbound.head import read_head


_HEAD_READ: Final = 256 * 1024  # the listener takes no longer header
_PIECE: Final = 64 * 1024
_NAME: Final = re.compile(rb"([!-9;-~]{1,200})([ \t]*):")


@dataclass(frozen=True, slots=True)
class RawField:
    """`name` in lower case; `value` unfolded; `line` all of it with CRLF; `is_plain`: no space before its colon."""

    name: str
    value: bytes
    line: bytes
    is_plain: bool


@dataclass(frozen=True, slots=True)
class RawMail:
    """The fields in their order, and the body's place in `raw`."""

    fields: tuple[RawField, ...]
    raw: bytes | Path
    body_at: int

    def every(self, name: str) -> tuple[RawField, ...]:
        """All fields of this name, in their order."""
        return tuple(one for one in self.fields if one.name == name)

    def body(self) -> Iterator[bytes]:
        """The body in pieces."""
        if isinstance(self.raw, bytes):
            for at in range(self.body_at, len(self.raw), _PIECE):
                yield self.raw[at : at + _PIECE]
            return
        with self.raw.open("rb") as file:
            file.seek(self.body_at)
            while piece := file.read(_PIECE):
                yield piece


def read_mail(raw: bytes | Path) -> RawMail:
    """The message; reads the file's beginning. Raises OSError."""
    if isinstance(raw, bytes):
        beginning = raw[:_HEAD_READ]
    else:
        with raw.open("rb") as file:
            beginning = file.read(_HEAD_READ)
    _, body_at = read_head(beginning)
    return RawMail(tuple(_fields(beginning[:body_at])), raw, body_at)


def _fields(head: bytes) -> Iterator[RawField]:
    lines: list[bytes] = []
    for line in head.replace(b"\r\n", b"\n").split(b"\n"):
        if line[:1] in {b" ", b"\t"}:
            if lines:
                lines.append(line)
            continue
        if _NAME.match(line):
            if lines:
                yield _field(lines)
            lines = [line]
    if lines:
        yield _field(lines)


def _field(lines: list[bytes]) -> RawField:
    found = _NAME.match(lines[0])
    assert found is not None  # noqa: S101 - only such lines begin a field
    return RawField(
        name=found[1].decode("ascii").lower(),
        value=(lines[0][found.end() :] + b"".join(lines[1:])).strip(),
        line=b"\r\n".join((*lines, b"")),
        is_plain=not found[2],
    )
