"""The line above a quotation, "On … she wrote:", in whatever language and however it is folded.

It is found from its end upward. An address in brackets with a date or a time and a colon behind needs no word that is
known; a verb needs to stand where mail programs put it. What a person may have written as well ("On Tuesday you
wrote:") counts only where marked lines follow, and not even there with a pronoun. Known limits: a line without colon
and without verb.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from postroom.inbound.quotewords import (
    NAME_FIRST,
    ON,
    PRONOUNS,
    QUOTING,
    WEEKDAYS,
    WEEKDAYS_SHORT,
    WRITTEN_BY,
    WROTE,
    WROTE_EARLY,
    WROTE_UNSPACED,
    phrases,
)
from postroom.inbound.textlines import Lines, read_lines


_FOLDED_MOST: Final = 6  # lines, with empty ones inside an address
_INSIDE_MOST: Final = 4  # lines of a quotation in which its header is looked for
_LONGEST: Final = 500
_EARLY_MOST: Final = 8  # words of a name or a date behind an early verb


def _any(words: str) -> str:
    return "|".join(map(re.escape, phrases(words)))


_END: Final = re.compile(r"(?:[:\uff1a]|-{3,8})[*_ ]{0,5}$")
_ENDS: Final = (":", "\uff1a", "-", "*", "_")
_ADDRESS: Final = re.compile(
    r"[<\[(\uff1c]\s{0,3}[<(]?\s{0,3}(?:mailto:)?[^\s<>@]{1,200}@|mailto:|&lt;[^\s@]{1,200}@"
)
_ADDRESS_LAST: Final = re.compile(
    r"[\s<(\[:\uff1c][^\s<>@:]{1,200}@[^\s<>@]{1,255}?(?P<closed>[>)\]\s;\uff1e]{0,6})(?:님이)?\s?[:\uff1a]$"
)
# In whatever language: an address in brackets, and not much behind it.
_BRACKETED: Final = re.compile(
    r"<[^\s<>@]{1,200}@[^\s<>]{1,255}>(?: [^\s:]{1,30}){0,4} ?[:\uff1a]$"
)
# "2022/1/3 Bob <bob@x.example>", where marked lines follow.
_UNENDED: Final = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2} [^<>]{0,100}< ?[^\s<>@]{1,200}@[^\s<>]{1,255}>"
)
_DIGIT: Final = re.compile(r"\d")
_YEAR: Final = re.compile(r"(?<![\d:])\d{4}(?!\d)|\d{1,2}[./-]\s?\d{1,2}[./-]\s?\d{2,4}")
_DAY: Final = re.compile(
    r"(?<!\d)\d{1,2}(?:\.|er|st|nd|rd|th)?,? (?:de )?[^\W\d]{3,10}|[^\W\d]{3,10}\.? \d{1,2}(?!\d)"
)
_TIME: Final = re.compile(r"\d{1,2}[:.h\uff1a]\d\d(?!\d)|\d{1,2}[時点시]")
_ON: Final = re.compile(
    rf"-{{0,8}} ?(?:(?:{_any(ON)}|{_any(WRITTEN_BY)})(?!\w)|[在于於]|at \d{{4}}-|in (?:article|message)(?!\w)|\d"
    rf"|\[?(?:(?:{_any(WEEKDAYS)})[^\W\d]{{0,12}}(?!\w)|(?:{_any(WEEKDAYS_SHORT)})[., ])(?=[^<>\d]{{0,14}}\d))",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(r"[^<>]{1,100}[<(\[]|[<\[(]")
_VERBS: Final = phrases(f"{WROTE}|{WROTE_EARLY}")
_VERBS_UNSPACED: Final = phrases(WROTE_UNSPACED)
_WRITTEN_BY: Final = phrases(WRITTEN_BY)
_EARLY: Final = frozenset(phrases(WROTE_EARLY))
_PRONOUNS: Final = frozenset(phrases(PRONOUNS))
_AUXILIARIES: Final = frozenset(
    {"a", "ha", "har", "hat", "have", "had", "avez", "has", "đã", "va", "şunu", "ezt"}
)
_COLONLESS: Final = re.compile(rf"@[^\s<>]{{1,255}}>,? (?:{_any(WROTE)})$", re.IGNORECASE)
_QUOTING: Final = phrases(QUOTING)
_NAME_FIRST: Final = re.compile(rf" (?:{_any(NAME_FIRST)}) ")
_PARTICLES: Final = frozenset(phrases("van|von|de|der|den|del|da|di|la|le|al|el|bin|of|ter"))
_NAME_MOST: Final = 4  # words
_OURS: Final = re.compile(r"r-[a-z2-7]{29}@", re.IGNORECASE)
_SENTENCE: Final = (".", "!", "?", "…", "。")
_EDGES: Final = " :\uff1a*_,-"


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """Where it begins; whether it alone proves that a quotation follows, or only together with marked lines."""

    start: int
    is_proof: bool


def find_header_line(lines: Lines, last: int, *, is_marked: bool) -> HeaderLine | None:
    """The header that ends with this line; `is_marked`: marked lines follow it."""
    bare = lines.bare[last]
    if ">" in bare and _is_unended(lines, last):
        return HeaderLine(last, is_proof=True)
    if not (is_marked or bare.endswith(_ENDS)) or not _may_end(lines, last, is_marked=is_marked):
        return None
    best: HeaderLine | None = None
    joined = ""
    for at in _upward(lines, last):
        line = lines.bare[at]
        if len(line) + len(joined) > _LONGEST or (best is not None and line.endswith(_SENTENCE)):
            break
        joined = f"{line} {joined}".strip()
        found = _judged(joined, is_marked=is_marked, is_folded=at != last)
        if found is not None and (found.is_whole or best is None):
            best = HeaderLine(at, found.is_proof)
            if found.is_whole:
                break
    return best


def is_introduced(lines: Lines, start: int) -> bool:
    """Whether marked lines begin with a header, so that a program made them."""
    inside = read_lines(
        "\n".join(one.lstrip("> ") for one in lines.bare[start : start + _INSIDE_MOST])
    )
    for at in range(len(inside.bare)):
        header = find_header_line(inside, at, is_marked=False) if inside.bare[at] else None
        if header is not None and header.is_proof:
            return not any(inside.bare[: header.start])
    return False


def _upward(lines: Lines, last: int) -> Iterator[int]:
    """The lines that may be one header folded: without empty ones, but for those above an address of its own."""
    below = ""
    for at in range(last, max(last - _FOLDED_MOST, -1), -1):
        line = lines.bare[at]
        if lines.is_quoted[at] or not (line or below.startswith(("<", ">", "mailto:"))):
            return
        if line:
            below = line
            yield at


def _is_unended(lines: Lines, last: int) -> bool:
    """Whether it is a whole header but for the colon, with an empty line below it."""
    bare = lines.bare[last]
    return (
        not any(lines.bare[last + 1 : last + 2])
        and len(bare) <= _LONGEST
        and _COLONLESS.search(bare) is not None
        and _ON.match(bare) is not None
        and _YEAR.search(bare) is not None
        and _TIME.search(bare) is not None
    )


def _may_end(lines: Lines, last: int, *, is_marked: bool) -> bool:
    """Whether a header's last line can look so: a quick look, as most lines with a colon are something else."""
    bare = lines.bare[last]
    if len(bare) > _LONGEST:
        return False
    if is_marked and "@" in bare and bare.endswith(">"):
        return True
    if _before_verb(bare.casefold()) is not None:
        return is_marked or _END.search(bare) is not None
    if _END.search(bare) is None:
        return False
    if is_marked or "@" in bare:
        return True
    above = " ".join(lines.bare[max(last - _FOLDED_MOST + 1, 0) : last + 1]).casefold()
    return (
        "@" in above
        or not _EARLY.isdisjoint(above.split())
        or _NAME_FIRST.search(above[-_LONGEST:]) is not None
    )


