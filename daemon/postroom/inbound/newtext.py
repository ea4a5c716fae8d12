"""What was written now: a text without the quotations, forwarded mail, warnings and signatures around it.

The text is gone through line by line, once. Lines with `>` are taken out where they stand, with the header above them,
so that answers between them stay together. What has no such marks is cut from the first header, block or drawn line
on that has something of the writer's above it. Nothing is ever lost (`text` and the `removed` ranges are what came),
and where next to nothing would remain, all of it is new. Known limits: a quotation without any mark or header stays,
and an answer below one that is not marked goes with it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from postroom.core.inmail import Removed, RemovedWhy, TextConfidence
from postroom.inbound.edges import banner_end, device_end, is_device_line, signature_start
from postroom.inbound.headerblocks import (
    find_block,
    find_label,
    has_delimiter,
    is_delimiter,
    is_forwarded,
    is_original,
    is_ours,
    labels_end,
    looks_like_block,
)
from postroom.inbound.headerlines import find_header_line, is_introduced
from postroom.inbound.textlines import Lines, read_lines


_HITS_MOST: Final = 2000  # a text with more lines that could be headers is made to cost time
_DEVICE_LINES: Final = 40
_DEVICE_GAP: Final = 8  # empty lines below a telephone's own
_BELOW_MOST: Final = 4  # lines below "Original Message" in which a header is looked for
_LEAST: Final = 0.05  # of a text, below which a doubtful cut is none
# A letter, or what is an answer by itself.
_SAID: Final = re.compile("\\w|[?!]|[\u2190-\u2bff\U0001f000-\U0001faff]")


@dataclass(frozen=True, slots=True)
class NewText:
    """What is new, and the ranges that are not: in order, apart from each other."""

    text: str
    removed: tuple[Removed, ...]
    confidence: TextConfidence
    is_forward: bool


@dataclass(frozen=True, slots=True)
class _Mark:
    """Another's words begin below these lines (`end` not included)."""

    start: int
    end: int
    why: RemovedWhy
    is_proof: bool = True


@dataclass(slots=True)
class _Reading:
    """What is known so far.

    `fates` are what becomes of the lines, None = the writer's own; `marked` and `headed` what marked lines and what
    stands below a header block are.
    """

    lines: Lines
    fates: list[RemovedWhy | None]
    marked: RemovedWhy
    headed: RemovedWhy
    has_delimiter: bool
    first_own: int | None = None
    hits: int = 0
    is_forward: bool = False
    is_doubtful: bool = False
    is_cut_weakly: bool = False


def find_new(
    text: str, *, is_page: bool = False, is_forwarding: bool = False, is_answer: bool = True
) -> NewText:
    """What the writer of the text wrote.

    Of a page (`is_page`: the text was HTML), what is forwarded stays. `is_forwarding`: the subject says that something
    is forwarded, so what stands below is no answer's quotation. `is_answer`: subject or header say that it answers
    something; in a page that does not, a header block is a forward's.
    """
    lines = read_lines(text)
    reading = _Reading(
        lines=lines,
        fates=[None] * len(lines.bare),
        marked=RemovedWhy.FORWARD if is_forwarding else RemovedWhy.QUOTE,
        headed=RemovedWhy.FORWARD
        if is_forwarding or (is_page and not is_answer)
        else RemovedWhy.QUOTE,
        has_delimiter=has_delimiter(text.casefold()),
    )
    above = banner_end(lines)
    reading.fates[:above] = [RemovedWhy.BANNER] * above
    begin = device_end(lines, above)
    reading.fates[above:begin] = [RemovedWhy.SIGNATURE] * (begin - above)
    end = _go_through(reading, begin, keeps_forward=is_page)
    _take_signatures(reading, end)
    return _finished(reading)


def _go_through(reading: _Reading, at: int, *, keeps_forward: bool) -> int:
    """Decide on every line; the answer is the line behind the last one that may be below a signature."""
    lines = reading.lines
    while at < len(lines.bare):
        mark = _mark(reading, at) if lines.bare[at] else None
        if mark is None:
            if lines.bare[at] and reading.first_own is None:
                reading.first_own = at
            at += 1
            continue
        has_own = reading.first_own is not None and reading.first_own < mark.start
        if mark.why is RemovedWhy.FORWARD:
            reading.is_forward = True
            if keeps_forward or not has_own:
                reading.is_doubtful |= not has_own
                return mark.start
        following = lines.said_from(mark.end)
        if following is not None and lines.is_quoted[following]:
            at = _take_run(reading, mark, following)
        elif has_own:
            return _cut(reading, mark)
        else:
            reading.is_doubtful = True
            at = max(mark.end, at + 1)
    return len(lines.bare)


def _take_run(reading: _Reading, mark: _Mark, at: int) -> int:
    """Marked lines, and nothing but empty ones between them: taken out, with what introduces them.

    What the writer begins with and nothing introduces stays: it may be an answer's beginning.
    """
    lines = reading.lines
    end = at
    while at < len(lines.bare) and (lines.is_quoted[at] or not lines.bare[at]):
        end = at + 1 if lines.bare[at] else end
        at += 1
    is_begun_with = reading.first_own is None and lines.is_quoted[mark.start]
    is_followed = _SAID.search(lines.text, lines.starts[end]) is not None
    if is_begun_with and is_followed and not is_introduced(lines, mark.start):
        reading.is_doubtful = True
        reading.first_own = mark.start
        return end
    reading.fates[mark.start : end] = [mark.why] * (end - mark.start)
    if reading.first_own is not None and reading.first_own >= mark.start:
        reading.first_own = None
    return end


