"""The keys that sign reply addresses: those of the settings, and the one that the daemon makes for itself (CONTRACT §8).

Rules: a key is made only in a store that never issued a token; it lies in `state_dir`, whole and durable before it is
used, for its owner alone, and stays in use behind keys from the settings. A key that is missing while its tokens may
still be valid ends the start: people would be told that an address does not exist which we gave them.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postroom.core.instant import Instant
from postroom.core.listening import TokenRules
from postroom.core.token import Key, key_id_of, make_key
from postroom.ports.errors import StateRefused
from postroom.ports.host import Entropy
from postroom.ports.inbox import Inbox


FILE: Final = "token.key"

_BYTES: Final = 32
_OTHERS: Final = 0o077
_BACK: Final = "Bring it back, or start once with --accept-lost-keys: mail to those addresses is put off (451) until they have expired."


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Keys, newest first: the first one signs. `lost_ids` are those of missing keys; nobody can tell what bears them."""

    keys: tuple[Key, ...]
    lost_ids: frozenset[int]


async def open_keys(
    rules: TokenRules,
    state_dir: Path,
    inbox: Inbox,
    entropy: Entropy,
    at: Instant,
    *,
    accepts_lost: bool,
) -> KeyRing:
    """The keys to use from now on, noted in the store.

    Raises: StateRefused when a key is missing whose tokens may be valid, or the file of ours is not what we wrote.
    """
    path = state_dir / FILE
    own = _find_own(path)
    if own is None and not rules.keys:
        if await inbox.has_issued() and not accepts_lost:
            message = f"{path} is gone, the key of reply addresses that are out there. {_BACK}"
            raise StateRefused(message)
        own = _make_own(path, entropy)
    keys = _known(rules, own)
    lost = await _find_lost(rules, keys, inbox, at)
    if (
        lost and not accepts_lost
    ):  # before the new ones are noted: they issued nothing, and may go again
        raise StateRefused(_missing(lost))
    await inbox.remember_keys(keys, at, rules.expiry)
    return KeyRing(keys, frozenset(key_id_of(fingerprint) for fingerprint in lost))


async def check_keys(rules: TokenRules, state_dir: Path, inbox: Inbox, at: Instant) -> None:
    """Nothing is made or noted.

    Raises: StateRefused when a key would be missing whose tokens may be valid.
    """
    lost = await _find_lost(rules, _known(rules, _find_own(state_dir / FILE)), inbox, at)
    if lost:
        raise StateRefused(_missing(lost))


def _known(rules: TokenRules, own: Key | None) -> tuple[Key, ...]:
    """Each once, those of the settings first."""
    every = (*rules.keys, *((own,) if own else ()))
    return tuple({key.fingerprint: key for key in every}.values())


async def _find_lost(
    rules: TokenRules, keys: Sequence[Key], inbox: Inbox, at: Instant
) -> list[str]:
    known = {key.fingerprint for key in keys}
    issued = await inbox.remember_keys((), at, rules.expiry)
    return [fingerprint for fingerprint in issued if fingerprint not in known]


def _missing(fingerprints: Sequence[str]) -> str:
    named = ", ".join(fingerprints)
    return f"A key is missing from [tokens] keys whose reply addresses are out there (fingerprint {named}). {_BACK}"


def _find_own(path: Path) -> Key | None:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            secret = file.read(_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"{path} can not be read: {error.strerror}. It is the key of reply addresses."
        raise StateRefused(message) from error
    if mode & _OTHERS:
        message = f"Others may read {path}, the key of reply addresses. chmod 600 it."
        raise StateRefused(message)
    if len(secret) != _BYTES:
        message = f"{path} is damaged: it is not the {_BYTES} bytes that were written. {_BACK}"
        raise StateRefused(message)
    return make_key(secret)


def _make_own(path: Path, entropy: Entropy) -> Key:
    """A new key, on the disk before anyone hears of it."""
    secret = entropy.token(8 * _BYTES).to_bytes(_BYTES, "big")
    temporary = path.with_suffix(".new")
    try:
        temporary.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(secret)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync(path.parent)
    except OSError as error:
        message = (
            f"{path} can not be written: {error.strerror}. It is to be the key of reply addresses."
        )
        raise StateRefused(message) from error
    return make_key(secret)


def _sync(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)
