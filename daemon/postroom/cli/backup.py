"""Saving everything: backup.

A backup is written under another name, read back and proven, and only then called what it is to be called: a file of
that name is a whole backup, or the one before. What the daemon is made of is imported only when it is needed.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import click

from postroom.cli.desk import Desk, at_desk
from postroom.cli.ending import signals_end_it
from postroom.cli.exits import Ended, Exit
from postroom.cli.paper import Json, data, emit, plain, warn
from postroom.client.errors import Unreachable
from postroom.ports.errors import (
    AlreadyRunning,
    BackupDamaged,
    ConfigError,
    PostroomError,
    StateRefused,
)


_PIECE_BYTES: Final = 256 * 1024
STANDARD: Final = "-"


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@at_desk(retry_s=0)
def backup(desk: Desk, file: Path) -> int:
    """Save everything to one file, while the daemon runs or not.

    For root and the daemon's own user. FILE is 0600 and replaced only by a whole backup; - writes to the standard
    output. It has all mail and the key of reply addresses: encrypt it before it leaves this machine.
    Exits 1 when files are missing from the spool.
    """
    _check_target(file)
    with telling(), signals_end_it():
        try:
            with desk.client.backup() as stream:
                found = _save(stream, stream.expected_bytes, file)
        except Unreachable as away:
            if away.is_answer_lost or away.is_forbidden or desk.config is None:
                raise
            found = _save_standing(desk, desk.config, file)
    if str(file) != STANDARD or desk.is_json:
        _tell_saved(desk, found)
    return Exit.FOUND if found["missing"] or found["damaged"] else Exit.OK


def _save_standing(desk: Desk, config: Path, file: Path) -> Json:
    """The same of a store that no daemon uses, read from its directory."""
    from postroom.config.loading import find_state_dir  # noqa: PLC0415 - see above
    from postroom.ops.host import SystemClock  # noqa: PLC0415
    from postroom.service.restoring import standing_backup  # noqa: PLC0415

    with standing_backup(find_state_dir(config), SystemClock().now()) as (expected, pieces):
        return _save(_Pieces(pieces), expected, file)


def _save(stream: _Readable, expected_bytes: int, file: Path) -> Json:
    if str(file) == STANDARD:
        return _pass_on(stream)
    _check_room(file.parent, expected_bytes)
    draft = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(draft, flags, 0o600), "wb") as out:
            while piece := stream.read(_PIECE_BYTES):
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())
            size_bytes = out.tell()
        with draft.open("rb") as written:
            found = _proven(written, size_bytes)
        draft.replace(file)
        _sync(file.parent)
    finally:
        draft.unlink(missing_ok=True)
    return {"file": str(file.absolute()), **found}


def _pass_on(stream: _Readable) -> Json:
    tee = _Tee(stream, sys.stdout.buffer)
    found = _proven(tee, 0)
    while tee.read(_PIECE_BYTES):
        pass
    sys.stdout.buffer.flush()
    return {"file": None, **found, "size_bytes": tee.size_bytes}


def _proven(stream: _Readable, size_bytes: int) -> Json:
    from postroom.ops.archive import unpack  # noqa: PLC0415 - see above

    manifest = unpack(stream)
    return {
        "size_bytes": size_bytes,
        "created_at": manifest.origin.created_at,
        "instance_id": manifest.origin.instance_id,
        "database_bytes": manifest.database.size_bytes,
        "files": manifest.spool_files,
        "files_bytes": manifest.spool_bytes,
        "missing": list(manifest.missing),
        "damaged": list(manifest.damaged),
    }


def _check_target(file: Path) -> None:
    """Said before the daemon is asked for anything."""
    if str(file) == STANDARD:
        if sys.stdout.isatty():
            problem = "A backup is no text: lead the output into a file or a program."
            raise click.UsageError(problem)
        return
    if file.exists() and not file.is_file():
        problem = f"{file} is there, and no file."
        raise click.UsageError(problem)
    if not os.access(file.parent, os.W_OK | os.X_OK):
        problem = f"{file.parent} is no folder in which a file can be made."
        raise click.UsageError(problem)


def _check_room(folder: Path, expected_bytes: int) -> None:
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    if free < expected_bytes:
        told = f"the backup needs {expected_bytes:,} bytes in {folder}, and {free:,} are free"
        raise Ended(told, exit_code=Exit.IO, code="storage_full")


@contextmanager
def telling() -> Iterator[None]:
    """What goes wrong in our own house, with its exit code and the word for it."""
    try:
        yield
    except PostroomError as error:
        kinds = (
            (ConfigError, Exit.CONFIG, "settings_wrong"),
            (StateRefused, Exit.CONFIG, "state_refused"),
            (AlreadyRunning, Exit.TRY_LATER, "already_running"),
            (BackupDamaged, Exit.BAD_DATA, "backup_damaged"),
        )
        other = (PostroomError, Exit.IO, "store_failed")
        _, exit_code, code = next((row for row in kinds if isinstance(error, row[0])), other)
        raise Ended(str(error), exit_code=exit_code, code=code) from error


def _sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@dataclass(slots=True)
class _Pieces:
    """Pieces as something to read from; what was read too much waits."""

    pieces: Iterator[bytes]
    rest: bytes = b""

    def read(self, size: int, /) -> bytes:
        while not self.rest:
            piece = next(self.pieces, None)
            if piece is None:
                return b""
            self.rest = piece
        found, self.rest = self.rest[:size], self.rest[size:]
        return found


@dataclass(slots=True)
class _Tee:
    """Whatever is read here also goes out there."""

    stream: _Readable
    out: BinaryIO
    size_bytes: int = field(default=0)

    def read(self, size: int, /) -> bytes:
        piece = self.stream.read(size)
        self.out.write(piece)
        self.size_bytes += len(piece)
        return piece


def _tell_saved(desk: Desk, found: Json) -> None:
    if desk.is_json:
        emit(found)
        return
    files = {0: "no file", 1: "1 file"}.get(found["files"], f"{found['files']:,} files")
    told = f"{found['file']}: {found['size_bytes']:,} bytes, the database and {files} of the spool; read back and whole."
    data(plain(told))
    lost = [*found["missing"], *found["damaged"]]
    if lost:
        warn(f"warning: {len(lost):,} files that mail needs are missing from the spool or damaged,")
        warn(f"  the first of them {plain(lost[0])}. That mail will fail (attachment_missing).")
