"""Staged uploads: files that come before the job that needs them, streamed in and out."""

import re
from typing import Final
from urllib.parse import quote

from postroom.api.body import invite, stream_body
from postroom.api.problems import NOT_FOUND, Code, Refusal, invalid
from postroom.api.render import render_staged
from postroom.api.requests import Asked, StageQuery
from postroom.api.routing import Answer, Call, Content, Result, Route
from postroom.api.shapes import Staged
from postroom.core.words import shown
from postroom.ports.uploads import Upload, UploadTooLarge


_CREATED: Final = 201
_OCTETS: Final = "application/octet-stream"
# RFC 2045 §5.1: tokens; parameters are not kept, they would have to be checked one by one.
_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}")
# HAZARDS A7: what every file system and mail program takes, in octets.
_NAME_OCTETS: Final = 150


async def stage(call: Call[StageQuery, None]) -> Result:
    """Keep an upload."""
    name = clean_filename(call.query.filename)
    if name is None:
        return invalid("/filename", "Nothing is left of the name without its path and controls.")
    limit = _limit(call)
    refusal = await invite(call.request, limit)
    if refusal is not None:
        return _too_large(limit) if refusal.code is Code.BODY_TOO_LARGE else refusal
    upload = Upload(name, _content_type(call), call.actor, limit)
    pieces = stream_body(call.request, call.parts.bounds.body_time)
    found = await call.parts.uploads.stage(upload, pieces)
    if isinstance(found, UploadTooLarge):
        return _too_large(found.limit_bytes)
    return Answer(render_staged(found), _CREATED, {"Location": f"/v1/attachments/{found.ref}"})


async def get_attachment(call: Call[Asked, None]) -> Result:
    """The bytes of an upload."""
    found = await call.parts.uploads.find_staged(call.id)
    pieces = None if found is None else await call.parts.uploads.open_staged(found)
    if found is None or pieces is None:
        return NOT_FOUND
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(found.filename, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "ETag": f'"{found.sha256}"',
    }
    return Content(pieces, found.content_type, found.size_bytes, headers)


async def head_attachment(call: Call[Asked, None]) -> Result:
    """The same without the bytes."""
    return await get_attachment(call)


def clean_filename(given: str) -> str | None:
    """The last component of a path in either style, without controls, cut to 150 octets; None when nothing is left."""
    last = given.replace("\\", "/").rpartition("/")[2]
    name = shown(last, len(last)).replace("?", "_").strip()
    stem, dot, ending = name.rpartition(".")
    tail = dot + ending if stem and len(ending) <= len("markdown") else ""
    head = name[: len(name) - len(tail)].encode()[: _NAME_OCTETS - len(tail.encode())]
    cut = head.decode(errors="ignore") + tail
    return None if cut in {"", ".", ".."} else cut


def _content_type(call: Call[StageQuery, None]) -> str:
    given = (call.header("Content-Type") or _OCTETS).partition(";")[0].strip().lower()
    return given if _TYPE.fullmatch(given) else _OCTETS


def _limit(call: Call[StageQuery, None]) -> int:
    limits = [one.limits.attachment_bytes for one in call.parts.mailboxes.values()]
    return 0 if not limits or 0 in limits else max(limits)


def _too_large(limit: int) -> Refusal:
    return Refusal(Code.ATTACHMENT_TOO_LARGE, f"No mailbox takes more than {limit:,} bytes.")


ROUTES: Final = (
    Route(
        "POST",
        "/attachments",
        stage,
        "Stage a file",
        {201: Staged},
        (Code.ATTACHMENT_TOO_LARGE, Code.BODY_TIMEOUT, Code.BODY_INCOMPLETE),
        StageQuery,
        takes_work=True,
        is_upload=True,
    ),
    Route(
        "GET",
        "/attachments/{ref}",
        get_attachment,
        "The bytes of a staged file",
        {200: None},
        content_type=_OCTETS,
    ),
    Route(
        "HEAD",
        "/attachments/{ref}",
        head_attachment,
        "Whether a staged file is there",
        {200: None},
        content_type=_OCTETS,
    ),
)
