"""The content of a message out of what comes over the wire after 354: until the final dot, without transparency.

Only CR LF . CR LF ends it (RFC 5321 §4.5.2): what others take for an end is content (SMTP smuggling, HAZARDS S1). A line
end that is none (a lone CR or LF) is made one and told as a defect, so that such bytes never go out again. Pure; memory
is bounded by what is fed and one line. It looks at whole blocks: one in which no line begins with a dot has no end and
nothing to undo, and one pass tells which kinds of line ends a block has.
"""

import re
from enum import Enum, auto
from io import IncrementalNewlineDecoder
from typing import Final


BARE_NEWLINE: Final = "bare_newline"

_END: Final = b"\r\n.\r\n"
_BREAK: Final = b"\r\n"
_DOTTED: Final = b"\r\n."
# Where lines are many, twice as fast as `find`.
_FIND_DOTTED: Final = re.compile(re.escape(_DOTTED))
_ANY_BREAK: Final = re.compile(rb"\r\n|\r|\n")
_RECEIVED: Final = re.compile(rb"\r\nreceived[ \t]*:", re.IGNORECASE)
_HEADER_END: Final = re.compile(rb"\r\n(?=\r\n|\Z)")


class ContentFault(Enum):
    """Why a message can not be taken, whatever follows."""

    LINE_LONG = auto()
    TOO_BIG = auto()
    LOOP = auto()


class ContentReader:
    """Takes the bytes as they come and gives the content.

    `rest` is what came behind the end. With a `fault` it gives nothing more, but still finds the end.
    """

    def __init__(self, most_bytes: int, most_line: int, most_hops: int) -> None:
        self.rest = b""
        self.has_bare_newline = False
        self.size_bytes = 0
        self.fault: ContentFault | None = None
        self._most_bytes = most_bytes
        self._most_line = most_line
        self._most_hops = most_hops
        self._hops = 0
        self._is_header = True
        # What is held always begins with the line end before it, true or not; that of the first line is not content.
        self._held = _BREAK
        self._is_first = True
        self._has_ended = False

    def has_ended(self) -> bool:
        """Whether the final dot came."""
        return self._has_ended

    def feed(self, arrived: bytes) -> bytes:
        """What of the content is certain now: whole lines, the end of the last one still to come."""
        held = self._held + arrived
        dotted = _find_dotted(held)
        end = held.find(_END, dotted)
        if end >= 0:
            self._has_ended = True
            self._held, self.rest = b"", held[end + len(_END) :]
            return self._give(held[:end], dotted, _BREAK)
        cut = max(held.rfind(_BREAK), 0)
        if len(held) - cut > self._most_line:
            cut = max(
                cut, _last_lone(held, cut + len(_BREAK))
            )  # whole mails come with nothing else
        lines, self._held = (held[:cut], held[cut:]) if cut > 0 else (b"", held)
        longest = len(_BREAK) + self._most_line + self._held.endswith(b"\r")
        if len(self._held) > longest or self.fault is not None:
            self._fail(ContentFault.LINE_LONG)
            self._held = self._held[1 - len(_END) :]
        return self._give(lines, dotted, b"")

    def _give(self, lines: bytes, dotted: int, last: bytes) -> bytes:
        """These lines, each with the line end before it, as content; before `dotted` none begins with a dot."""
        if self.fault is not None or self._has_long_line(lines):
            self._fail(ContentFault.LINE_LONG)
            return b""
        if dotted < len(lines):
            lines = lines.replace(_DOTTED, _BREAK)
        lines = self._normal(lines)
        self._count_hops(lines)
        content = lines + last
        if self._is_first and content:
            content = content[len(_BREAK) :]
            self._is_first = False
        self.size_bytes += len(content)
        if self.size_bytes > self._most_bytes:
            self._fail(ContentFault.TOO_BIG)
            return b""
        return content

    def _has_long_line(self, lines: bytes) -> bool:
        """Whether so many bytes stand anywhere without a line end of any kind; looks only at the last one in reach."""
        at = 0
        while len(lines) - at > self._most_line:
            reach = at + self._most_line + 1
            found = max(lines.rfind(b"\n", at, reach), lines.rfind(b"\r", at, reach))
            if found < 0:
                return True
            at = found + 1
        return False

    def _normal(self, lines: bytes) -> bytes:
        if _has_only_true_breaks(lines):
            return lines
        self.has_bare_newline = True
        return _ANY_BREAK.sub(_BREAK, lines)

    def _count_hops(self, lines: bytes) -> None:
        if not self._is_header or not lines:
            return
        end = _HEADER_END.search(lines)
        self._is_header = end is None
        self._hops += len(_RECEIVED.findall(lines, 0, end.start() if end else len(lines)))
        if self._hops > self._most_hops:
            self._fail(ContentFault.LOOP)

    def _fail(self, fault: ContentFault) -> None:
        self.fault = self.fault or fault


def _find_dotted(held: bytes) -> int:
    """Where the first line that begins with a dot has the line end before it; its length where there is none."""
    found = _FIND_DOTTED.search(held) if b"." in held else None  # base64 has no dots at all
    return len(held) if found is None else found.start()


def _has_only_true_breaks(lines: bytes) -> bool:
    seen = IncrementalNewlineDecoder(None, translate=False)
    seen.decode(lines.decode("latin-1"), final=True)
    return seen.newlines in {None, "\r\n"}


def _last_lone(held: bytes, begin: int) -> int:
    """The last line end from there on that is certain to be none; a CR at the end may become a true one."""
    return max(held.rfind(b"\n", begin), held.rfind(b"\r", begin, -1))
