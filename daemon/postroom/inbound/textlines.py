"""A text as lines to look at: where each begins, what it says without its edges, whether another's words are marked in it.

Direction marks and blanks at the edges are no part of what a line says: programs put them there. A header behind an
answer, on its line, is a line of its own. What has three marks and a blank is a program's prompt where nothing is marked
otherwise, and a line between arrows is no quotation. Known limits: of marks only `>` is known, and `|` below an address.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final


_GAP_MOST: Final = 3  # empty lines between what belongs together
_INVISIBLE: Final = re.compile("[\u00a0\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_INDENT_MOST: Final = 3
_SHARED_MOST: Final = 500
# An answer with the whole of "On Mon, 3 Jan 2022 at 10:00, Bob wrote:" behind it.
_SHARED: Final = re.compile(
    r"[^\s\-][ \-]{1,8}((?:On|Am|Le|El|Em|Il|Op|Den) [^:]{0,80}(?<!\d)\d{4}(?!\d)[^:]{0,30}\d[:.h]\d\d.{0,300}:)\s*$"
)
# The last line of "On … <⏎address⏎> wrote:" is no quotation, and neither is what mbox files do to "From ".
_CLOSING: Final = re.compile(r"^>[^<>]{0,40}[:\uff1a]$")
_ESCAPED: Final = ">From "
_ARROW: Final = "<"
# The prompt of a program is no mark, where nothing is marked once or twice.
_PROMPTED: Final = re.compile(r"^>>>(?: [^\s>]|$)", re.MULTILINE)
_MARKED: Final = re.compile(r"^[ \t]{0,3}(?!>>>(?: [^\s>]|$))>", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Lines:
    """`starts` has one more than there are lines: the end of the text."""

    text: str
    starts: tuple[int, ...]
    bare: tuple[str, ...]
    is_quoted: tuple[bool, ...]

    def said_above(self, at: int, gap: int = _GAP_MOST) -> int | None:
        """The nearest line above that says anything; None when it is not near."""
        for line in range(at - 1, max(at - 2 - gap, -1), -1):
            if self.bare[line]:
                return line
        return None

    def said_from(self, at: int) -> int | None:
        """The nearest line that says anything, from this one on; None when it is not near."""
        for line in range(at, min(at + 1 + _GAP_MOST, len(self.bare))):
            if self.bare[line]:
                return line
        return None


def read_lines(text: str) -> Lines:
    """The text as its lines."""
    starts = []
    bare = []
    at = 0
    for line in _parted(text):
        starts.append(at)
        at += len(line)
        bare.append(line.strip() if line.isascii() else _INVISIBLE.sub(" ", line).strip())
    is_told = (
        ">>>" not in text or _PROMPTED.search(text) is None or _MARKED.search(text) is not None
    )
    marked = [
        is_told and line.startswith(">") and ">" in text[start : start + _INDENT_MOST + 2]
        for line, start in zip(bare, starts, strict=True)
    ]
    if "\n|" in text:
        _mark_bars(bare, marked)
    is_quoted = tuple(
        is_marked and not _is_ours(bare, marked, line) for line, is_marked in enumerate(marked)
    )
    return Lines(text, (*starts, len(text)), tuple(bare), is_quoted)


def _parted(text: str) -> Sequence[str]:
    """The lines with their ends; a header above marked lines that has no line of its own gets one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    if "\n>" not in text:
        return lines
    pieces = []
    for line, below in pairwise([*lines, ""]):
        is_header = below.startswith(">") and len(line) <= _SHARED_MOST and line[0] != ">"
        found = _SHARED.search(line) if is_header and line.rstrip().endswith(":") else None
        pieces += [line] if found is None else [line[: found.start(1)], line[found.start(1) :]]
    return pieces


def _mark_bars(bare: list[str], marked: list[bool]) -> None:
    """A bar is a mark below an address, and below another such mark; else it may be a table."""
    is_below = False
    for at, line in enumerate(bare):
        if line.startswith("|") and line.count("|") == 1:
            marked[at] = is_below
        elif line:
            is_below = "@" in line and line.endswith((">", ":"))


def _is_ours(bare: list[str], marked: list[bool], line: int) -> bool:
    """Whether the mark is none, as the lines around it show."""
    above = next((one for one in range(line - 1, max(line - 4, -1), -1) if bare[one]), None)
    is_alone = above is None or not marked[above]
    if bare[line].startswith(_ESCAPED) or bare[line].endswith(_ARROW):
        return is_alone and not any(marked[line + 1 : line + 2])
    if not is_alone or _CLOSING.match(bare[line]) is None:
        return False
    return any("<" in one for one in bare[max(line - 3, 0) : line])
