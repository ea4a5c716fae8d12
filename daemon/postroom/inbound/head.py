"""A header block as fields: bounded, in linear time, and never given up because one line is wrong (RFC 5322 §2.2).

The standard library ends the header at the first line that is no field, and then loses the Message-ID behind it; so a
stray line is skipped where a well-known field follows, and is the body's first where none does. The limits are those
up to which a message counts as read whole; a longer value loses its middle, for the ends of References are what counts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from postroom.inbound.defects import Defect


HEAD_MOST: Final = 64 * 1024
FIELD_MOST: Final = 16 * 1024
FIELDS_MOST: Final = 1000
SEMICOLONS_MOST: Final = 200

_FIELD: Final = re.compile(rb"([!-9;-~]{1,200})[ \t]*:")
_END: Final = re.compile(rb"\n\r?\n")
# What may follow a stray line for it to be one: with any name, a sentence with a colon would do.
_KNOWN: Final = re.compile(
    rb"(?:received|return-path|delivered-to|envelope-to|authentication-results|arc-[a-z-]+|from|sender|to|cc|reply-to|subject|date|message-id|in-reply-to|references|mime-version"
    rb"|content-[a-z-]+|dkim-signature|auto-submitted|list-[a-z-]+|x-[a-z0-9-]+)[ \t]*:",
    re.IGNORECASE,
)
_SEMICOLONS: Final = re.compile(rb"(?:[^;]*;){%d}" % SEMICOLONS_MOST)


@dataclass(frozen=True, slots=True)
class Head:
    """Fields in their order, names in lower case, values unfolded; and what was wrong."""

    fields: tuple[tuple[str, bytes], ...]
    defects: frozenset[Defect]

    def first(self, name: str) -> bytes | None:
        """The value of the first field of this name."""
        return next(self.every(name), None)

    def every(self, name: str) -> Iterator[bytes]:
        """The values of all fields of this name."""
        return (value for one, value in self.fields if one == name)


def read_head(raw: bytes, start: int = 0, end: int | None = None) -> tuple[Head, int]:
    """The header that begins at `start`, and where its body begins, at most `end`."""
    reader = _Reader(raw, start, len(raw) if end is None else end)
    reader.run()
    fields = tuple(_finished(name, pieces, reader.defects) for name, pieces in reader.fields)
    return Head(fields, frozenset(reader.defects)), reader.at


class _Reader:
    """One pass over the lines of a header."""

    def __init__(self, raw: bytes, start: int, end: int) -> None:
        self.at = start
        self.fields: list[tuple[str, list[bytes]]] = []
        self.defects: set[Defect] = set()
        self._raw = raw
        self._start = start
        self._end = end

    def run(self) -> None:
        if self._raw.startswith((b"From ", b">From "), self.at, self._end):
            self.at = self._line_end(self.at)  # an mbox separator
        while self.at < self._end:
            if self.at - self._start > HEAD_MOST or len(self.fields) >= FIELDS_MOST:
                self._skip_rest()
                return
            after = self._line_end(self.at)
            line = self._raw[self.at : after].rstrip(b"\r\n")
            if not line:
                self.at = after
                return
            if not self._take(line, after):
                self.defects.add(Defect.HEADER_END_MISSING)
                return
            self.at = after

    def _take(self, line: bytes, after: int) -> bool:
        """Whether the line belongs to the header."""
        if line[:1] in b" \t" and self.fields:
            self.fields[-1][1].append(line)
            return True
        found = _FIELD.match(line)
        if found is not None:
            name = found[1].decode("ascii").lower()
            self.fields.append((name, [line[found.end() :]]))
            return True
        if _KNOWN.match(self._raw, after, self._end):
            self.defects.add(Defect.HEADER_LINE_DAMAGED)
            return True
        return False

    def _skip_rest(self) -> None:
        self.defects.add(Defect.HEADER_CUT)
        found = _END.search(self._raw, self.at - 1, self._end)
        self.at = self._end if found is None else found.end()

    def _line_end(self, at: int) -> int:
        found = self._raw.find(b"\n", at, self._end)
        # A line longer than all that is read would be copied for nothing.
        return self._end if found < 0 else found + 1


def _finished(name: str, pieces: list[bytes], defects: set[Defect]) -> tuple[str, bytes]:
    value = b"".join(pieces).strip()
    if len(value) > FIELD_MOST:
        defects.add(Defect.FIELD_CUT)
        value = value[: FIELD_MOST // 2] + b" " + value[-FIELD_MOST // 2 :]
    if name.startswith("content-") and value.count(b";") > SEMICOLONS_MOST:
        defects.add(Defect.FIELD_CUT)
        found = _SEMICOLONS.match(value)
        value = value if found is None else found[0]
    return name, value
