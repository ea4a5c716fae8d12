"""DKIM (RFC 6376, RFC 8301): every signature up to five, with keys asked for beforehand, and our policy over it.

What a signature does not cover it does not vouch for: part of a body (`l=`), an unsigned From, a weak key, a time that is
over make it `policy`, never `pass` (HAZARDS D6). No key is `permerror`, no answer is `temperror`; neither is `fail`.
Known limits: Ed25519 (RFC 8463) is `neutral`, since nothing here can verify it; a key in testing mode (`t=y`) counts.
"""

import asyncio
import base64
import binascii
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final

from postroom.core.authentication import Dkim, Outcome
from postroom.inbound.verify.bodydigest import BodyDigest, digest_body
from postroom.inbound.verify.rawmail import RawMail
from postroom.inbound.verify.signature import (
    KeyRecord,
    Signature,
    Unreadable,
    covered_names,
    read_key,
)
from postroom.ports.resolving import Answer, Found, Kind, Lookup, NoAnswer, Nothing, Resolver


_BITS_LEAST: Final = 1024
_BITS_MOST: Final = 4096
_ALGORITHM: Final = "rsa-sha256"
_NAMED_ALGORITHMS: Final = frozenset({_ALGORITHM, "rsa-sha1", "ed25519-sha256"})


@dataclass(frozen=True, slots=True)
class _Found:
    """What a signature came to."""

    result: Outcome
    why: str | None
    key_bits: int | None = None


async def check_dkim(
    resolver: Resolver,
    executor: Executor,
    mail: RawMail,
    signatures: Sequence[Signature | Unreadable],
    now_s: int,
) -> tuple[Dkim, ...]:
    """What each of the signatures came to, in their order."""
    judged = [_before_key(one, mail, now_s) for one in signatures]
    async with asyncio.TaskGroup() as group:
        asked = [
            group.create_task(resolver.ask(Lookup(Kind.TXT, one.key_name)))
            for one, found in zip(signatures, judged, strict=True)
            if isinstance(one, Signature) and found is None
        ]
    answers = iter([task.result() for task in asked])
    work = [
        (one, next(answers)) if isinstance(one, Signature) and found is None else found
        for one, found in zip(signatures, judged, strict=True)
    ]
    found = await asyncio.get_running_loop().run_in_executor(executor, _verify_all, mail, work)
    return tuple(_told(one, result, mail) for one, result in zip(signatures, found, strict=True))


def _before_key(signature: Signature | Unreadable, mail: RawMail, now_s: int) -> _Found | None:
    """What can be said without the key; None where that is not all."""
    if isinstance(signature, Unreadable):
        outcome = Outcome.POLICY if signature.is_too_much else Outcome.PERMERROR
        return _Found(outcome, signature.why)
    match signature.algorithm:
        case "rsa-sha256":
            pass
        case "rsa-sha1":
            return _Found(Outcome.POLICY, "rsa-sha1 proves nothing any more (RFC 8301)")
        case "ed25519-sha256":
            return _Found(Outcome.NEUTRAL, "Ed25519 can not be verified here")
        case _:
            return _Found(Outcome.PERMERROR, "its algorithm is unknown")
    if signature.expires_at is not None and signature.expires_at < now_s:
        return _Found(Outcome.POLICY, "it has expired")
    signed = signature.names.count("from")
    if not signed:
        return _Found(Outcome.POLICY, "it does not cover From")
    if signed < len(mail.every("from")):
        return _Found(Outcome.POLICY, "it covers one From of several")
    return None


def _verify_all(
    mail: RawMail, work: Sequence[tuple[Signature, Answer] | _Found | None]
) -> list[_Found]:
    """Runs in a thread."""
    digests: dict[bool, BodyDigest] = {}
    return [
        _verify(one[0], one[1], mail, digests)
        if isinstance(one, tuple)
        else one or _Found(Outcome.PERMERROR, None)
        for one in work
    ]


def _verify(
    signature: Signature, answer: Answer, mail: RawMail, digests: dict[bool, BodyDigest]
) -> _Found:
    match answer:
        case NoAnswer():
            return _Found(Outcome.TEMPERROR, "DNS gave no answer for its key in time")
        case Nothing():
            return _Found(Outcome.PERMERROR, "there is no key")
        case Found(records):
            return _verify_by(read_key(records), signature, mail, digests)


def _verify_by(
    key: KeyRecord | str, signature: Signature, mail: RawMail, digests: dict[bool, BodyDigest]
) -> _Found:
    if isinstance(key, str):
        return _Found(Outcome.PERMERROR, key)
    if not key.key:
        return _Found(Outcome.PERMERROR, "its key was revoked")
    if key.is_strict and signature.identity_domain != signature.domain:
        return _Found(Outcome.PERMERROR, "the key is not for subdomains")
    return _verify_with(key, signature, mail, digests)


def _verify_with(
    key: KeyRecord, signature: Signature, mail: RawMail, digests: dict[bool, BodyDigest]
) -> _Found:
    from postroom.inbound.verify.dkimdoor import is_genuine, measure  # noqa: PLC0415 - slow to import

    rsa = measure(key.key) if key.kind == "rsa" else None
    if rsa is None:
        return _Found(Outcome.PERMERROR, "the key is damaged or of another kind")
    if rsa.bits > _BITS_MOST or rsa.is_odd:
        return _Found(Outcome.POLICY, "the key is larger than is looked at", rsa.bits)
    if rsa.bits < _BITS_LEAST:
        return _Found(Outcome.POLICY, "the key is too weak", rsa.bits)
    body = _digest(signature, mail, digests)
    if body is None:
        return _Found(Outcome.TEMPERROR, "the message could not be read", rsa.bits)
    if signature.length is not None and signature.length < body.length:
        return _Found(Outcome.POLICY, "it covers a part of the body only", rsa.bits)
    if _decoded(signature.body_hash) != body.digest:
        return _Found(Outcome.FAIL, "the body is not the one that was signed", rsa.bits)
    if not is_genuine(signature, key, mail):
        return _Found(Outcome.FAIL, "the headers are not those that were signed", rsa.bits)
    return _Found(Outcome.PASS, None, rsa.bits)


def _digest(
    signature: Signature, mail: RawMail, digests: dict[bool, BodyDigest]
) -> BodyDigest | None:
    """The body's digest, made once for all signatures of a kind; None where the file can not be read."""
    is_relaxed = signature.is_body_relaxed
    try:
        if is_relaxed not in digests:
            digests[is_relaxed] = digest_body(mail.body(), is_relaxed=is_relaxed)
    except OSError:
        return None
    return digests[is_relaxed]


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _told(signature: Signature | Unreadable, found: _Found, mail: RawMail) -> Dkim:
    if isinstance(signature, Unreadable):
        return Dkim(found.result, None, None, None, None, (), is_aligned=False, why=found.why)
    is_named = signature.algorithm in _NAMED_ALGORITHMS
    return Dkim(
        result=found.result,
        domain=signature.domain,
        selector=signature.selector,
        algorithm=signature.algorithm if is_named else None,
        key_bits=found.key_bits,
        signed_headers=covered_names(signature, mail),
        is_aligned=False,
        why=found.why,
    )
