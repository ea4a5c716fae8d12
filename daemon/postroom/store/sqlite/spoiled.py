"""What of a stored row can not be read: a disk, a memory or a hand damaged it, and one row must not stop the others.

Rules: nothing is deleted and nothing is guessed. A damaged delivery is held, a damaged message that came in stays where
it is, a damaged event is shown as one that can not be read.
Known limits: damage to SQLite's own pages is no row: it breaks the store, and ends the daemon.
"""

import sqlite3
from typing import Final, TypeVar

import msgspec


T = TypeVar("T")

# Of sqlite3 a text that is no UTF-8, of our readers a word or a document that is none.
SPOILED: Final = (msgspec.MsgspecError, sqlite3.OperationalError, ValueError, TypeError)


def check_spoiled(error: Exception) -> None:
    """Return when the row is to blame. Raises the error when SQLite itself could not do it."""
    if getattr(error, "sqlite_errorcode", None) is not None:
        raise error


def find_metadata(text: str | None) -> dict[str, str]:
    """A caller's own pairs; none where there are none, or they are damaged: whatever they belong to is worth more."""
    return {} if text is None else find_document(text, dict[str, str]) or {}


def find_document(text: str, kind: type[T]) -> T | None:
    """A stored JSON document; None where it is damaged."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError:
        return None
