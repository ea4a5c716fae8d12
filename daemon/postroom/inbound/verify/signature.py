"""A DKIM-Signature and a key record as tags (RFC 6376 §3.2, §3.5, §3.6.1), and what our policy says of them. Pure.

Everything that decides how much work a signature can make is judged here, before any work is done: the library behind it
has patterns that need the square of a run of spaces, and counts with numbers as long as a stranger writes them.
"""

import re
from dataclasses import dataclass
from typing import Final

from postroom.core.domainname import read_domain
from postroom.inbound.verify.rawmail import RawField, RawMail


SIGNATURES_MOST: Final = 5
NAMES_MOST: Final = 100
_FIELD_MOST: Final = 16 * 1024
_NAME_MOST: Final = 76
_RECORD_MOST: Final = 8192  # a key of 4,096 bits has some 800

_TAG: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
_SELECTOR: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,126}[A-Za-z0-9_])?")
_HEADER: Final = re.compile(rf"[!-9;-~]{{1,{_NAME_MOST}}}")
_NUMBER: Final = re.compile(r"[0-9]{1,12}")
_LENGTH: Final = re.compile(r"[0-9]{1,76}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_RUN: Final = re.compile(rb"\s{33}")
_NEEDED: Final = ("v", "a", "b", "bh", "d", "h", "s")
_CANONICAL: Final = {"simple", "relaxed"}


@dataclass(frozen=True, slots=True)
class Signature:
    """What a signature says of itself, as far as it makes sense."""

    field: RawField
    algorithm: str
    domain: str
    selector: str
    identity_domain: str
    names: tuple[str, ...]
    body_hash: str
    is_body_relaxed: bool
    length: int | None
    expires_at: int | None

    @property
    def key_name(self) -> str:
        """Where its key is."""
        return f"{self.selector}._domainkey.{self.domain}"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A signature that makes no sense; `is_too_much`: it would make too much work."""

    why: str
    is_too_much: bool = False


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key as its domain publishes it; `key` in base64, '' where it was revoked."""

    kind: str
    key: str
    is_strict: bool
    text: str


def read_signature(field: RawField) -> Signature | Unreadable:
    """The signature in the field, or what is wrong with it."""
    if len(field.line) > _FIELD_MOST or _RUN.search(field.line):
        return Unreadable("the field is too long or oddly folded", is_too_much=True)
    tags = read_tags(field.value.decode("utf-8", "replace"))
    if tags is None or any(not tags.get(name) for name in _NEEDED) or tags["v"] != "1":
        return Unreadable("the field is damaged")
    if tags["h"].count(":") >= NAMES_MOST:
        return Unreadable(f"it names more than {NAMES_MOST} headers", is_too_much=True)
    return _read_parts(field, tags)


def read_tags(text: str) -> dict[str, str] | None:
    """The tags of a list, values without the space around them; None where it is not one, or has one twice."""
    tags: dict[str, str] = {}
    for part in text.removesuffix(";").split(";"):
        name, equals, value = part.partition("=")
        name = name.strip()
        if not equals or not _TAG.fullmatch(name) or name in tags:
            return None
        tags[name] = value.strip()
    return tags


def read_key(records: tuple[str, ...]) -> KeyRecord | str:
    """The one key among the TXT records of its name, or what is wrong."""
    if any(len(one) > _RECORD_MOST for one in records):
        return "the key is longer than is looked at"
    found = [tags for tags in map(_key_tags, records) if tags is not None]
    if len(found) != 1:
        return "there is not exactly one key"
    ((text, tags),) = found
    hashes = _words(tags.get("h", "sha256"))
    services = _words(tags.get("s", "*"))
    if "sha256" not in hashes or not {"*", "email"} & set(services):
        return "the key is not for this"
    key = "".join(tags["p"].split())
    if key and not _BASE64.fullmatch(key):
        return "the key is damaged"
    return KeyRecord(tags.get("k", "rsa").lower(), key, "s" in _words(tags.get("t", "")), text)


def covered_names(signature: Signature, mail: RawMail) -> tuple[str, ...]:
    """The headers that the signature covers: those that stand in the message more often are not all signed."""
    there: dict[str, int] = {}
    for one in mail.fields:
        there[one.name] = there.get(one.name, 0) + 1
    signed: dict[str, int] = {}
    for name in signature.names:
        signed[name] = signed.get(name, 0) + 1
    return tuple(name for name, count in signed.items() if there.get(name, 0) <= count)


def _read_parts(field: RawField, tags: dict[str, str]) -> Signature | Unreadable:
    domain = read_domain(tags["d"])
    identity = read_domain(tags["i"].rpartition("@")[2]) if "i" in tags else domain
    names = tuple(name.lower() for name in _words(tags["h"]))
    header, slash, body = tags.get("c", "simple/simple").lower().partition("/")
    is_sound = (
        domain is not None
        and identity is not None
        and (identity == domain or identity.endswith(f".{domain}"))
        and _SELECTOR.fullmatch(tags["s"]) is not None
        and all(_HEADER.fullmatch(name) for name in names)
        and {header, body if slash else "simple"} <= _CANONICAL
        and tags.get("q", "dns/txt").lower() == "dns/txt"
        and all(_NUMBER.fullmatch(tags[name]) for name in ("t", "x") if name in tags)
        and ("l" not in tags or _LENGTH.fullmatch(tags["l"]) is not None)
    )
    if not is_sound or domain is None or identity is None:
        return Unreadable("the field is damaged")
    return Signature(
        field=field,
        algorithm=tags["a"].lower()[:32],
        domain=domain,
        selector=tags["s"].lower(),
        identity_domain=identity,
        names=names,
        body_hash="".join(tags["bh"].split()),
        is_body_relaxed=body == "relaxed",
        length=int(tags["l"]) if "l" in tags else None,
        expires_at=int(tags["x"]) if "x" in tags else None,
    )


def _key_tags(text: str) -> tuple[str, dict[str, str]] | None:
    """The tags of a text that is a key."""
    tags = read_tags(text.strip())
    if tags is None or "p" not in tags or tags.get("v", "DKIM1") != "DKIM1":
        return None
    return text, tags


def _words(text: str) -> list[str]:
    return [word for part in text.split(":") if (word := part.strip())]
