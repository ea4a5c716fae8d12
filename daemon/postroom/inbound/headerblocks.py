"""Blocks of `From:`, `Sent:`, `To:`, `Subject:` above a message, and the lines that programs draw above one.

Labels may stand in any order and language, in stars, with values that are folded, all in one line. Two of them may be a
person's ("From: Berlin, To: Paris"), and so may three without any address, subject or line drawn above.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.core.message import DELIVERY_HEADER
from postroom.inbound.quotewords import (
    ABOVE,
    BEGIN_FORWARDED,
    COPY,
    FORWARDED,
    FROM,
    ORIGINAL,
    PROCESSED,
    SENT,
    SUBJECT,
    TO,
    phrases,
)
from postroom.inbound.textlines import Lines


_LABEL_MOST: Final = 30
_LINES_MOST: Final = 16
_FOLDS_MOST: Final = 3  # lines of one value without a label, as of many recipients
_LINE_MOST: Final = 1000
_MARK_MOST: Final = 160
_KINDS_LEAST: Final = 3
_DRAWN: Final = "-_=*~#\u2010\u2011\u2012\u2013\u2014\u2015\u2500\u2501"
_AROUND: Final = f"{_DRAWN} :"
_RULE: Final = re.compile(rf"[{re.escape(_DRAWN)}][{re.escape(_DRAWN)} ]{{4,200}}")
# "-------- Words that nobody knows --------"
_CAPTION: Final = re.compile(r"([-_=*]{4,40}) {0,3}[^\W\d_][^-_=*\d]{2,40} {0,3}\1")
_COLON: Final = re.compile(r"[:\uff1a]")
_TIME: Final = re.compile(r"\d{1,2}[:.h\uff1a]\d\d")
_WORD_BEFORE: Final = re.compile(r"([^\s:\uff1a]{1,20}) ?[:\uff1a] ")


class Label(StrEnum):
    """What a line of such a block tells."""

    FROM = "from"
    SENT = "sent"
    TO = "to"
    COPY = "copy"
    SUBJECT = "subject"


_LABELS: Final = {
    word: label
    for label, words in (
        (Label.COPY, COPY),
        (Label.TO, TO),
        (Label.SUBJECT, SUBJECT),
        (Label.SENT, SENT),
        (Label.FROM, FROM),
    )
    for word in phrases(words)
}
_ORIGINAL: Final = phrases(ORIGINAL)
_FORWARDED: Final = phrases(FORWARDED)
_PROCESSED: Final = phrases(PROCESSED)
_BEGIN: Final = phrases(BEGIN_FORWARDED)
_ABOVE: Final = phrases(ABOVE)


@dataclass(frozen=True, slots=True)
class Block:
    """From which line to which (not included); whether nobody writes such a thing by hand."""

    start: int
    end: int
    is_proof: bool


def find_label(bare: str) -> Label | None:
    """What the line tells, where it begins as one of a header block."""
    colon = _COLON.search(bare[:_LABEL_MOST])
    if colon is None:
        return None
    return _LABELS.get(bare[: colon.start()].strip("*_ \t\u2022|").casefold())


def find_block(lines: Lines, at: int) -> Block | None:
    """The block whose first label stands in this line."""
    if find_label(lines.bare[at]) is None:
        return None
    start = _drawn_above(lines, at)
    found, end, content = _read(lines, at)
    if Label.FROM not in found:
        return None
    is_drawn = start != at
    has_address = "@" in content
    is_sure = is_drawn or has_address or _TIME.search(content) is not None
    if len(found) >= _KINDS_LEAST and (Label.SUBJECT in found or has_address or is_drawn):
        return Block(_caption_above(lines, start), end, is_proof=is_sure)
    if len(found) == _KINDS_LEAST - 1 and Label.COPY not in found and (is_drawn or has_address):
        is_dated = Label.SENT in found and _TIME.search(content) is not None
        return Block(start, end, is_proof=True) if is_drawn or is_dated else None
    return None


def looks_like_block(lines: Lines, at: int) -> bool:
    """Whether two labels stand below each other: too few to say so."""
    return find_label(lines.bare[at]) is Label.FROM and len(_read(lines, at)[0]) > 1


def labels_end(lines: Lines, at: int) -> int:
    """The line behind those that begin with a label, though no colon follows it; `at` where this one does not."""
    for line in range(at, min(at + _LINES_MOST, len(lines.bare))):
        word, _, _ = lines.bare[line][:_LABEL_MOST].partition(" ")
        if lines.is_quoted[line] or word.casefold() not in _LABELS:
            return line
    return at


def is_original(bare: str) -> bool:
    """A line like "-----Original Message-----"."""
    within = _within(bare)
    return (_is_drawn(bare) and within.startswith(_ORIGINAL)) or within.startswith(_PROCESSED)


def is_forwarded(bare: str) -> bool:
    """A line that a forwarded message follows."""
    if bare[0] in _DRAWN:
        return _is_drawn(bare) and _within(bare).startswith(_FORWARDED)
    return bare.endswith((":", "\uff1a")) and bare.rstrip(": \uff1a").casefold() in _BEGIN


def has_delimiter(folded: str) -> bool:
    """Whether a line like "reply above this line" is anywhere in the text (in lower case)."""
    return any(one in folded for one in _ABOVE)


def is_delimiter(bare: str) -> bool:
    """A line that asks to be answered above."""
    return len(bare) <= _MARK_MOST and has_delimiter(bare.casefold())


def is_ours(bare: str) -> bool:
    """A header line that only Postroom writes."""
    return bare.startswith(DELIVERY_HEADER) and bare[len(DELIVERY_HEADER) :].startswith(":")


def is_rule(bare: str) -> bool:
    """A drawn line."""
    return _RULE.fullmatch(bare) is not None


def _within(bare: str) -> str:
    """What stands between drawn lines."""
    return bare[:_LINE_MOST].strip(_AROUND).casefold()


def _is_drawn(bare: str) -> bool:
    return 1 < len(bare) <= _LINE_MOST and bare[0] in _DRAWN and bare[1] in _AROUND


def _read(lines: Lines, at: int) -> tuple[set[Label], int, str]:
    """The labels from this line on, the line behind the last of them, and what they say."""
    first = lines.bare[at][:_LINE_MOST]
    inline = {
        label
        for one in _WORD_BEFORE.finditer(first)
        if (label := _LABELS.get(one[1].strip("*_").casefold())) is not None
    }
    if len(inline) >= _KINDS_LEAST:
        return inline, at + 1, first
    found: set[Label] = set()
    content = []
    end = at
    folds = 0
    for line in range(at, min(at + _LINES_MOST, len(lines.bare))):
        bare = lines.bare[line]
        label = None if lines.is_quoted[line] else find_label(bare)
        if label is not None:
            found.add(label)
            content.append(bare[:_LINE_MOST])
            end = line + 1
            folds = 0
        elif lines.is_quoted[line] or folds == _FOLDS_MOST:
            break
        else:
            folds += 1
    return found, _folded_end(lines, end), "\n".join(content)


def _folded_end(lines: Lines, end: int) -> int:
    """The end with the lines that directly go on."""
    for line in range(end, min(end + _FOLDS_MOST, len(lines.bare))):
        if not lines.bare[line] or lines.is_quoted[line]:
            return line
    return end


def _drawn_above(lines: Lines, at: int) -> int:
    """The first of the lines right above that are drawn or are like "Original Message"."""
    start = at
    above = lines.said_above(at)
    while above is not None and start - above <= _FOLDS_MOST and not lines.is_quoted[above]:
        bare = lines.bare[above]
        if not (is_rule(bare) or _within(bare) in _ORIGINAL):
            break
        start = above
        above = lines.said_above(start) if at - start < _FOLDS_MOST else None
    return start


def _caption_above(lines: Lines, start: int) -> int:
    """The line in words that nobody knows, drawn like "Original Message" right above a block."""
    above = lines.said_above(start)
    is_caption = (
        above is not None and _CAPTION.fullmatch(lines.bare[above][:_MARK_MOST]) is not None
    )
    return above if above is not None and is_caption else start
