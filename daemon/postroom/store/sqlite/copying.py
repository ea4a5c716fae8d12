"""Copies of the database: made from one snapshot while others write, and each says of itself that it is a copy.

`VACUUM INTO` reads through its own connection and writes a file of its own, so the writer never waits for it; what was
deleted is not in the copy. Whoever opens a copy has restored it (see `opening`).
Known limits: while a copy is made the write-ahead log can not be cut short.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postroom.ports.errors import StorageFull
from postroom.store.sqlite.connection import open_reader
from postroom.store.sqlite.group import translated


_MARK: Final = "UPDATE instance SET is_backup = 1"
# A backup may go to another machine: it sends nothing by itself. A file that is merely carried there is still asked about.
_ANY_MACHINE: Final = "UPDATE instance SET machine_id = ''"
_SIZE: Final = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
_INSTANCE: Final = "SELECT instance_id FROM instance"
_NAMED: Final = "SELECT count(*), coalesce(sum(size_bytes), 0) FROM spool_file WHERE refs > 0"
_FILES: Final = "SELECT sha256, size_bytes FROM spool_file WHERE refs > 0 ORDER BY sha256"


def copy_into(conn: sqlite3.Connection, copy: Path) -> None:
    """A copy of the database of `conn`, 0600 from its first byte, marked as one. What lay at `copy` is gone."""
    copy.unlink(missing_ok=True)
    os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    conn.execute("VACUUM INTO ?", (str(copy),))
    with closing(sqlite3.connect(copy, isolation_level=None)) as copied:
        copied.execute("PRAGMA synchronous = EXTRA")
        copied.execute(_MARK)


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy is of: the version of its tables, which store, and how many files of the spool its rows name."""

    schema: int
    instance_id: str
    size_bytes: int
    files: int
    files_bytes: int


class DatabaseCopy:
    """One copy on its way: everything but `interrupt` on one and the same thread. Raises our StoreErrors."""

    def __init__(self, database: Path, copy: Path) -> None:
        self._database = database
        self._copy = copy
        self._conn: sqlite3.Connection | None = None

    def make(self, min_free_bytes: int, disk_free: Callable[[Path], int]) -> Copied:
        """Make it, if `min_free_bytes` stay free beside it.

        Raises: StorageFull, StoreUnavailable.
        """
        try:
            with closing(open_reader(self._database)) as conn:
                self._conn = conn
                needed = conn.execute(_SIZE).fetchone()[0] + min_free_bytes
                free = disk_free(self._copy.parent)
                if free < needed:
                    message = (
                        f"a copy of the database needs {needed:,} bytes free, and {free:,} are"
                    )
                    raise StorageFull(message)
                conn.execute(
                    "PRAGMA query_only = OFF"
                )  # the copy; the file itself is open read-only
                copy_into(conn, self._copy)
            self._conn = conn = sqlite3.connect(self._copy, isolation_level=None)
            conn.execute(_ANY_MACHINE)
            return self._describe(conn)
        except sqlite3.Error as error:
            raise translated(error) from error

    def files(self) -> Iterator[tuple[str, int]]:
        """Hex SHA-256 and size of each file of the spool that a row names, in their order."""
        if self._conn is not None:
            yield from self._conn.execute(_FILES)

    def interrupt(self) -> None:
        """Stop what is under way, from any thread: nobody wants the copy any more."""
        if self._conn is not None:
            with suppress(sqlite3.ProgrammingError):  # closed meanwhile
                self._conn.interrupt()

    def close(self) -> None:
        """Remove it."""
        if self._conn is not None:
            self._conn.close()
        self._copy.unlink(missing_ok=True)

    def _describe(self, conn: sqlite3.Connection) -> Copied:
        files, files_bytes = conn.execute(_NAMED).fetchone()
        return Copied(
            schema=conn.execute("PRAGMA user_version").fetchone()[0],
            instance_id=conn.execute(_INSTANCE).fetchone()[0],
            size_bytes=self._copy.stat().st_size,
            files=files,
            files_bytes=files_bytes,
        )
