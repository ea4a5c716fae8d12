"""Whether a job may answer an event, judged inside the accepting transaction (CONTRACT §4, leases).

While somebody holds the conversation, only who carries a live lease on it may answer; a lease that is carried must be
live in any case, so that an expired holder is refused. An event is answered once, unless its answer came to nothing.
"""

import sqlite3
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.job import LeaseClaim
from postroom.core.status import JobStatus
from postroom.ports.accepting import AlreadyReplied, LeaseLost, NewJob


_EVENT: Final = "SELECT thread, answered_by FROM event WHERE seq = ?"
_LIVE: Final = """
    SELECT number, fence FROM lease WHERE thread = ? AND state = 'live' AND expires_at > ?"""
_STATES: Final = "SELECT DISTINCT state FROM delivery WHERE job = ?"
_FINAL: Final = "SELECT final_status FROM idempotency WHERE job = ? AND recipient_hash = x''"
_ANSWERED: Final = "UPDATE event SET answered_by = ? WHERE seq = ?"

_NOTHING: Final = frozenset({DeliveryState.FAILED, DeliveryState.CANCELLED, DeliveryState.SKIPPED})


def find_reply_obstacle(conn: sqlite3.Connection, new: NewJob) -> AlreadyReplied | LeaseLost | None:
    """Why the job may not answer its event; None also where it answers none, or one that retention took."""
    row = None if new.answers is None else conn.execute(_EVENT, (new.answers,)).fetchone()
    if row is None:
        return None
    if row["thread"] is not None and not _may(conn, row["thread"], new.lease, new.at):
        return LeaseLost()
    if row["answered_by"] is not None and _stands(conn, row["answered_by"]):
        return AlreadyReplied(new.answers or 0, row["answered_by"])
    return None


def note_answer(conn: sqlite3.Connection, new: NewJob) -> None:
    """Say on the event that this job answers it."""
    if new.answers is not None:
        conn.execute(_ANSWERED, (new.number, new.answers))


def _may(conn: sqlite3.Connection, thread: int, claim: LeaseClaim | None, at: Instant) -> bool:
    live = {(row["number"], row["fence"]) for row in conn.execute(_LIVE, (thread, at))}
    return not live if claim is None else (claim.number, claim.fence) in live


def _stands(conn: sqlite3.Connection, job: int) -> bool:
    """Whether the answer went out or may still; of a job that retention took its tombstone says."""
    states = {DeliveryState(row["state"]) for row in conn.execute(_STATES, (job,))}
    if states:
        return not states <= _NOTHING
    row = conn.execute(_FINAL, (job,)).fetchone()
    return row is None or row["final_status"] not in {JobStatus.FAILED, JobStatus.CANCELLED}
