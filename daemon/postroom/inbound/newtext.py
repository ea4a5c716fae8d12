"""What was written now: a text without the quotations, header blocks and signatures around it.

Every rule is a linear search, and takes away only what mail programs make: text is never lost (`new_text` and the
`removed` ranges are the text), and where nearly nothing would remain, all of it is new. A forwarded message is not a
quotation: what follows such a line stays. Known limits: a quotation without any mark stays.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from postroom.core.inmail import Removed, RemovedWhy
from postroom.inbound.replywords import (
    BEGIN_FORWARDED,
    DEVICES,
    FORWARDED,
    FROM,
    ON,
    ORIGINAL,
    SENT,
    SENT_FROM,
    SUBJECT,
    TO,
    WROTE,
    WROTE_UNSPACED,
)


_HITS_MOST: Final = 1000  # a text with more such lines is made to cost time
_HEADER_MOST: Final = 400  # characters of "On … wrote:", however it is folded
_HEADER_LINES: Final = 4
_BLOCK_LINES: Final = 8
_BLOCK_MOST: Final = 2000
_SIGNATURE_LINES: Final = 10
_LAST_LINE_MOST: Final = 80


def _any(words: str) -> str:
    return "|".join(re.escape(one) for one in sorted(words.split("|"), key=len, reverse=True))


_LINES: Final = re.IGNORECASE | re.MULTILINE
_QUOTED: Final = re.compile(r"^[ \t]{0,3}>(?!:[ \t]*$).*\n?", re.MULTILINE)
_ENDS: Final = re.compile(r"(?:[:\uff1a]|-{4})[ \t*_\u200e]{0,5}$", re.MULTILINE)
_WROTE: Final = re.compile(rf"(?<!\w)(?:{_any(WROTE)})(?!\w)|{_any(WROTE_UNSPACED)}", re.IGNORECASE)
_ON: Final = re.compile(
    rf"[ \t*_]{{0,10}}(?:-{{2,8}} )?(?:(?:{_any(ON)})(?!\w)|[在于於]|\d|[^\n<>]{{1,100}}<)",
    re.IGNORECASE,
)
_DATED: Final = re.compile(r"\s*\d{4}[-/.]\d\d?[-/.]\d\d?[^<>]*<[^<>]*@[^<>]*>:")  # without a verb
_FACT: Final = re.compile(r"\d|@")
_FROM_LINE: Final = re.compile(rf"^[ \t]{{0,10}}\*?(?:{_any(FROM)})[ \t]?[:\uff1a]", _LINES)
_OTHER_LINES: Final = tuple(
    re.compile(rf"^[ \t]{{0,10}}\*?(?:{_any(words)})[ \t]?[:\uff1a]", _LINES)
    for words in (SENT, TO, SUBJECT)
)
_ORIGINAL: Final = re.compile(
    rf"^[ \t]{{0,10}}[-_*]{{2,40}}[ \t]{{0,10}}(?:{_any(ORIGINAL)})[ \t]{{0,10}}[-_*]{{0,40}}[ \t]{{0,10}}$",
    _LINES,
)
_FORWARDED: Final = re.compile(
    rf"^[ \t]{{0,10}}(?:[-_*]{{2,40}}[ \t]{{0,10}}(?:{_any(FORWARDED)})|{_any(BEGIN_FORWARDED)})",
    _LINES,
)
_RULE: Final = re.compile(r"[ \t]{0,10}[_-]{5,}[ \t]{0,10}")
_DASHES: Final = re.compile(r"^--( ?)[ \t]{0,10}$", re.MULTILINE)
_DEVICE: Final = re.compile(
    rf"[(<]{{0,2}}(?:{_any(SENT_FROM)})(?:\W|(?<=[发發的])).*(?:{_any(DEVICES)})", re.IGNORECASE
)
_LETTER: Final = re.compile(r"\w")

_Range = tuple[int, int, RemovedWhy]


def find_new(text: str) -> tuple[str, tuple[Removed, ...]]:
    """What is new in the text, and the ranges that are not: in order, apart from each other."""
    forwarded = _FORWARDED.search(text)
    limit = len(text) if forwarded is None else forwarded.start()
    quotes = _quotes(text, limit)
    cut = _cut(text, limit, quotes)
    ranges = [one for one in quotes if one[0] < cut]
    if cut < limit:
        ranges.append((cut, len(text), RemovedWhy.QUOTE))
    end = _own_end(text, cut, ranges)
    ranges += _signature(text, end, ranges)
    if forwarded is None:
        ranges += _last_line(text, _own_end(text, end, ranges))
    removed = tuple(Removed(*one) for one in _merged(text, ranges))
    kept = _without(text, removed)
    return (kept, removed) if _LETTER.search(kept) else (text, ())


def _without(text: str, removed: Sequence[Removed]) -> str:
    kept = []
    at = 0
    for one in removed:
        kept.append(text[at : one.start])
        at = one.end
    return "".join([*kept, text[at:]])


def _quotes(text: str, limit: int) -> list[_Range]:
    """Runs of lines with `>`, with the "On … wrote:" above each.

    A first run that nothing introduces is what the writer begins with: it stays.
    """
    runs = list(_runs(text, limit))
    quotes = [(_introduced(text, start), end, RemovedWhy.QUOTE) for start, end in runs]
    is_begun_with = bool(runs) and quotes[0][0] == runs[0][0] and not text[: runs[0][0]].strip()
    return quotes[1:] if is_begun_with else quotes


def _runs(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Lines with `>` and nothing but empty lines between them."""
    held: tuple[int, int] | None = None
    for found in _QUOTED.finditer(text, 0, limit):
        if held is None:
            held = found.span()
        elif text[held[1] : found.start()].strip():
            yield held
            held = found.span()
        else:
            held = (held[0], found.end())
    if held is not None:
        yield held


