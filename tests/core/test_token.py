"""Tokens stay readable: what went out years ago still says what it said."""

import base64
import hashlib
import hmac

import pytest

from postroom.core.instant import SECOND, Instant
from postroom.core.token import Key, TokenKind, TokenStatus, key_id_of, make_key, mint, read


WEEK = 7 * 24 * 3600 * SECOND
NOW = Instant(2970 * WEEK)
KEY = make_key(b"k" * 32)


def token_of(number: int = 7, expires_at: Instant = NOW, key: Key = KEY) -> str:
    return mint(key, TokenKind.REPLY, "support", number, expires_at)


def status_of(text: str, now: Instant = NOW, key: Key = KEY) -> TokenStatus | None:
    found = read(text, [key], TokenKind.REPLY, "support", now)
    return None if found is None else found.status


def test_a_key_is_named_by_a_digest_that_does_not_tell_it() -> None:
    digest = hashlib.sha256(b"postroom token key\0" + b"k" * 32).digest()
    assert KEY.fingerprint == digest[:8].hex()
    assert KEY.id == digest[0] % 32 == key_id_of(KEY.fingerprint)
    assert "kkkk" not in repr(KEY)


@pytest.mark.parametrize("number", [0, 1, 7, (1 << 48) - 1])
@pytest.mark.parametrize("kind", TokenKind)
def test_a_token_is_key_week_number_and_80_bits_of_hmac(kind: TokenKind, number: int) -> None:
    week = 2970 % 1024
    signed = f"{kind.value}\0support\0{number}\0{week}".encode()
    mac = hmac.new(KEY.secret, signed, hashlib.sha256).digest()[:10]
    bits = KEY.id << 140 | week << 130 | number << 80 | int.from_bytes(mac, "big")
    text = base64.b32encode((bits << 15).to_bytes(20, "big")).decode()[:29].lower()
    assert mint(KEY, kind, "support", number, NOW) == text
    found = read(text.upper(), [KEY], kind, "support", NOW)
    assert found is not None
    assert (found.kind, found.number, found.key_fingerprint) == (kind, number, KEY.fingerprint)


def test_a_number_that_no_delivery_has_is_not_genuine_whoever_signed_it() -> None:
    assert status_of(token_of((1 << 48) - 1)) is TokenStatus.VALID
    assert status_of(token_of(1 << 48)) is None


def test_letters_that_are_not_of_the_alphabet_are_no_token() -> None:
    assert status_of("1" + token_of()[1:]) is None
    assert status_of(token_of() + "a") is None
    assert status_of(token_of()[:-1]) is None
    assert status_of("abcdefghijklmnopqrstuvwxyz234567"[:29]) is None


def test_a_key_that_signed_under_another_id_is_not_believed() -> None:
    renamed = Key(KEY.secret, (KEY.id + 1) % 32, KEY.fingerprint)
    assert status_of(token_of(), key=renamed) is None


@pytest.mark.parametrize(
    ("weeks", "status"),
    [
        pytest.param(-511, TokenStatus.VALID, id="long before"),
        pytest.param(0, TokenStatus.VALID, id="in its week"),
        pytest.param(1, TokenStatus.EXPIRED, id="a week after"),
        pytest.param(511, TokenStatus.EXPIRED, id="nine years after"),
        pytest.param(512, TokenStatus.VALID, id="when the count is nearer its next turn"),
    ],
)
def test_it_is_valid_through_its_week_and_then_expired(weeks: int, status: TokenStatus) -> None:
    text = token_of(expires_at=Instant(NOW + WEEK - 1))
    assert status_of(text, Instant(NOW + weeks * WEEK)) is status
