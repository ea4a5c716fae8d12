"""The one door to dkimpy: the header's part of a signature, with a key that is at hand. Imported and run in a thread.

The library gets only the fields that the signature names, and no body: the body's digest is ours (bodydigest). What it
raises, and it raises much that is not its own, is no pass. Known limits: Ed25519 needs a library that is not here.
"""

import base64
import binascii
import logging
from dataclasses import dataclass
from typing import Final

import dkim  # type: ignore[import-untyped]
from dkim.crypto import (  # type: ignore[import-untyped]
    UnparsableKeyError,
    parse_public_key,
)

from postroom.inbound.verify.rawmail import RawMail
from postroom.inbound.verify.signature import KeyRecord, Signature


# It tells its errors with strangers' text in them.
_QUIET: Final = logging.getLogger("postroom.dkim")
_QUIET.disabled = True
_EXPONENT_LEAST: Final = 3
# Larger ones cost the loop a tenth of a second, and nobody needs them.
_EXPONENT_BITS_MOST: Final = 32


@dataclass(frozen=True, slots=True)
class RsaKey:
    """How large a key is, and whether its exponent is one that honest keys have."""

    bits: int
    is_odd: bool


def measure(key: str) -> RsaKey | None:
    """The RSA key in base64; None where it is none."""
    try:
        parsed = parse_public_key(base64.b64decode(key, validate=True))
    except (UnparsableKeyError, binascii.Error, ValueError, AssertionError, IndexError, TypeError):
        return None
    modulus, exponent = int(parsed["modulus"]), int(parsed["publicExponent"])
    is_usual = (
        _EXPONENT_LEAST <= exponent < 1 << _EXPONENT_BITS_MOST and exponent % 2 and modulus % 2
    )
    return RsaKey(modulus.bit_length(), is_odd=not is_usual)


def is_genuine(signature: Signature, key: KeyRecord, mail: RawMail) -> bool:
    """Whether the key's owner signed these fields (the body's digest among them)."""
    named = set(signature.names)
    if any(one.name in named and not one.is_plain for one in mail.fields):
        return False  # whoever shows the mail reads such a field, and the library can not
    lines = [one.line for one in mail.fields if one.name in named]
    if "dkim-signature" in named:
        lines = [one for one in lines if one != signature.field.line]
    # The signature itself comes first, so that it is the one that is looked at.
    text = b"".join((signature.field.line, *lines, b"\r\n"))
    try:
        checked = dkim.DKIM(text, minkey=0, logger=_QUIET)
        prepared = checked.verify_headerprep(0)
        if not prepared:
            return False
        tags, names, fields = prepared
        del tags[b"bh"]  # else it would look for the body
        answer = key.text.encode("latin-1")
        genuine = checked.verify_sig(tags, names, fields[0], lambda *_, **__: answer)
    except Exception:  # noqa: BLE001 - it raises IndexError, ValueError and more on strangers' text
        return False
    return genuine is True
