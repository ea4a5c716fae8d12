"""Connections to one file: what is set on them, and proof that it holds.

The writer: WAL with `synchronous=FULL`, so that what COMMIT returned for has been synced; foreign keys; temporary
tables in memory, so that a full /var/tmp is no disk error; statements begin and end their transactions by themselves
(`isolation_level=None`). Readers open the file read-only and see one snapshot for each question.
"""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from postroom.ports.errors import StoreBroken


T = TypeVar("T")

_BUSY_S: Final = 5.0  # someone looks at the file with a tool of theirs
_PATIENCE_S: Final = 1.0  # who only asks whether it could write need not wait as long
_STATEMENTS: Final = 512  # kept prepared: all that the daemon ever runs
_FULL: Final = 2

_WRITER: Final = (
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", _FULL),
    ("foreign_keys", "ON", 1),
    ("temp_store", "MEMORY", 2),
    ("wal_autocheckpoint", "1000", 1000),
    ("journal_size_limit", "67108864", 67108864),
    ("cache_size", "-16384", -16384),
    ("mmap_size", "0", 0),
    ("recursive_triggers", "OFF", 0),
)
_READER: Final = (("query_only", "ON"), ("synchronous", "FULL"), ("temp_store", "MEMORY"))


def open_writer(path: Path, factory: type[sqlite3.Connection]) -> sqlite3.Connection:
    """A connection that may write, as yet with nothing set."""
    conn = sqlite3.connect(
        path,
        timeout=_BUSY_S,
        isolation_level=None,
        cached_statements=_STATEMENTS,
        factory=factory,
    )
    conn.row_factory = sqlite3.Row
    return conn


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that can not write."""
    conn = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        timeout=_BUSY_S,
        isolation_level=None,
        cached_statements=_STATEMENTS,
    )
    conn.row_factory = sqlite3.Row
    try:
        for name, value in _READER:
            conn.execute(f"PRAGMA {name} = {value}")
    except sqlite3.Error:  # it is no database
        conn.close()
        raise
    return conn


def set_up_writer(conn: sqlite3.Connection) -> None:
    """Set what the promises rest on, and read it back.

    Raises: StoreBroken when a setting does not hold.
    """
    for name, value, expected in _WRITER:
        conn.execute(f"PRAGMA {name} = {value}")
        row = conn.execute(f"PRAGMA {name}").fetchone()
        if row is not None and row[0] != expected:
            message = f"SQLite did not accept {name} = {value}: it says {row[0]}"
            raise StoreBroken(message)


def read(fn: Callable[[sqlite3.Connection], T], conn: sqlite3.Connection) -> T:
    """The value of `fn` on one snapshot."""
    conn.execute("BEGIN")
    try:
        return fn(conn)
    finally:
        conn.execute("ROLLBACK")


def checkpoint(conn: sqlite3.Connection) -> None:
    """Copy the WAL into the file and cut it to nothing, as far as readers allow.

    Not a moment is waited for a reader: one that makes a copy reads for long, and the writer stands meanwhile.
    """
    conn.execute("PRAGMA busy_timeout = 0")
    try:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        conn.execute(f"PRAGMA busy_timeout = {round(_BUSY_S * 1000)}")


def copy_wal(conn: sqlite3.Connection) -> None:
    """Copy the WAL into the file as far as readers allow; what is committed is safe in either, so that a fault is no news."""
    with suppress(sqlite3.Error):
        conn.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


def ask_to_write(conn: sqlite3.Connection) -> None:
    """Take the lock that a write takes, and give it back; nothing is written. Raises: what SQLite says where another has it."""
    conn.execute(f"PRAGMA busy_timeout = {round(_PATIENCE_S * 1000)}")
    try:
        conn.execute("BEGIN IMMEDIATE")
        conn.execute("ROLLBACK")
    finally:
        conn.execute(f"PRAGMA busy_timeout = {round(_BUSY_S * 1000)}")


def ask(conn: sqlite3.Connection) -> None:
    """A question that costs nothing."""
    conn.execute("SELECT 1").fetchone()
