"""The tree of a message (RFC 2046 §5.1) as its leaves, in one pass over the raw bytes, without recursion.

Delimiters are looked for with one expression made of the open boundaries, so what no boundary matches costs nothing,
and the limits count while the parts are read: over one of them the rest stays unread, what came before stays. (The
standard library's reader follows nesting and parts without limit, and can only be kept from it by reading everything
twice.) A message/rfc822 part is a leaf: nobody descends into it.
"""

import re
from dataclasses import dataclass
from typing import Final

from postroom.inbound.defects import Defect
from postroom.inbound.head import Head, read_head
from postroom.inbound.mimefields import Typed, read_media_type, read_typed


PARTS_MOST: Final = 200
DEPTH_MOST: Final = 20
_BOUNDARY_MOST: Final = 200

_ONCE: Final = ("content-type", "content-disposition", "content-transfer-encoding")


@dataclass(frozen=True, slots=True)
class Part:
    """A leaf: its header, its type, and where its content lies.

    `choice` tells apart the multipart/alternatives that leaves belong to; None = it is in none.
    """

    head: Head
    type: Typed
    disposition: Typed
    start: int
    end: int
    choice: int | None


@dataclass(frozen=True, slots=True)
class Parts:
    """The leaves of a message in their order, the message's own header, and where its body begins."""

    head: Head
    type: Typed
    body: int
    leaves: tuple[Part, ...]
    defects: frozenset[Defect]


@dataclass(slots=True)
class _Open:
    """A multipart that is being read."""

    boundary: bytes
    head: Head
    body: int
    choice: int | None
    has_parts: bool = False


def read_parts(raw: bytes) -> Parts:
    """All that is there, as far as the limits let."""
    walk = _Walk(raw)
    head, body = read_head(raw)
    walk.defects |= head.defects
    walk.enter(head, body, len(raw), None)
    walk.run()
    kind = read_media_type(head.first("content-type"), set())
    leaves = sorted(walk.leaves, key=lambda one: one.start)
    return Parts(head, kind, body, tuple(leaves), frozenset(walk.defects))


class _Walk:
    """One pass over the delimiters."""

    def __init__(self, raw: bytes) -> None:
        self.leaves: list[Part] = []
        self.defects: set[Defect] = set()
        self._raw = raw
        self._open: list[_Open] = []
        self._count = 0
        self._at = 0

    def run(self) -> None:
        """Read the parts of the multiparts that are open."""
        while self._open:
            found = self._next(self._at)
            if found is None:
                self.defects.add(Defect.BOUNDARY_UNCLOSED)
                self._close_to(0, len(self._raw))
                return
            level = next(
                at for at in reversed(range(len(self._open))) if self._open[at].boundary == found[1]
            )
            self._close_to(level + 1, found.start())
            self._at = found.end()
            if found[2]:
                self._close_to(level, found.start())
            elif not self._read_part(self._open[level]):
                return

    def enter(self, head: Head, body: int, end: int, choice: int | None) -> None:
        """Take a part up: open it if it is a multipart, else it is a leaf."""
        self._count += 1
        for name in _ONCE:
            if sum(1 for _ in head.every(name)) > 1:
                self.defects.add(Defect.FIELD_REPEATED)
        kind = read_media_type(head.first("content-type"), self.defects)
        boundary = _boundary(kind)
        if not kind.value.startswith("multipart/"):
            self._leaf(head, kind, (body, end), choice)
        elif boundary is None:
            self.defects.add(Defect.BOUNDARY_MISSING)
            self._leaf(head, Typed("text/plain", {}), (body, end), choice)
        elif len(self._open) >= DEPTH_MOST:
            self.defects.add(Defect.DEPTH_EXCEEDED)
        else:
            is_choice = kind.value == "multipart/alternative" and choice is None
            mine = self._count if is_choice else choice
            self._open.append(_Open(boundary, head, body, mine))
            self._at = max(body - 1, 0)

    def _read_part(self, parent: _Open) -> bool:
        """Whether there is room for the part that begins here."""
        if self._count > PARTS_MOST:
            self.defects.add(Defect.PARTS_EXCEEDED)
            return False
        parent.has_parts = True
        start = min(self._raw.find(b"\n", self._at) + 1 or len(self._raw), len(self._raw))
        following = self._next(self._at)
        end = self._content_end(following.start()) if following else len(self._raw)
        head, body = read_head(self._raw, start, max(start, end))
        self.defects |= head.defects
        self.enter(head, body, max(body, end), parent.choice)
        return True

    def _close_to(self, level: int, end: int) -> None:
        """Close the multiparts from this level on; one without parts was text after all, and none is lost."""
        for one in reversed(self._open[level:]):
            repeated = list(one.head.every("content-type"))[1:]
            if not one.has_parts:
                self.defects.add(Defect.BOUNDARY_MISSING)
                self._leaf(
                    one.head,
                    Typed("text/plain", {}),
                    (one.body, self._content_end(end)),
                    one.choice,
                )
            elif repeated:
                self._keep_preamble(one, repeated[0])
        del self._open[level:]

    def _keep_preamble(self, one: _Open, kind: bytes) -> None:
        """A header that ran into that of its first part, whose delimiter is missing: what follows it is that part."""
        found = re.compile(b"\n--" + re.escape(one.boundary)).search(
            self._raw, max(one.body - 1, 0)
        )
        end = one.body if found is None else self._content_end(found.start())
        if self._raw[one.body : end].strip():
            self._leaf(one.head, read_media_type(kind, self.defects), (one.body, end), one.choice)

    def _leaf(self, head: Head, kind: Typed, span: tuple[int, int], choice: int | None) -> None:
        disposition = read_typed(head.first("content-disposition"), self.defects)
        self.leaves.append(Part(head, kind, disposition, span[0], max(span), choice))

    def _next(self, at: int) -> re.Match[bytes] | None:
        """The next delimiter of an open multipart, from the line end before it to the one behind it."""
        boundaries = b"|".join(re.escape(one.boundary) for one in reversed(self._open))
        pattern = re.compile(rb"\n--(" + boundaries + rb")(--)?[ \t]*(?=\r?\n|\r?\Z)")
        return pattern.search(self._raw, at)

    def _content_end(self, newline: int) -> int:
        """The line end before a delimiter belongs to the delimiter."""
        return newline - 1 if self._raw[newline - 1 : newline] == b"\r" else newline


def _boundary(kind: Typed) -> bytes | None:
    value = kind.parameters.get("boundary", "").rstrip()
    octets = value.encode(errors="replace")
    return octets if octets and len(octets) <= _BOUNDARY_MOST else None
