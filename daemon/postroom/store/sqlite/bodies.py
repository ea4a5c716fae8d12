"""How a body lies in its row: `content` has all its byte segments end to end, `segments` says where files come between.

`segments` is NULL for a body of bytes alone; else a JSON list in order: a number of bytes of `content`, or a file.
"""

from dataclasses import dataclass
from typing import Final

import msgspec

from postroom.core.body import Body, FileSegment, Segment


_Stored = int | FileSegment
_DECODER: Final = msgspec.json.Decoder(list[_Stored])


@dataclass(frozen=True, slots=True)
class StoredBody:
    """The columns of a body."""

    content: bytes
    segments: str | None
    size_bytes: int


def pack(body: Body) -> StoredBody:
    """The columns for a body."""
    content = b"".join(part for part in body.segments if isinstance(part, bytes))
    if all(isinstance(part, bytes) for part in body.segments):
        return StoredBody(content, None, body.size_bytes)
    stored = [len(part) if isinstance(part, bytes) else part for part in body.segments]
    return StoredBody(content, msgspec.json.encode(stored).decode(), body.size_bytes)


def unpack(stored: StoredBody) -> Body:
    """The body in these columns. Raises: msgspec.DecodeError where they are damaged."""
    if stored.segments is None:
        return Body((stored.content,), stored.size_bytes)
    segments: list[Segment] = []
    at = 0
    for part in _DECODER.decode(stored.segments):
        if isinstance(part, int):
            segments.append(stored.content[at : at + part])
            at += part
        else:
            segments.append(part)
    return Body(tuple(segments), stored.size_bytes)


def spool_names(segments: str | None) -> frozenset[str]:
    """The spool files that a body names: each counts once in `refs`, however often it is attached."""
    if segments is None:
        return frozenset()
    try:
        parts = _DECODER.decode(segments)
    except msgspec.DecodeError:  # what it named stays: nobody can tell
        return frozenset()
    return frozenset(
        part.sha256 for part in parts if isinstance(part, FileSegment) and part.path is None
    )
