"""Tokens: what makes an address ours to answer to, and what it answers (CONTRACT §8). Pure.

29 characters of lower-case base32 (RFC 4648 §6): 1 key id, 2 expiry week, 10 number of the delivery, 16 of an
HMAC-SHA256 cut to 80 bits over kind, mailbox, number and expiry. The key id only hints: every key whose id fits is
tried. Case is folded, for clients and relays change it; the HMAC is compared in constant time.
"""

import hmac
from base64 import b32encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Final

from postroom.core.instant import Instant


class TokenKind(StrEnum):
    """What a token is for; one kind is never taken for the other."""

    REPLY = "reply"
    BOUNCE = "bounce"


class TokenStatus(StrEnum):
    """What a reply address proved."""

    VALID = "valid"
    EXPIRED = "expired"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Key:
    """A signing key. `id` is what tokens name; `fingerprint` is what the store remembers it by, and begins with the id."""

    secret: bytes = field(repr=False)
    id: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Token:
    """A genuine token: which delivery it names, and whether it is still valid."""

    kind: TokenKind
    number: int
    status: TokenStatus
    key_fingerprint: str


LENGTH: Final = 29
NUMBER_BITS: Final = 48

_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"
_VALUES: Final = {letter: value for value, letter in enumerate(_ALPHABET)}
_WEEK: Final = 7 * 24 * 3600 * 1_000_000
_WEEKS: Final = 1024  # two characters: the count goes round after 19 years
_MAC_BYTES: Final = 10


def make_key(secret: bytes) -> Key:
    """The key made of a secret of any length."""
    digest = sha256(b"postroom token key\0" + secret).digest()
    fingerprint = digest[:8].hex()
    return Key(secret, key_id_of(fingerprint), fingerprint)


def key_id_of(fingerprint: str) -> int:
    """What the tokens of a key name it, by its fingerprint: the key itself may be lost."""
    return int(fingerprint[:2], 16) & 31


def mint(key: Key, kind: TokenKind, mailbox_id: str, number: int, expires_at: Instant) -> str:
    """The token of a delivery, valid through the week in which `expires_at` lies."""
    week = expires_at // _WEEK % _WEEKS
    mac = _mac(key, kind, mailbox_id, number, week)
    return _letters(((key.id << 10 | week) << 50 | number) << 80 | mac)


def read(
    text: str, keys: Iterable[Key], kind: TokenKind, mailbox_id: str, now: Instant
) -> Token | None:
    """The token that the text is, None when it is not genuine."""
    folded = text.lower()
    if len(folded) != LENGTH or not set(folded) <= _VALUES.keys():
        return None
    key_id, week = _number(folded[:1]), _number(folded[1:3])
    number, mac = _number(folded[3:13]), _number(folded[13:])
    if number >> NUMBER_BITS:
        return None
    found = None
    for key in keys:
        expected = _mac(key, kind, mailbox_id, number, week)
        is_it = hmac.compare_digest(_bytes(expected), _bytes(mac))
        if is_it and key.id == key_id:
            found = key
    if found is None:
        return None
    status = TokenStatus.EXPIRED if _is_past(week, now) else TokenStatus.VALID
    return Token(kind, number, status, found.fingerprint)


def _is_past(week: int, now: Instant) -> bool:
    """Whether the week lies behind; of two readings of a count that goes round, the nearer one."""
    behind = (now // _WEEK - week) % _WEEKS
    return 0 < behind < _WEEKS // 2


def _mac(key: Key, kind: TokenKind, mailbox_id: str, number: int, week: int) -> int:
    signed = b"\0".join((kind.encode(), mailbox_id.encode(), b"%d" % number, b"%d" % week))
    return int.from_bytes(hmac.digest(key.secret, signed, "sha256")[:_MAC_BYTES], "big")


def _letters(value: int) -> str:
    """At once, for a job may ask for two thousand of them: b32encode takes five octets for eight letters."""
    return b32encode(value.to_bytes(20, "big"))[-LENGTH:].decode().lower()


def _number(letters: str) -> int:
    value = 0
    for letter in letters:
        value = value << 5 | _VALUES[letter]
    return value


def _bytes(value: int) -> bytes:
    return value.to_bytes(_MAC_BYTES, "big")
