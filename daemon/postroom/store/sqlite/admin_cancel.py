"""Taking back and moving in time: units over the deliveries that have no mark (CONTRACT §3 "The mark decides").

A delivery of which an earlier copy may have gone out is not cancelled but in doubt again (core.delivery.end_unsent).
A cancel that comes after the mark is remembered, also while the delivery is in doubt: should the answer be a temporary
one, nothing is tried again, and no policy sends again what somebody took back.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.delivery import UNSETTLED, WAITING, DeliveryState, end_unsent
from postroom.core.instant import Instant
from postroom.core.reason import ReasonCode
from postroom.core.record import JobRecord
from postroom.ports.changes import Change, RowsGone, RowsWaiting
from postroom.ports.desk import Actor, CancelAnswer, Cancelled, WrongState
from postroom.store.sqlite.reads_jobs import find_job
from postroom.store.sqlite.spoiled import lane_of, state_of
from postroom.store.sqlite.transition import MOVED, Step, record
from postroom.store.sqlite.unit import UnitResult


_READ: Final = "SELECT recipient, state, doubts, marked_at FROM delivery WHERE number = ?"
_CANCEL: Final = f"""
    UPDATE delivery SET state = :after, reason_code = 'cancelled', hold_reason = NULL, due_at = NULL, stage = NULL,
        settled_by = :by, settled_at = :at, version = version + 1
    WHERE number = :number RETURNING {MOVED}"""
_REMEMBER: Final = "UPDATE delivery SET cancel_asked = 1 WHERE number = ?"

_MOVABLE: Final = """
    SELECT number, state, not_after FROM delivery
    WHERE job = ? AND (state IN ('pending', 'held', 'retry_scheduled') OR (state = 'sending' AND marked_at IS NULL))"""
_ANY_STATE: Final = "SELECT state FROM delivery WHERE job = ? LIMIT 1"
_MOVE: Final = f"""
    UPDATE delivery SET due_at = ?, version = version + 1 WHERE number = ? RETURNING {MOVED}"""
_PUT_BACK: Final = f"""
    UPDATE delivery SET state = 'pending', reason_code = 'rescheduled', due_at = ?, deferrals = deferrals + 1, stage = NULL, crashes = 0,
        version = version + 1
    WHERE number = ? RETURNING {MOVED}"""
_MOVED_BY: Final = "UPDATE job SET rescheduled_by = ? WHERE number = ?"


@dataclass(frozen=True, slots=True)
class Cancelling:
    """A unit that cancels these deliveries, with an answer for each that is there."""

    numbers: tuple[int, ...]
    actor: Actor
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[tuple[Cancelled, ...]]:
        """The answers, in order."""
        answers: list[Cancelled] = []
        changes: list[Change] = []
        for number in self.numbers:
            row = conn.execute(_READ, (number,)).fetchone()
            if row is not None:
                answer, changed = self._cancel(conn, number, row)
                answers.append(Cancelled(number, row["recipient"], answer))
                changes.extend(changed)
        return UnitResult(tuple(answers), tuple(changes))

    def _cancel(
        self, conn: sqlite3.Connection, number: int, row: sqlite3.Row
    ) -> tuple[CancelAnswer, tuple[Change, ...]]:
        state = state_of(row["state"])
        if state is DeliveryState.SENDING and row["marked_at"] is not None:
            conn.execute(_REMEMBER, (number,))
            return CancelAnswer.TOO_LATE, ()
        if state in UNSETTLED:
            after = end_unsent(DeliveryState.CANCELLED, row["doubts"])
            return _ANSWERS[after], self._take_back(conn, number, state, after)
        if state is DeliveryState.UNCERTAIN:
            conn.execute(_REMEMBER, (number,))
        return _ANSWERS[state], ()

    def _take_back(
        self, conn: sqlite3.Connection, number: int, before: DeliveryState, after: DeliveryState
    ) -> tuple[Change, ...]:
        values = {"number": number, "after": after, "by": self.actor.by, "at": self.at}
        moved = conn.execute(_CANCEL, values).fetchone()
        step = Step(before, after, self.at, self.actor.by, ReasonCode.CANCELLED)
        return record(conn, moved, step)


# What ended otherwise can not be taken back any more, whether or not it ever went out.
_ANSWERS: Final = {
    DeliveryState.CANCELLED: CancelAnswer.CANCELLED,
    DeliveryState.UNCERTAIN: CancelAnswer.UNCERTAIN,
    DeliveryState.SENT: CancelAnswer.TOO_LATE,
    DeliveryState.FAILED: CancelAnswer.TOO_LATE,
    DeliveryState.SKIPPED: CancelAnswer.TOO_LATE,
}


@dataclass(frozen=True, slots=True)
class BulkCancelling:
    """A unit that cancels these deliveries and counts those that it ended."""

    numbers: tuple[int, ...]
    actor: Actor
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[int]:
        """How many ended by it."""
        done = 0
        changes: list[Change] = []
        for number in self.numbers:
            result = Cancelling((number,), self.actor, self.at)(conn)
            done += bool(result.changes)
            changes.extend(result.changes)
        return UnitResult(done, tuple(changes))


@dataclass(frozen=True, slots=True)
class Rescheduling:
    """A unit that moves what has no mark in a job to `send_at`; a time in the past means now.

    An attempt that is under way finds at its mark that the delivery waits again, and drops the line.
    """

    job: int
    send_at: Instant
    actor: Actor
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[JobRecord | WrongState | None]:
        """The job as it is now; WrongState when nothing in it is without a mark, or `send_at` lies beyond its not_after."""
        found = find_job(conn, self.job)
        if found is None or found.is_expired:
            return UnitResult(None)
        due_at = max(self.send_at, self.at)
        rows = conn.execute(_MOVABLE, (self.job,)).fetchall()
        wrong = self._wrong(conn, rows, due_at)
        if wrong is not None:
            return UnitResult(wrong)
        changes: list[Change] = []
        for row in rows:
            changes += self._move(conn, row, due_at)
        conn.execute(_MOVED_BY, (self.actor.by, self.job))
        return UnitResult(find_job(conn, self.job), tuple(changes))

    def _move(
        self, conn: sqlite3.Connection, row: sqlite3.Row, due_at: Instant
    ) -> tuple[Change, ...]:
        state = state_of(row["state"])
        if state is DeliveryState.SENDING:
            moved = conn.execute(_PUT_BACK, (due_at, row["number"])).fetchone()
            step = Step(
                state, DeliveryState.PENDING, self.at, self.actor.by, ReasonCode.RESCHEDULED
            )
            return record(conn, moved, step)
        moved = conn.execute(_MOVE, (due_at, row["number"])).fetchone()
        if state not in WAITING:
            return ()
        waits = RowsWaiting(moved["mailbox_id"], lane_of(moved["lane"]), due_at, moved["domain"])
        return RowsGone((row["number"],)), waits

    def _wrong(
        self, conn: sqlite3.Connection, rows: list[sqlite3.Row], due_at: Instant
    ) -> WrongState | None:
        if not rows:
            (state,) = conn.execute(_ANY_STATE, (self.job,)).fetchone()
            return WrongState(state_of(state), "nothing of this job waits any more")
        row = rows[0]
        if row["not_after"] is not None and due_at > row["not_after"]:
            detail = "send_at is later than the job's not_after: it would never be sent"
            return WrongState(state_of(row["state"]), detail)
        return None
