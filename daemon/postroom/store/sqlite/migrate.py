"""Numbered migrations: NNNN.sql in `migrations`, each one transaction together with its `user_version`.

A file that is not ours, or of a later version, is refused and not touched. Before an old one is migrated, a copy of it
is laid beside it; the copy says of itself that it is one, so that whoever starts from it is told what to look at.
"""

import sqlite3
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from postroom.ports.errors import StateRefused
from postroom.store.sqlite.copying import copy_into
from postroom.store.sqlite.state_dir import sync_directory
from postroom.store.sqlite.version import is_too_old, version


APPLICATION_ID: Final = 0x506F_7374  # "Post"


def shipped() -> tuple[str, ...]:
    """The migrations that this version has, in order."""
    folder = resources.files("postroom.store.sqlite") / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((folder / name).read_text("utf-8") for name in names)


def check_identity(conn: sqlite3.Connection, path: Path, latest: int) -> int:
    """The version of the file, 0 when it is new and empty; nothing is written.

    Raises: StateRefused when SQLite is too old, or the file is not ours or of a later version.
    """
    if is_too_old():
        message = f"SQLite {version()} is too old: 3.37 or later is needed"
        raise StateRefused(message)
    found: int = conn.execute("PRAGMA user_version").fetchone()[0]
    application: int = conn.execute("PRAGMA application_id").fetchone()[0]
    is_empty = conn.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if application != APPLICATION_ID and not (application == found == 0 and is_empty):
        message = f"{path} is a database of another program: give state_dir a directory of its own"
        raise StateRefused(message)
    if found > latest:
        message = (
            f"{path} was written by a later postroom (its version is {found}, this one knows {latest}):"
            " install that one again, or put the copy from before its upgrade in place"
        )
        raise StateRefused(message)
    return found


def migrate(
    conn: sqlite3.Connection, path: Path, present: int, migrations: Sequence[str]
) -> Path | None:
    """Bring the file from version `present` to the last migration; the copy that was made before, if any."""
    copy = None
    if 0 < present < len(migrations):
        copy = path.with_name(f"{path.name}.v{present}")
        _copy(conn, copy)
    for number, script in enumerate(migrations[present:], present + 1):
        try:
            conn.executescript(
                f"BEGIN IMMEDIATE; {script};"
                f" PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number}; COMMIT;"
            )
        finally:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
    return copy


def _copy(conn: sqlite3.Connection, copy: Path) -> None:
    draft = copy.with_name(copy.name + ".part")
    copy_into(conn, draft)
    draft.replace(copy)
    sync_directory(copy.parent)
