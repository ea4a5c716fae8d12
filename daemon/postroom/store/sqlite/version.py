"""What is known of the version of SQLite that Python brings."""

import sqlite3
from typing import Final


_OLDEST: Final = (3, 37, 0)  # STRICT tables
# Found in 2026: a write-ahead log that two connections reset at once may lose pages. Everything since 3.7.0 has it.
_WAL_RESET_MENDED: Final = (3, 51, 3)


def version() -> str:
    """The version in use."""
    return sqlite3.sqlite_version


def is_too_old() -> bool:
    """Whether the store can not be opened with it."""
    return sqlite3.sqlite_version_info < _OLDEST


def has_wal_reset_fault() -> bool:
    """Whether two programs that write to one file at once may damage it."""
    return sqlite3.sqlite_version_info < _WAL_RESET_MENDED
