"""What a clock that went back has done to retries: none may wait longer than its mailbox's longest wait (HAZARDS 1.2)."""

import sqlite3
from typing import Final

from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.ports.changes import RowsGone, RowsWaiting
from postroom.store.sqlite.unit import UnitResult


_BEYOND: Final = """
    SELECT number FROM delivery INDEXED BY delivery_due
    WHERE mailbox_id = ? AND lane = ? AND state IN ('pending', 'retry_scheduled') AND due_at > ?
          AND state = 'retry_scheduled'
    LIMIT ?"""
_PULL_IN: Final = "UPDATE delivery SET due_at = ?, version = version + 1 WHERE number = ?"


def pull_in(
    conn: sqlite3.Connection, queue: tuple[str, Lane], latest: Instant, limit: int
) -> UnitResult[int]:
    """Make retries of a mailbox and lane that are due after `latest` due then; how many. A send time stays as it is."""
    numbers = [number for (number,) in conn.execute(_BEYOND, (*queue, latest, limit))]
    conn.executemany(_PULL_IN, [(latest, number) for number in numbers])
    mailbox_id, lane = queue
    if not numbers:
        return UnitResult(0)
    told = (RowsGone(tuple(numbers)), RowsWaiting(mailbox_id, lane, latest, None))
    return UnitResult(len(numbers), told)
