"""Looking into a database file that no daemon uses: a copy that is to be put in place, or a store that stands still.

Nothing is written to it.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.ports.errors import StateRefused
from postroom.store.sqlite.connection import open_reader
from postroom.store.sqlite.migrate import check_identity, shipped
from postroom.store.sqlite.spoiled import state_of


_IS_COPY: Final = "SELECT is_backup FROM instance"
_OPEN: Final = """
    SELECT mailbox_id, CASE WHEN state = 'sending' AND marked_at IS NOT NULL THEN 'uncertain' ELSE state END AS stands,
           count(*)
    FROM delivery WHERE state IN ('pending', 'held', 'sending', 'retry_scheduled', 'uncertain')
    GROUP BY 1, 2 ORDER BY 1, 2"""
_EVENTS: Final = (
    "SELECT consumer, count(*) FROM pending WHERE dead_at IS NULL GROUP BY 1 ORDER BY 1"
)
_NEWEST: Final = "SELECT at FROM history ORDER BY number DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class Standing:
    """So many deliveries of a mailbox were not at their end. An unanswered mark counts as `uncertain`."""

    mailbox_id: str
    state: DeliveryState
    deliveries: int


@dataclass(frozen=True, slots=True)
class Copy:
    """What a copy holds that may have come to something else since: deliveries, and events by consumer."""

    deliveries: tuple[Standing, ...]
    events: tuple[tuple[str, int], ...]


def inspect_copy(path: Path) -> Copy:
    """Check a copy from the first page to the last; what in it was under way.

    Raises: StateRefused when it can not be put in place.
    """
    with _looking(path) as conn:
        if (
            check_identity(conn, path, len(shipped())) == 0
            or not conn.execute(_IS_COPY).fetchone()[0]
        ):
            message = f"{path.name} in the backup does not say of itself that it is a copy"
            raise StateRefused(message)
        verdict = conn.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            message = f"the database in the backup is damaged: {verdict}"
            raise StateRefused(message)
        standing = tuple(
            Standing(mailbox_id, state_of(state), count)
            for mailbox_id, state, count in conn.execute(_OPEN)
        )
        return Copy(standing, tuple((name, count) for name, count in conn.execute(_EVENTS)))


def find_newest(path: Path) -> Instant | None:
    """The newest instant in the history of a store; None where there is none.

    Raises: StateRefused when it can not be read.
    """
    with _looking(path) as conn:
        check_identity(conn, path, len(shipped()))
        row = conn.execute(_NEWEST).fetchone()
        return None if row is None else Instant(row[0])


@contextmanager
def _looking(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(open_reader(path)) as conn:
            yield conn
    except sqlite3.Error as error:
        message = f"{path} can not be read as a database: {error}"
        raise StateRefused(message) from error