@dataclass(frozen=True, slots=True)
class _Found:
    is_proof: bool
    is_whole: bool


def _judged(joined: str, *, is_marked: bool, is_folded: bool) -> _Found | None:
    """What these lines are; whole when nothing that belongs to them can stand above."""
    if 0 <= joined.find(">") < joined.find("<") or (">" in joined and "<" not in joined):
        return None  # the other bracket stands above
    last = _ADDRESS_LAST.search(joined) if "@" in joined else None
    ends_in_address = last is not None
    has_address = ends_in_address or _ADDRESS.search(joined) is not None
    begins = _ON.match(joined) is not None
    is_written_by = begins and joined.casefold().startswith(_WRITTEN_BY)
    if is_marked and ((not begins and _is_name(joined)) or _UNENDED.fullmatch(joined)):
        return _Found(is_proof=False, is_whole=begins or not has_address)
    is_named = not begins and _is_dated_name(joined)
    if not (begins or ends_in_address or is_named or (has_address and _NAMED.match(joined))):
        return None
    is_said = is_written_by or _is_said(joined.casefold())
    if is_said is None:
        return None
    has_digit = _DIGIT.search(joined) is not None
    year = _YEAR.search(joined) if has_digit else None
    has_year = year is not None
    has_time = has_digit and _TIME.search(joined) is not None
    has_date = has_year or (has_digit and _DAY.search(joined) is not None)
    is_placed = has_date or has_time
    is_proof = (
        (is_placed and last is not None and bool(last["closed"].strip()))
        or (has_year and has_time and ends_in_address)
        or (has_year and has_time and _BRACKETED.search(joined) is not None)
        or (is_said and has_address)
        or (is_said and begins and has_date and (has_time or has_year))
        or (is_named and has_time)
        or _OURS.search(joined) is not None
    )
    is_enough = begins and is_said and (is_placed or (is_marked and not is_folded))
    is_dated = is_marked and begins and has_date and has_time  # "03.01.2022 10:00, Bob:"
    if not (is_proof or is_enough or is_dated):
        return None
    has_name_first = is_named or (year is not None and "@" in joined[: year.start()])
    is_whole = has_name_first or (begins and (has_date or not has_address))
    return _Found(is_proof, is_whole)


