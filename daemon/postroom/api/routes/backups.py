"""A backup of the running daemon: one tar with all of its mail, handed to those who could read the files anyway."""

from datetime import timedelta
from typing import Final

from postroom.api.problems import Code, Refusal
from postroom.api.requests import Asked
from postroom.api.routing import Call, Content, Result, Route
from postroom.ports.backups import BackupUnderWay
from postroom.ports.errors import StorageFull


_TAR: Final = "application/x-tar"
_STALL: Final = timedelta(seconds=60)  # a slow disk at the other end is none that stands still
_EXPECTED: Final = "X-Postroom-Expected-Bytes"


async def back_up(call: Call[Asked, None]) -> Result:
    """The tar; it begins when the copy of the database is made."""
    if not call.parts.is_operator(call.actor.uid):
        return Refusal(Code.NOT_ALLOWED, "A backup has all mail and the key of reply addresses.")
    try:
        backup = await call.parts.backups.begin(call.actor.uid)
    except StorageFull as full:
        call.parts.on_store_refused(full)
        return Refusal(Code.STORAGE_FULL, "There is no room for a copy of the database.")
    if isinstance(backup, BackupUnderWay):
        return Refusal(Code.BACKUP_UNDER_WAY, "The daemon makes one at a time.")
    headers = {_EXPECTED: str(backup.expected_bytes)}
    return Content(backup.pieces, _TAR, None, headers, _STALL, backup.close)


ROUTES: Final = (
    Route(
        "POST",
        "/backup",
        back_up,
        "A backup of everything, as a tar",
        {200: None},
        (Code.NOT_ALLOWED, Code.BACKUP_UNDER_WAY, Code.STORAGE_FULL),
        content_type=_TAR,
        takes_work=True,
    ),
)
