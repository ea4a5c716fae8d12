"""What every transition of a delivery brings with it, in its own transaction.

A unit updates the row itself, `RETURNING` what `MOVED` names, and hands the row to `record`, which checks the step
against the one table of the core, writes history and event, settles or reopens the job, and says what changed.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.delivery import UNSETTLED, WAITING, DeliveryState, may_become
from postroom.core.instant import Instant
from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply
from postroom.core.status import job_status
from postroom.ports.changes import Change, JobChanged, RowsGone, RowsWaiting, StateMoved
from postroom.ports.errors import StoreError
from postroom.store.sqlite.events import write_event
from postroom.store.sqlite.spoiled import lane_of, state_of


MOVED: Final = "number, job, mailbox_id, lane, domain, due_at"

# A start moves the series on by what the delivery had waited since it was due; of one that is put back where it was,
# the next start will do so again.
WAITS_ON: Final = """
    series_started_at = series_started_at - coalesce(
        (SELECT at FROM history AS h WHERE h.delivery = delivery.number AND h.after = 'sending'
         ORDER BY h.number DESC LIMIT 1) - due_at, 0)"""

_EVENTS: Final = {
    DeliveryState.SENT: "delivery.sent",
    DeliveryState.FAILED: "delivery.failed",
    DeliveryState.UNCERTAIN: "delivery.uncertain",
    DeliveryState.SKIPPED: "delivery.skipped",
}

_HISTORY: Final = """
    INSERT INTO history (delivery, attempt, before, after, at, reason_code, reply_code, enhanced_status, reply_text, by)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

_ENDED: Final = """
    SELECT DISTINCT state FROM delivery WHERE job = :job AND NOT EXISTS (
        SELECT 1 FROM delivery WHERE job = :job AND state IN ('pending', 'held', 'sending', 'retry_scheduled'))"""
_SETTLE: Final = "UPDATE job SET settled_status = ?, settled_at = ? WHERE number = ?"


@dataclass(frozen=True, slots=True)
class Step:
    """One transition. `attempt` is the number of the attempt that it ends; `by` is loop, recovery, … or `uid:N`."""

    before: DeliveryState
    after: DeliveryState
    at: Instant
    by: str
    reason_code: ReasonCode | None = None
    reply: SmtpReply | None = None
    attempt: int | None = None


def record(conn: sqlite3.Connection, row: sqlite3.Row, step: Step) -> tuple[Change, ...]:
    """Write what belongs to a step of the delivery in `row` (MOVED, as it is after the step), and what changed by it.

    Raises: StoreError when the table has no such step.
    """
    if not may_become(step.before, step.after):
        message = f"a delivery can not go from {step.before} to {step.after}"
        raise StoreError(message)
    write_history(conn, row["number"], step)
    kind = event_of(step.before, step.after)
    told = () if kind is None else (write_event(conn, kind, row["number"], step.at),)
    has_settled = step.after not in UNSETTLED and settle(conn, row["job"], step.at)
    if step.after in UNSETTLED and step.before not in UNSETTLED:
        conn.execute(_SETTLE, (None, None, row["job"]))
    return (*_changes(row, step, has_settled=has_settled), *told)


def write_history(conn: sqlite3.Connection, number: int, step: Step) -> None:
    """One row of history, with the reply's text made fit for storing."""
    reply = step.reply
    told = (reply.code, storable(reply.enhanced), storable(reply.text)) if reply else (None,) * 3
    row = (number, step.attempt, step.before, step.after, step.at, step.reason_code, *told, step.by)
    conn.execute(_HISTORY, row)


def event_of(before: DeliveryState, after: DeliveryState) -> str | None:
    """The type of event that a step gives rise to."""
    if before is DeliveryState.FAILED and after is DeliveryState.SENT:
        return "delivery.corrected"
    return _EVENTS.get(after)


def settle(conn: sqlite3.Connection, job: int, at: Instant) -> bool:
    """Write the status of a job of which no delivery is open any more; nothing while one is. Whether it was written."""
    states = [state_of(state) for (state,) in conn.execute(_ENDED, {"job": job})]
    if not states:
        return False
    conn.execute(_SETTLE, (job_status(states), at, job))
    return True


def storable(text: str | None) -> str | None:
    """The text without what SQLite can not bind: after a server said 250, nothing may fail on what else it said."""
    return None if text is None else text.encode("utf-8", "replace").decode()


def _changes(row: sqlite3.Row, step: Step, *, has_settled: bool) -> tuple[Change, ...]:
    mailbox_id, lane = row["mailbox_id"], lane_of(row["lane"])
    changes: list[Change] = [
        StateMoved(mailbox_id, lane, step.before, step.after, step.reason_code, 1)
    ]
    if (
        step.before in WAITING
        and step.after not in WAITING
        and step.after is not DeliveryState.SENDING
    ):
        changes.append(RowsGone((row["number"],)))
    if step.after in WAITING:
        changes.append(RowsWaiting(mailbox_id, lane, Instant(row["due_at"]), row["domain"]))
    if has_settled:  # who waits for the job looks again once, not for each of a thousand deliveries
        changes.append(JobChanged(row["job"]))
    return tuple(changes)
