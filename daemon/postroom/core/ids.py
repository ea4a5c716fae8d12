"""Public ids: a prefix and the 13 base32 characters of the row's number, so no second key is stored.

The alphabet is the "extended hex" one of RFC 4648 §7 in lower case, in which ids sort as their numbers do.
"""

from enum import StrEnum
from functools import lru_cache
from typing import Final

from postroom.core.instant import SECOND, Instant


class Kind(StrEnum):
    """What an id names."""

    JOB = "job"
    DELIVERY = "dlv"
    ATTEMPT = "att"
    ATTACHMENT = "att"
    THREAD = "thr"
    EVENT = "evt"
    LEASE = "lse"


REF_BITS: Final = 30

_ALPHABET: Final = "0123456789abcdefghijklmnopqrstuv"
_PAIRS: Final = tuple(a + b for a in _ALPHABET for b in _ALPHABET)  # three ids go into every event
_LENGTH: Final = 13
_LARGEST: Final = (1 << 63) - 1


def encode_id(kind: Kind, number: int) -> str:
    """The public id of row `number`."""
    return f"{kind}_{_above(number >> 20)}{_PAIRS[number >> 10 & 1023]}{_PAIRS[number & 1023]}"


def attachment_ref(now: Instant, chance: int) -> str:
    """The public reference of a file: it sorts by time, and `chance` of REF_BITS makes that nobody guesses it."""
    return encode_id(Kind.ATTACHMENT, now // SECOND << REF_BITS | chance)


def decode_id(kind: Kind, text: str) -> int | None:
    """The row number behind a public id; None when the text can not be an id of this kind."""
    prefix, _, digits = text.partition("_")
    if prefix != kind or len(digits) != _LENGTH or not set(digits) <= set(_ALPHABET):
        return None
    number = int(digits, 32)
    return number if number <= _LARGEST else None


@lru_cache(maxsize=1024)  # an answer has seven ids, and those of an hour have this in common
def _above(number: int) -> str:
    return base32(number, _LENGTH - 4)


def base32(number: int, length: int) -> str:
    """`number` in `length` digits, most significant first."""
    first = _ALPHABET[number >> 5 * (length - 1) & 31] if length % 2 else ""
    pairs = [_PAIRS[number >> shift & 1023] for shift in range(10 * (length // 2 - 1), -1, -10)]
    return first + "".join(pairs)
