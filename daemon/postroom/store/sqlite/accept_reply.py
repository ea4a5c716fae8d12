"""What only the accepting transaction can say of an answer: whether its lease is live, and whether it is the first."""

import sqlite3
from typing import Final

from postroom.ports.accepting import AlreadyReplied, LeaseLost, NewJob


# Of a job that retention took there is no telling what became of it: it counts as an answer.
_ANSWERED: Final = """
    SELECT e.answered_by, j.settled_status FROM event AS e LEFT JOIN job AS j ON j.number = e.answered_by
    WHERE e.seq = ? AND e.answered_by IS NOT NULL"""
_NOTE: Final = "UPDATE event SET answered_by = ? WHERE seq = ?"
_LIVE: Final = """
    SELECT number, fence FROM lease WHERE thread = ? AND state = 'live' AND expires_at > ?"""

_CAME_TO_NOTHING: Final = frozenset({"failed", "cancelled"})


def find_reply_obstacle(conn: sqlite3.Connection, new: NewJob) -> LeaseLost | AlreadyReplied | None:
    """Why this job may not be an answer; None when it may, or is none."""
    if new.answers is None and new.lease is None:
        return None
    if not _may_write(conn, new):
        return LeaseLost()
    row = conn.execute(_ANSWERED, (new.answers,)).fetchone()
    if row is None or row["settled_status"] in _CAME_TO_NOTHING:
        return None
    return AlreadyReplied(new.answers or 0, row["answered_by"])


def note_answer(conn: sqlite3.Connection, new: NewJob) -> None:
    """This job is the answer to its event from now on."""
    if new.answers is not None:
        conn.execute(_NOTE, (new.number, new.answers))


def _may_write(conn: sqlite3.Connection, new: NewJob) -> bool:
    """A lease that is named must be live; while one is, an answer must name it."""
    rows = conn.execute(_LIVE, (new.job.thread_number, new.at)).fetchall()
    if new.lease is None:
        return not rows
    return (new.lease.number, new.lease.fence) in {(row["number"], row["fence"]) for row in rows}
