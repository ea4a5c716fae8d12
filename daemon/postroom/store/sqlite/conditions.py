"""Preconditions of a delivery as its row keeps them, and whether they hold at this very moment (CONTRACT §3 `if`).

A condition is judged by the first mark of its job and is gone with it: copies that follow are not held back by the
answer to the first. A condition that is false stays false: versions and seqs only rise.
"""

import sqlite3
from typing import Final

import msgspec

from postroom.core.condition import Standing
from postroom.core.job import Condition


_VERSION: Final = "SELECT version FROM thread WHERE number = ?"
# These two types are the mail that raises a thread's version.
_LATEST: Final = """
    SELECT max(seq) FROM event
    WHERE thread = ? AND seq > ? AND type IN ('reply.received', 'message.received')"""
_PENDING_SINCE: Final = """
    SELECT min(r.received_at) FROM received_thread AS t JOIN received AS r ON r.number = t.received
    WHERE t.thread = ?"""
_OF_DELIVERY: Final = "SELECT thread, if_json FROM delivery WHERE number = ?"
_FORGET: Final = "UPDATE delivery SET if_json = NULL WHERE job = ? AND if_json IS NOT NULL"

_DECODER: Final = msgspec.json.Decoder(Condition)


def condition_column(condition: Condition | None) -> str | None:
    """What the row of a delivery keeps."""
    return None if condition is None else msgspec.json.encode(condition).decode()


def look(conn: sqlite3.Connection, thread: int, column: str | None) -> Standing | None:
    """The condition of a delivery in this thread as it stands; None where it has none, or it was judged."""
    if column is None:
        return None
    condition = _DECODER.decode(column)
    latest = None
    if condition.no_inbound_since is not None:
        latest = conn.execute(_LATEST, (thread, condition.no_inbound_since)).fetchone()[0]
    return Standing(
        condition=condition,
        version=conn.execute(_VERSION, (thread,)).fetchone()[0],
        latest_inbound=latest,
        pending_since=conn.execute(_PENDING_SINCE, (thread,)).fetchone()[0],
    )


def find_standing(conn: sqlite3.Connection, number: int) -> Standing | None:
    """The same of a delivery by its number; None also where it is damaged, which its start finds out."""
    row = conn.execute(_OF_DELIVERY, (number,)).fetchone()
    try:
        return None if row is None else look(conn, row["thread"], row["if_json"])
    except (msgspec.MsgspecError, TypeError):
        return None


def forget_condition(conn: sqlite3.Connection, job: int) -> None:
    """It was true at the job's first mark: all its copies go."""
    conn.execute(_FORGET, (job,))
