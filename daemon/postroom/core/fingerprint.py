"""The identity of a request (CONTRACT §3, replay and merge): when a second job under one key is the same job.

The canonical form holds the fields as they were given, but for those that equal their default: a null, an empty list
or object, false. `priority` and `copies` are in it as they were understood, so that spelling out a default changes
nothing. `auto_submitted` is in it as given, because its default is the mailbox's and may change between two tries.
Header names are folded, arrays keep their order, objects have none. `idempotency_key`, `on_duplicate`, `trace_id` and
the bytes of attachments are never in it; a merge also leaves out the recipients.

Hashes are kept for ever: what changes this form raises HASH_VERSION, and the old form stays for old keys.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Final

from postroom.core.job import Job, OnDuplicate


HASH_VERSION: Final = 1

_RECIPIENTS: Final = frozenset({"to", "cc", "bcc"})
_NEVER: Final = frozenset({"idempotency_key", "on_duplicate", "trace_id", "priority", "copies"})

Attached = tuple[dict[str, object], str | None]


def key_hash(key: str) -> bytes:
    """What is stored of a key: 32 bytes that say nothing of it."""
    return hashlib.sha256(b"postroom key 1\0" + key.encode()).digest()


def request_hash(job: Job, mode: OnDuplicate) -> bytes:
    """The identity of the job as a replay or as a merge compares it, 32 bytes."""
    canonical = canonical_form(job, mode)
    text = json.dumps(canonical, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"postroom job {HASH_VERSION} {mode}\0{text}".encode()).digest()


def canonical_form(job: Job, mode: OnDuplicate) -> dict[str, object]:
    """The fields that count."""
    left_out = _NEVER | _RECIPIENTS if mode is OnDuplicate.MERGE else _NEVER
    form: dict[str, object] = {"priority": job.lane.word, "copies": job.copies.value}
    for name, given in job.spec.items():
        if name in left_out:
            continue
        value = _canonical(name, given)
        if value is not None:
            form[name] = value
    return form


def attachment_specs(job: Job) -> tuple[dict[str, object], ...]:
    """Each attachment as it was given, in order: what is paired with digests for `same_attachments`."""
    given = job.spec.get("attachments")
    return tuple(one for one in given if isinstance(one, dict)) if isinstance(given, list) else ()


def same_attachments(stored: Sequence[Attached], current: Sequence[Attached]) -> bool:
    """Whether these are the same attachments: by their specs, and by digest where both can be read.

    A path that can no longer be read counts by its name, as does an upload that is gone.
    """
    return len(stored) == len(current) and all(
        _bare(before[0]) == _bare(now[0])
        and (before[1] is None or now[1] is None or before[1] == now[1])
        for before, now in zip(stored, current, strict=True)
    )


def _canonical(name: str, given: object) -> object:
    """One field's value, None where it says no more than its default."""
    match name:
        case "to" | "cc" | "bcc" | "reply_to" if isinstance(given, list):
            return [_party(one) for one in given] or None
        case "attachments" if isinstance(given, list):
            return [_bare(one) for one in given if isinstance(one, dict)] or None
        case "headers" if isinstance(given, dict):
            return {header.lower(): value for header, value in given.items()} or None
        case "metadata":
            return given or None
        case _:
            return given


def _party(given: object) -> object:
    """An address with its display name; an empty name is none."""
    if not isinstance(given, dict):
        return given
    return [given["address"], given["name"]] if given.get("name") else given["address"]


def _bare(given: dict[str, object]) -> dict[str, object]:
    """An object without nulls and falses."""
    return {name: value for name, value in given.items() if value not in {None, False}}
