"""The identity of a request (CONTRACT §3, replay and merge): when a second job under one key is the same job.

The canonical form holds the fields as they were given, but for those that equal their default: a null, an empty list
or object, false. `priority` and `copies` are in it as they were understood, so that spelling out a default changes
nothing; an attachment by path has its name and type in it likewise. `auto_submitted` is in it as given, because its
default is the mailbox's and may change between two tries: who compares also asks for the `other_spelling`. Header
names are folded, arrays keep their order, objects have none. `idempotency_key`, `on_duplicate`, `trace_id`, `lease`, the bytes
of attachments and the refs of uploads are never in it: an upload is what was uploaded, and may be so again. A merge
also leaves out the recipients, and keeps the paths of files, of which a replay has the content to compare.

Hashes are kept for ever: what changes this form raises HASH_VERSION, and the old form stays for old keys.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from postroom.core.filename import harmless_name, type_of
from postroom.core.job import Job, OnDuplicate
from postroom.core.mailbox import AutoSubmitted


HASH_VERSION: Final = 1

_RECIPIENTS: Final = frozenset({"to", "cc", "bcc"})
_NEVER: Final = frozenset(
    {"idempotency_key", "on_duplicate", "trace_id", "priority", "copies", "lease"}
)

Attached = tuple[dict[str, object], str | None]


def key_hash(key: str) -> bytes:
    """What is stored of a key: 32 bytes that say nothing of it."""
    return hashlib.sha256(b"postroom key 1\0" + key.encode()).digest()


def request_hash(job: Job, mode: OnDuplicate) -> bytes:
    """The identity of the job as a replay or as a merge compares it, 32 bytes."""
    canonical = canonical_form(job, mode)
    text = json.dumps(canonical, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"postroom job {HASH_VERSION} {mode}\0{text}".encode()).digest()


def other_spelling(job: Job, default: AutoSubmitted) -> Job:
    """The same job, with `auto_submitted` spelled out where it is left to the mailbox's default, or the other way."""
    if job.spec.get("auto_submitted") not in {None, default.value}:
        return job
    spec = {name: value for name, value in job.spec.items() if name != "auto_submitted"}
    if job.spec.get("auto_submitted") is None:
        spec["auto_submitted"] = default.value
    return replace(job, spec=spec)


def canonical_form(job: Job, mode: OnDuplicate) -> dict[str, object]:
    """The fields that count."""
    left_out = _NEVER | _RECIPIENTS if mode is OnDuplicate.MERGE else _NEVER
    form: dict[str, object] = {"priority": job.lane.word, "copies": job.copies.value}
    for name, given in job.spec.items():
        if name in left_out:
            continue
        value = _attached(given, mode) if name == "attachments" else _canonical(name, given)
        if value is not None:
            form[name] = value
    return form


def attachment_specs(job: Job) -> tuple[dict[str, object], ...]:
    """Each attachment as it was given, in order: what is paired with digests for `same_attachments`."""
    given = job.spec.get("attachments")
    return tuple(one for one in given if isinstance(one, dict)) if isinstance(given, list) else ()


def same_attachments(stored: Sequence[Attached], current: Sequence[Attached]) -> bool:
    """Whether these are the same files, by digest where both can be read; what else their specs say is in the hash.

    A path that can no longer be read counts by its name, as does an upload that is gone.
    """
    return len(stored) == len(current) and all(
        _is_same_file(before, now) for before, now in zip(stored, current, strict=True)
    )


def _is_same_file(before: Attached, now: Attached) -> bool:
    if before[1] is not None and now[1] is not None:
        return before[1] == now[1]
    return all(before[0].get(name) == now[0].get(name) for name in ("path", "ref"))


def _canonical(name: str, given: object) -> object:
    """One field's value, None where it says no more than its default."""
    match name:
        case "to" | "cc" | "bcc" | "reply_to" if isinstance(given, list):
            return [_party(one) for one in given] or None
        case "headers" if isinstance(given, dict):
            return {header.lower(): value for header, value in given.items()} or None
        case "metadata" | "allow_new_recipients":
            return given or None
        case "if" if isinstance(given, dict):
            return {one: value for one, value in given.items() if value is not None}
        case _:
            return given


def _attached(given: object, mode: OnDuplicate) -> object:
    """What is said of attachments, without what only says where their bytes are found."""
    if not isinstance(given, list):
        return None
    return [_attachment(_bare(one), mode) for one in given if isinstance(one, dict)] or None


def _attachment(form: dict[str, object], mode: OnDuplicate) -> dict[str, object]:
    form.pop("ref", None)
    path = form.get("path")
    if not isinstance(path, str):
        return form
    if mode is OnDuplicate.REPLAY:
        del form["path"]
    name = str(form.setdefault("filename", harmless_name(path)))
    if form.get("content_type") == type_of(name):
        del form["content_type"]
    return form


def _party(given: object) -> object:
    """An address with its display name; an empty name is none."""
    if not isinstance(given, dict):
        return given
    return [given["address"], given["name"]] if given.get("name") else given["address"]


def _bare(given: dict[str, object]) -> dict[str, object]:
    """An object without nulls and falses."""
    return {name: value for name, value in given.items() if value not in {None, False}}
