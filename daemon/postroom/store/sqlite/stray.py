"""Waiting deliveries of which the mailbox or the lane is damaged: no queue has them, so nobody would ever come to them.

They are held at the start, as what else can not be read is, so that they are seen where people look for what is held.
Known limits: what is damaged while a daemon runs is held at the next start.
"""

import sqlite3
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.store.sqlite.loop_waiting import find_stray
from postroom.store.sqlite.spoiled import readable, state_of
from postroom.store.sqlite.transition import Step, write_history


_BY: Final = "recovery"
_HOLD: Final = """
    UPDATE delivery SET state = 'held', hold_reason = 'unreadable', version = version + 1 WHERE number = ?"""


def hold_stray(conn: sqlite3.Connection, now: Instant) -> int:
    """Hold them; how many there were. To be called inside a transaction."""
    with readable(conn):
        found = find_stray(conn)
        for row in found:
            conn.execute(_HOLD, (row["number"],))
            step = Step(state_of(row["state"]), DeliveryState.HELD, now, _BY)
            write_history(conn, row["number"], step)
    return len(found)