def _before_verb(folded: str) -> str | None:
    """The text in front of the verb that ends it; None when none does."""
    tail = folded.rstrip(_EDGES)
    if tail.endswith(_VERBS):
        for verb in _VERBS:
            before = tail.removesuffix(verb)
            if before != tail and not before[-1:].isalnum():
                return before
    for verb in _VERBS_UNSPACED:
        if tail.endswith(verb):
            return tail.removesuffix(verb)
    return None


def _is_said(folded: str) -> bool | None:
    """Whether a verb stands where programs put it; None when a person says so of somebody."""
    before = _before_verb(folded)
    if before is not None:
        words = before.split()
        while words and words[-1] in _AUXILIARIES:
            words.pop()
        return None if words and words[-1].strip(",(") in _PRONOUNS else True
    words = folded.split()
    for at, word in enumerate(words):
        if word in _EARLY:
            following = words[at + 1 : at + 2]
            is_person = bool(following) and following[0].strip(",:") in _PRONOUNS
            return None if is_person else len(words) - at - 1 <= _EARLY_MOST
    return "wrote on " in folded


def _is_name(joined: str) -> bool:
    """Whether it is a name with a verb and nothing else, or what begins like "Quoting Bob"."""
    folded = joined.casefold()
    if folded.startswith(_QUOTING) and joined.endswith(":"):
        return True
    before = _before_verb(folded)
    if before is None:
        return _is_dated_name(joined)
    return _names_person(joined[: len(before)])


def _is_dated_name(joined: str) -> bool:
    """Whether it is a name, a verb and a date behind it: "Bob wrote on 1/3/22 10:00 AM:"."""
    parted = _NAME_FIRST.split(joined.casefold(), maxsplit=1)
    if len(parted) == 1 or _YEAR.search(parted[1]) is None:
        return False
    words = parted[0].split()
    is_login = len(words) == 1 and words[0] not in _PRONOUNS
    return is_login or _names_person(joined[: len(parted[0])])


def _names_person(said: str) -> bool:
    """Whether the words may be a name, and are no pronoun."""
    words = said.split()
    while words and words[-1].casefold() in _AUXILIARIES:
        words.pop()
    is_person = bool(words) and words[0].casefold() in _PRONOUNS
    is_name = 0 < len(words) <= _NAME_MOST and all(
        not word[0].islower() or "@" in word or (at and word in _PARTICLES)
        for at, word in enumerate(words)
    )
    return is_name and not is_person
