"""Authentication-Results as data (RFC 8601 §2.2), and who is behind them: tolerant, bounded, in linear time.

A field that bears our name, or that of a server we trust, without coming from a relay we trust, is forged: it counts for
nothing, and whoever shows headers leaves it out (`find_forged`). The same holds for the copies in ARC sets (RFC 8617).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from postroom.core.authentication import Outcome


NAMES: Final = ("authentication-results", "arc-authentication-results")
_FIELD_MOST: Final = 16 * 1024
_RESULTS_MOST: Final = 50
_VERSION: Final = "1"

_PIECE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\\.|[();]|\s+|[^"\\();\s]+|["\\]', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_OUTCOMES: Final[Mapping[str, Outcome]] = {
    **{one.value: one for one in Outcome},
    "hardfail": Outcome.FAIL,
    "error": Outcome.TEMPERROR,
}


@dataclass(frozen=True, slots=True)
class Servers:
    """Names of servers, capitals or not: ours, and those whose results are used."""

    own: frozenset[str]
    trusted: frozenset[str]

    def forgeable(self, *, is_trusted: bool) -> frozenset[str]:
        """The names, in lower case, that a message which came so can not truly bear."""
        own, trusted = _lower(self.own), self.believed
        return own - trusted if is_trusted else own | trusted

    @property
    def believed(self) -> frozenset[str]:
        """The trusted names in lower case."""
        return _lower(self.trusted)


@dataclass(frozen=True, slots=True)
class MethodResult:
    """What one method came to, with its properties (`smtp.mailfrom`, `header.d` …); all words in lower case."""

    method: str
    outcome: Outcome
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Results:
    """One field. `authserv_id` is '' where there is none to be read."""

    authserv_id: str
    is_understood: bool
    results: tuple[MethodResult, ...]


def read_results(value: bytes) -> Results:
    """The field's value, an ARC set's instance number left out."""
    segments = _segments(value[:_FIELD_MOST].decode("latin-1"))
    name, version = _read_name(segments)
    found = (_read_result(words) for words in segments)
    results = islice((one for one in found if one is not None), _RESULTS_MOST)
    return Results(name, version == _VERSION, tuple(results))


def find_forged(
    fields: Sequence[tuple[str, bytes]], servers: Servers, *, is_trusted: bool
) -> frozenset[int]:
    """The places of forged fields among fields with names in lower case."""
    own = servers.forgeable(is_trusted=is_trusted)
    return frozenset(
        at for at, (name, value) in enumerate(fields) if name in NAMES and _named(value) in own
    )


def find_trusted(fields: Sequence[tuple[str, bytes]], servers: Servers) -> tuple[Results, ...]:
    """What trusted servers found, one of each name, the topmost first.

    A relay puts its own on top of what it was given, and each of its filters writes a field. Those above the first
    Received, which is the relay's, are all its own; where there is none, only the topmost can be.
    """
    believed = servers.believed
    found: dict[str, Results] = {}
    is_on_top = True
    for name, value in fields:
        is_on_top = is_on_top and name != "received"
        read = read_results(value) if name == NAMES[0] else None
        if read is None or read.authserv_id not in believed:
            continue
        first = found.setdefault(read.authserv_id, read)
        if first is not read and is_on_top and first.is_understood and read.is_understood:
            found[read.authserv_id] = replace(first, results=first.results + read.results)
    return tuple(one for one in found.values() if one.is_understood)


def _named(value: bytes) -> str:
    """Whose the field is; what it says is not gone through."""
    return _read_name(_segments(value[:_FIELD_MOST].decode("latin-1")))[0]


def _read_name(segments: Iterator[list[str]]) -> tuple[str, str]:
    """The server's name ('' = there is none) and the version, taken off the segments of a field."""
    first = next(segments)
    if first and first[0].startswith("i="):
        first = next(segments, [])
    # Some write the version behind a slash.
    name, _, version = first[0].partition("/") if first else ("", "", "")
    return name.removesuffix("."), version or (first[1] if len(first) > 1 else _VERSION)


def _lower(names: frozenset[str]) -> frozenset[str]:
    return frozenset(one.lower() for one in names)


def _segments(text: str) -> Iterator[list[str]]:
    """What stands between semicolons, as words in lower case without comments; `a = b` is one word."""
    words: list[str] = []
    word: list[str] = []
    depth = 0
    for found in _PIECE.finditer(text):
        piece = found[0]
        if depth or piece == "(":
            depth += (piece == "(") - (piece == ")")
            piece = " "  # a comment is a space
        if piece != ";" and not piece.isspace():
            word.append(_unquoted(piece))
            continue
        if word:
            words.append("".join(word).lower())
            word = []
        if piece == ";":
            yield _joined(words)
            words = []
    if word:
        words.append("".join(word).lower())
    yield _joined(words)


def _joined(words: list[str]) -> list[str]:
    """The words, with an equals sign joined to what stands beside it."""
    joined: list[str] = []
    for word in words:
        if joined and (word.startswith("=") or joined[-1].endswith("=")):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _read_result(words: list[str]) -> MethodResult | None:
    if not words:
        return None
    method, equals, outcome = words[0].partition("=")
    if not equals:
        return None
    properties: dict[str, str] = {}
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if equals:
            properties.setdefault(name, value)
    known = _OUTCOMES.get(outcome, Outcome.ABSENT)
    return MethodResult(method.partition("/")[0], known, properties)


def _unquoted(piece: str) -> str:
    is_quoted = len(piece) > 1 and piece.startswith('"')
    return _ESCAPED.sub(r"\1", piece[1:-1]) if is_quoted else piece
