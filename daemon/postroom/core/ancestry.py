"""In-Reply-To and References: what a message of ours says it follows (RFC 5322 §3.6.4, HAZARDS A3). Pure.

Ids are a stranger's text: what is not a plain Message-ID in ASCII is left out. References keep the first id, by which a
conversation is known, and the last 20.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from postroom.core.encodings import WORD_MOST, ids_header


KEPT_LAST: Final = 20
_MOST_OCTETS: Final = 4_096
_ID: Final = re.compile(r"<[!-;=?-~]+>")


@dataclass(frozen=True, slots=True)
class Ancestry:
    """The message that is answered, and all before it with it, oldest first."""

    parent: str | None = None
    references: tuple[str, ...] = ()


def follow(thread: Sequence[str]) -> Ancestry:
    """What comes after the last of these messages of a thread, oldest first."""
    ids = _clean(thread)
    return Ancestry(ids[-1], _cut(ids)) if ids else Ancestry()


def answer_to(parent: str | None, references: Sequence[str], thread: Sequence[str]) -> Ancestry:
    """What answers a received message: its own references, what else the thread has, and itself as the last."""
    (own,) = _clean([parent or ""]) or (None,)
    before = [one for one in _clean([*references, *thread]) if one != own]
    ids = before if own is None else [*before, own]
    return Ancestry(own, _cut(ids))


def ancestry_lines(ancestry: Ancestry) -> bytes:
    """The header lines; none where it follows nothing."""
    lines = b""
    if ancestry.parent is not None:
        lines += ids_header("In-Reply-To", [ancestry.parent])
    if ancestry.references:
        lines += ids_header("References", ancestry.references)
    return lines


def _clean(ids: Iterable[str]) -> list[str]:
    """Those that can stand in a header, each once."""
    return list(dict.fromkeys(one for one in ids if len(one) <= WORD_MOST and _ID.fullmatch(one)))


def _cut(ids: list[str]) -> tuple[str, ...]:
    kept = ids if len(ids) <= KEPT_LAST else [ids[0], *ids[-KEPT_LAST:]]
    # WORD_MOST leaves room for four of them, so that the first and the last always stay.
    while sum(len(one) + 1 for one in kept) > _MOST_OCTETS:
        del kept[1]
    return tuple(kept)
