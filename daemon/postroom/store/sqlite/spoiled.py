"""What of a stored row can not be read: a disk, a memory or a hand damaged it, and one row must not stop the others.

Rules: nothing is deleted and nothing is guessed. A damaged delivery is held, a damaged message that came in stays where
it is, a damaged event is shown as one that can not be read. People are shown what can be read of anything, and may act
on it: a word of ours that is none is left out, a text that is no UTF-8 any more has marks where it is damaged. What has
happened is written down all the same, and nobody waits behind what is damaged.
Known limits: damage to SQLite's own pages is no row: it breaks the store, and ends the daemon.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from operator import methodcaller
from typing import Final, TypeVar

import msgspec

from postroom.core.delivery import DeliveryState
from postroom.core.mailbox import Lane


T = TypeVar("T")
W = TypeVar("W", bound=StrEnum)

_SIGN: Final = "\N{REPLACEMENT CHARACTER}"
_LANES: Final = {int(lane): lane for lane in Lane}

# Of sqlite3 a text that is no UTF-8, of our readers a word or a document that is none.
SPOILED: Final = (msgspec.MsgspecError, sqlite3.OperationalError, ValueError, TypeError)


def check_spoiled(error: Exception) -> None:
    """Return when the row is to blame. Raises the error when SQLite itself could not do it."""
    if getattr(error, "sqlite_errorcode", None) is not None:
        raise error


@contextmanager
def readable(conn: sqlite3.Connection) -> Iterator[None]:
    """Read texts that are no UTF-8, a sign standing for what is damaged; until the end of the block."""
    strict = conn.text_factory
    conn.text_factory = methodcaller("decode", "utf-8", "replace")
    try:
        yield
    finally:
        conn.text_factory = strict


def is_damaged(text: str) -> bool:
    """Whether something of a text that was read so (`readable`) is damaged."""
    return _SIGN in text


def find_metadata(text: str | None) -> dict[str, str]:
    """A caller's own pairs; none where there are none, or they are damaged: whatever they belong to is worth more."""
    return {} if text is None else find_document(text, dict[str, str]) or {}


def find_document(text: str, kind: type[T]) -> T | None:
    """A stored JSON document; None where it is damaged."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError:
        return None


def find_word(kind: type[W], stored: str | None) -> W | None:
    """A stored word of ours; None where there is none, or it is damaged."""
    try:
        return None if stored is None else kind(stored)
    except ValueError:
        return None


def state_of(stored: str) -> DeliveryState:
    """Where a delivery stands; where that can not be read it is held for that, until a person looks."""
    return find_word(DeliveryState, stored) or DeliveryState.HELD


def lane_of(stored: int) -> Lane:
    """The lane of a row; one that is none is shown as the usual one."""
    return _LANES.get(stored, Lane.STANDARD)


def anyway(work: Callable[[sqlite3.Connection], T]) -> Callable[[sqlite3.Connection], T]:
    """The same work, which reads damaged texts with marks in them."""

    def run(conn: sqlite3.Connection) -> T:
        with readable(conn):
            return work(conn)

    return run


def at_least(ask: Callable[[sqlite3.Connection], T]) -> Callable[[sqlite3.Connection], T]:
    """The same question, asked again where a text is damaged: nearly always the faster way serves."""

    def run(conn: sqlite3.Connection) -> T:
        try:
            return ask(conn)
        except sqlite3.OperationalError as error:
            check_spoiled(error)
            return anyway(ask)(conn)

    return run
