"""The body of a message: its MIME header lines, a blank line and the content, as a row of segments in 7 bits.

The body is made once for each job and shared by all its deliveries; the head (every other header line but Date) is
made for each delivery. Wire bytes = Date line + head + body. Every segment but the last ends in CRLF, lines are at
most 998 bytes, and nothing is dot-stuffed yet.
"""

from dataclasses import dataclass
from enum import StrEnum


class Encoding(StrEnum):
    """How a file's bytes become a segment: as base64 in CRLF lines of 76 (RFC 2045 §6.8), or as they are."""

    BASE64 = "base64"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class FileSegment:
    """A file of `size_bytes` bytes with this hex SHA-256: in the spool, or pinned at `path` where its owner keeps it."""

    sha256: str
    size_bytes: int
    encoding: Encoding
    path: str | None = None


Segment = bytes | FileSegment


@dataclass(frozen=True, slots=True)
class Body:
    """Segments in order; `size_bytes` is what they come to on the wire before dot-stuffing."""

    segments: tuple[Segment, ...]
    size_bytes: int