def _cut(reading: _Reading, mark: _Mark) -> int:
    """From here on everything is another's; whether answers may stand below is told by marked lines there."""
    lines = reading.lines
    reading.fates[mark.start :] = [mark.why] * (len(lines.bare) - mark.start)
    below = lines.is_quoted[mark.end :]
    has_run_inside = True in below and mark.why is RemovedWhy.QUOTE
    if has_run_inside and any(lines.bare[mark.end + below.index(True) :]):
        last = len(below) - below[::-1].index(True)
        reading.is_doubtful |= any(lines.bare[mark.end + last :])
    reading.is_cut_weakly = not mark.is_proof
    return mark.start


def _mark(reading: _Reading, at: int) -> _Mark | None:
    """What begins or ends in this line and has another's words below it."""
    lines = reading.lines
    bare = lines.bare[at]
    if lines.is_quoted[at]:
        is_begun = at == 0 or not lines.is_quoted[at - 1]
        is_passed_on = is_begun and is_forwarded(bare.lstrip("> ") or bare)
        return _Mark(at, at, RemovedWhy.FORWARD if is_passed_on else reading.marked)
    if reading.hits >= _HITS_MOST:
        return None
    is_passed_on = is_forwarded(bare)
    if is_passed_on or is_original(bare):
        reading.hits += _BELOW_MOST
        why = RemovedWhy.FORWARD if is_passed_on else reading.headed
        return _Mark(at, _end_below(lines, at), why)
    if (reading.has_delimiter and is_delimiter(bare)) or is_ours(bare):
        return _Mark(at, at + 1, RemovedWhy.QUOTE)
    if find_label(bare) is not None:
        reading.hits += 1
        block = find_block(lines, at)
        if block is not None:
            return _Mark(block.start, block.end, reading.headed, block.is_proof)
        reading.is_doubtful |= looks_like_block(lines, at)
    return _header(reading, at)


def _header(reading: _Reading, at: int) -> _Mark | None:
    lines = reading.lines
    following = lines.said_from(at + 1)
    is_marked = following is not None and lines.is_quoted[following]
    is_ended = lines.bare[at].endswith((":", "\uff1a"))
    reading.hits += is_marked or is_ended
    above = lines.said_above(at, _DEVICE_GAP) if is_ended else None
    is_below = above is not None and is_device_line(lines.bare[above])  # nobody writes below it
    header = find_header_line(lines, at, is_marked=is_marked or is_below)
    if header is None:
        return None
    if not (is_marked or is_below or header.is_proof):
        reading.is_doubtful = True
        return None
    return _Mark(header.start, at + 1, RemovedWhy.QUOTE, is_below or header.is_proof)


def _end_below(lines: Lines, at: int) -> int:
    """The line behind the header that stands below a line like "Original Message"."""
    below = lines.said_from(at + 1)
    if below is None:
        return at + 1
    block = find_block(lines, below)
    if block is not None:
        return block.end
    for line in range(below, min(below + _BELOW_MOST, len(lines.bare))):
        header = None if lines.is_quoted[line] else find_header_line(lines, line, is_marked=True)
        if header is not None:
            return line + 1
    end = labels_end(lines, below)
    return end if end > below else at + 1


def _take_signatures(reading: _Reading, end: int) -> None:
    """Below each stretch of the writer's own."""
    lines, fates = reading.lines, reading.fates
    at = 0
    for is_own, stretch in groupby(fates[:end], key=lambda fate: fate is None):
        first, at = at, at + sum(1 for _ in stretch)
        if not is_own:
            continue
        found = signature_start(lines, first, at)
        last = at
        if found is not None:
            last, is_sure = found
            fates[last:at] = [RemovedWhy.SIGNATURE] * (at - last)
            reading.is_doubtful |= not is_sure
        for _ in range(_DEVICE_LINES):
            line = next((one for one in range(last - 1, first - 1, -1) if lines.bare[one]), None)
            if line is None or not is_device_line(lines.bare[line]):
                break
            fates[line:last] = [RemovedWhy.SIGNATURE] * (last - line)
            last = line


def _finished(reading: _Reading) -> NewText:
    lines = reading.lines
    removed = tuple(_ranges(reading))
    kept = _without(lines.text, removed)
    is_tiny = reading.is_cut_weakly and len(kept.strip()) < _LEAST * len(lines.text.strip())
    if removed and (is_tiny or not _SAID.search(kept)):
        return NewText(lines.text, (), TextConfidence.LOW, reading.is_forward)
    is_low = reading.is_doubtful or reading.is_cut_weakly
    confidence = TextConfidence.LOW if is_low else TextConfidence.HIGH
    return NewText(kept, removed, confidence, reading.is_forward)


def _ranges(reading: _Reading) -> Iterator[Removed]:
    """The runs of lines that share a fate, with the empty lines above them (at the top of all: and below)."""
    lines, fates = reading.lines, reading.fates
    for at in range(len(fates) - 2, -1, -1):
        if fates[at] is None and not lines.bare[at]:
            fates[at] = fates[at + 1]
    is_top = True
    for at in range(len(fates)):
        is_top = is_top and (fates[at] is not None or not lines.bare[at])
        if is_top and at and fates[at] is None:
            fates[at] = fates[at - 1]
    at = 0
    for why, stretch in groupby(fates):
        first, at = at, at + sum(1 for _ in stretch)
        start, end = lines.starts[first], lines.starts[at]
        if why is not None and start < end:
            yield Removed(start, end, why)


def _without(text: str, removed: Sequence[Removed]) -> str:
    kept = []
    at = 0
    for one in removed:
        kept.append(text[at : one.start])
        at = one.end
    return "".join([*kept, text[at:]])
