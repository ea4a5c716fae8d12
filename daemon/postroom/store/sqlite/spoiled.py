"""What of a stored row can not be read: a disk, a memory or a hand damaged it, and one row must not stop the others.

Rules: nothing is deleted and nothing is guessed. A damaged delivery is held, a damaged message that came in stays where
it is, a damaged event is shown as one that can not be read. What has happened is written down all the same, and nobody
waits behind what is damaged (`lenient`): the rest can not wait for a person who mends a text.
Known limits: damage to SQLite's own pages is no row: it breaks the store, and ends the daemon.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import msgspec

from postroom.store.sqlite.unit import Unit, UnitResult


T = TypeVar("T")

_SIGN: Final = "\N{REPLACEMENT CHARACTER}"

# Of sqlite3 a text that is no UTF-8, of our readers a word or a document that is none.
SPOILED: Final = (msgspec.MsgspecError, sqlite3.OperationalError, ValueError, TypeError)


def check_spoiled(error: Exception) -> None:
    """Return when the row is to blame. Raises the error when SQLite itself could not do it."""
    if getattr(error, "sqlite_errorcode", None) is not None:
        raise error


def lenient(unit: Unit[T]) -> Unit[T]:
    """The unit, reading so that no damaged text stops it."""

    def run(conn: sqlite3.Connection) -> UnitResult[T]:
        with readable(conn):
            return unit(conn)

    return run


@contextmanager
def readable(conn: sqlite3.Connection) -> Iterator[None]:
    """Read texts that are no UTF-8, a sign standing for what is damaged; until the end of the block."""
    strict = conn.text_factory
    conn.text_factory = _read
    try:
        yield
    finally:
        conn.text_factory = strict


def is_damaged(text: str) -> bool:
    """Whether something of a text that was read so (`readable`) is damaged."""
    return _SIGN in text


def find_document(text: str, kind: type[T]) -> T | None:
    """A stored JSON document; None where it is damaged."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError:
        return None


def _read(text: bytes) -> str:
    return text.decode("utf-8", "replace")
