"""What a clock that went back has done to what waits (HAZARDS 1.2).

No retry may wait longer than its mailbox's longest wait. A delivery that had been due when something was written about
it is due still; only a send time that never came stays as it is.
"""

import sqlite3
from typing import Final

from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.ports.changes import RowsGone, RowsWaiting
from postroom.store.sqlite.unit import UnitResult


_RETRIES: Final = """
    SELECT number FROM delivery INDEXED BY delivery_due
    WHERE mailbox_id = ? AND lane = ? AND state IN ('pending', 'retry_scheduled') AND due_at > ?
          AND state = 'retry_scheduled'
    LIMIT ?"""
_WERE_DUE: Final = """
    SELECT number FROM delivery AS d INDEXED BY delivery_due
    WHERE mailbox_id = ? AND lane = ? AND state IN ('pending', 'retry_scheduled') AND due_at > ?
          AND state = 'pending'
          AND EXISTS (SELECT 1 FROM history WHERE delivery = d.number AND at >= d.due_at)
    LIMIT ?"""
_PULL_IN: Final = "UPDATE delivery SET due_at = ?, version = version + 1 WHERE number = ?"


def pull_in(
    conn: sqlite3.Connection, queue: tuple[str, Lane], now: Instant, latest: Instant, limit: int
) -> UnitResult[int]:
    """Make retries of a mailbox and lane that are due after `latest` due then, and what was due before due now; how many."""
    retries = [number for (number,) in conn.execute(_RETRIES, (*queue, latest, limit))]
    left = limit - len(retries)
    were_due = [number for (number,) in conn.execute(_WERE_DUE, (*queue, now, left))]
    moved = [*((latest, number) for number in retries), *((now, number) for number in were_due)]
    conn.executemany(_PULL_IN, moved)
    if not moved:
        return UnitResult(0)
    mailbox_id, lane = queue
    earliest = now if were_due else latest
    told = (RowsGone((*retries, *were_due)), RowsWaiting(mailbox_id, lane, earliest, None))
    return UnitResult(len(moved), told)