def _introduced(text: str, start: int) -> int:
    """Where the "On … wrote:" begins that stands right above a quotation; `start` when there is none."""
    for line_start, line in islice(_lines_above(text, start), 3):
        if line.strip():
            begin = _introduction(text, line_start, line, needs_fact=False)
            return start if begin is None else begin
    return start


def _cut(text: str, limit: int, quotes: Sequence[_Range]) -> int:
    """From where on everything is quoted, though nothing marks its lines; `limit` = from nowhere."""
    first = _first_letter(text, limit, quotes)
    found = [one.start() for one in _ORIGINAL.finditer(text, 0, limit)]
    found += _unmarked(text, limit, quotes)
    found += _blocks(text, limit)
    behind = [_ruled(text, one) for one in found if one > first]
    return min([limit, *behind])


def _first_letter(text: str, limit: int, quotes: Sequence[_Range]) -> int:
    """Where the first word stands that is not quoted: what is cut must lie behind it."""
    at = 0
    for start, end, _ in quotes:
        found = _LETTER.search(text, at, start)
        if found is not None:
            return found.start()
        at = end
    found = _LETTER.search(text, at, limit)
    return limit if found is None else found.start()


def _unmarked(text: str, limit: int, quotes: Sequence[_Range]) -> Iterator[int]:
    """Beginnings of "On … wrote:" that no `>` follows, with a date or an address in them."""
    starts = [start for start, _, _ in quotes]
    for found in islice(_ENDS.finditer(text, 0, limit), _HITS_MOST):
        at = bisect_right(starts, found.start()) - 1
        if at >= 0 and found.start() < quotes[at][1]:
            continue
        line_start = text.rfind("\n", 0, found.start()) + 1
        line = text[line_start : found.end()]
        begin = _introduction(text, line_start, line, needs_fact=True)
        if begin is not None:
            yield begin


def _introduction(text: str, start: int, last: str, *, needs_fact: bool) -> int | None:
    """Where the "On … wrote:" begins whose last line begins at `start`; None when it is a sentence of the writer's."""
    if not _ENDS.search(last):
        return None
    header = last
    begin = start
    above = _lines_above(text, start)
    for _ in range(_HEADER_LINES):
        if len(header) > _HEADER_MOST:
            return None
        has_fact = _FACT.search(header) or not (needs_fact or header is not last)
        is_said = _WROTE.search(header) and _ON.match(text, begin)
        if has_fact and (is_said or _DATED.match(header)):
            return begin
        begin, line = next(above, (0, ""))
        if not line.strip() or line.lstrip().startswith(">"):
            return None
        header = f"{line}\n{header}"
    return None


def _blocks(text: str, limit: int) -> Iterator[int]:
    """Beginnings of header blocks: From, and below it at least two of date, recipient and subject."""
    for found in islice(_FROM_LINE.finditer(text, 0, limit), _HITS_MOST):
        lines = text[found.start() : found.start() + _BLOCK_MOST].split("\n")[1 : _BLOCK_LINES + 1]
        below = "\n".join(lines)
        kinds = sum(one.search(below) is not None for one in _OTHER_LINES)
        if kinds >= len(_OTHER_LINES) - 1:
            yield found.start()


def _ruled(text: str, start: int) -> int:
    """The beginning of the ruled line right above, if there is one."""
    for line_start, line in islice(_lines_above(text, start), 3):
        if line.strip():
            return line_start if _RULE.fullmatch(line) else start
    return start


def _lines_above(text: str, start: int) -> Iterator[tuple[int, str]]:
    """The lines before the one that begins at `start`, nearest first, up to one that is too long to be of interest."""
    end = start - 1
    while end >= 0:
        begin = text.rfind("\n", max(0, end - _HEADER_MOST), end) + 1
        if begin == 0 and end > _HEADER_MOST:
            return
        yield begin, text[begin:end]
        end = begin - 1


def _own_end(text: str, cut: int, ranges: Sequence[_Range]) -> int:
    """Where the writer's own last word before `cut` ends."""
    end = len(text[:cut].rstrip())
    for start, stop, _ in sorted(ranges, reverse=True):
        if start < end <= stop or (start < end and not text[stop:end].strip()):
            end = len(text[:start].rstrip())
    return end


def _signature(text: str, end: int, ranges: Sequence[_Range]) -> Iterator[_Range]:
    """What stands below two dashes, up to the next quotation."""
    for found in islice(_DASHES.finditer(text, 0, end), 1):
        following = min([start for start, _, _ in ranges if start > found.start()], default=end)
        below = text.count("\n", found.end(), min(following, end))
        # Only the dash-dash-blank of RFC 3676 §4.3 may stand above much.
        if found[1] or below <= _SIGNATURE_LINES:
            yield found.start(), min(end, following), RemovedWhy.SIGNATURE


def _last_line(text: str, end: int) -> Iterator[_Range]:
    """The line that telephones put under a mail."""
    begin = text.rfind("\n", 0, end) + 1
    line = text[begin:end].strip()
    if len(line) <= _LAST_LINE_MOST and _DEVICE.match(line):
        yield begin, end, RemovedWhy.SIGNATURE


def _merged(text: str, ranges: Sequence[_Range]) -> Iterator[_Range]:
    """The ranges in order, none over another, each with the empty lines above it."""
    at = 0
    for start, end, why in sorted(ranges):
        between = text[at:start]
        kept = len(between.rstrip())
        newline = between.find("\n", kept)
        begin = at + newline + 1 if kept and newline >= 0 else at if not kept else start
        if end > begin:
            yield begin, end, why
            at = end
