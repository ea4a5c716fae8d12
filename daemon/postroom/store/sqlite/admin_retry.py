"""Sending again, settling doubt and releasing by hand: units over failed, uncertain and held deliveries (CONTRACT §2).

A redrive or a resend begins a new series: ceiling, crashes and lifetime count from it, while `attempts` goes on.
Message-ID, Date and content stay what they were. An unanswered mark stays in the past of what is resent (`doubts`),
and of what a person called failed: should it be given up later, it may still have gone out.
"""

import sqlite3
from dataclasses import dataclass
from itertools import chain
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.record import DeliveryRecord
from postroom.ports.changes import Change
from postroom.ports.desk import Actor, Verdict, WrongState
from postroom.store.sqlite.doubt_steps import PAST_DOUBTS, call_sent, send_again
from postroom.store.sqlite.reads_deliveries import find_delivery
from postroom.store.sqlite.spoiled import state_of
from postroom.store.sqlite.transition import MOVED, Step, record
from postroom.store.sqlite.unit import UnitResult


_READ: Final = """
    SELECT d.state, d.not_after, m.removed_at FROM delivery AS d LEFT JOIN job AS j ON j.number = d.job
    LEFT JOIN mailbox AS m ON m.id = d.mailbox_id
    WHERE d.number = ? AND j.expired_at IS NULL"""

_FAILED: Final = f"""
    UPDATE delivery SET state = 'failed', settled_by = :by, settled_at = :at, {PAST_DOUBTS}, version = version + 1
    WHERE number = :number RETURNING {MOVED}"""
_RELEASE: Final = f"""
    UPDATE delivery SET state = 'pending', hold_reason = NULL, reason_code = NULL, due_at = coalesce(due_at, :at),
        series_attempts = 0, series_started_at = NULL, crashes = 0, version = version + 1
    WHERE number = :number RETURNING {MOVED}"""

_AFTER: Final = {
    Verdict.SENT: DeliveryState.SENT,
    Verdict.RESEND: DeliveryState.PENDING,
    Verdict.FAILED: DeliveryState.FAILED,
}


@dataclass(frozen=True, slots=True)
class Retrying:
    """A unit that redrives one failed delivery."""

    number: int
    actor: Actor
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[DeliveryRecord | WrongState | None]:
        """The delivery as it waits again; WrongState when it did not fail or may not be sent any more."""
        return _told(conn, self.number, self.change(conn))

    def change(self, conn: sqlite3.Connection) -> tuple[Change, ...] | WrongState | None:
        """What it changed; None when there is no such delivery."""
        return _settle(conn, self, DeliveryState.FAILED, Verdict.RESEND)


@dataclass(frozen=True, slots=True)
class Resolving:
    """A unit that settles one uncertain delivery as a person says."""

    number: int
    actor: Actor
    at: Instant
    verdict: Verdict

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[DeliveryRecord | WrongState | None]:
        """The delivery as it is then; WrongState when there was no doubt, or it may not be sent any more."""
        return _told(conn, self.number, self.change(conn))

    def change(self, conn: sqlite3.Connection) -> tuple[Change, ...] | WrongState | None:
        """What it changed; None when there is no such delivery."""
        return _settle(conn, self, DeliveryState.UNCERTAIN, self.verdict)


@dataclass(frozen=True, slots=True)
class Releasing:
    """A unit that lets one held delivery go. It begins a new series: the time for which it was held is not its own."""

    number: int
    actor: Actor
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[DeliveryRecord | WrongState | None]:
        """The delivery as it waits again; WrongState when it is not held, or its mailbox is gone."""
        return _told(conn, self.number, self.change(conn))

    def change(self, conn: sqlite3.Connection) -> tuple[Change, ...] | WrongState | None:
        """What it changed; None when there is no such delivery."""
        row = conn.execute(_READ, (self.number,)).fetchone()
        if row is None:
            return None
        state = state_of(row["state"])
        if state is not DeliveryState.HELD:
            return WrongState(state, _INSTEAD[state])
        if row["removed_at"] is not None:
            return WrongState(state, _NO_MAILBOX)
        moved = conn.execute(_RELEASE, {"number": self.number, "at": self.at}).fetchone()
        return record(conn, moved, Step(state, DeliveryState.PENDING, self.at, self.actor.by))


@dataclass(frozen=True, slots=True)
class InBulk:
    """Several of these in one transaction; those that find a wrong state do nothing."""

    units: tuple[Retrying | Resolving | Releasing, ...]

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[int]:
        """How many deliveries were changed."""
        told = [unit.change(conn) for unit in self.units]
        changes = [changed for changed in told if isinstance(changed, tuple)]
        return UnitResult(len(changes), tuple(chain.from_iterable(changes)))


def _told(
    conn: sqlite3.Connection, number: int, changed: tuple[Change, ...] | WrongState | None
) -> UnitResult[DeliveryRecord | WrongState | None]:
    if isinstance(changed, tuple):
        return UnitResult(find_delivery(conn, number), changed)
    return UnitResult(changed)


def _settle(
    conn: sqlite3.Connection,
    asked: Retrying | Resolving,
    before: DeliveryState,
    verdict: Verdict,
) -> tuple[Change, ...] | WrongState | None:
    row = conn.execute(_READ, (asked.number,)).fetchone()
    if row is None:
        return None
    wrong = _wrong(row, asked, before, verdict)
    if wrong is not None:
        return wrong
    moved = _move(conn, asked, verdict)
    by = asked.actor.by
    return record(conn, moved, Step(before, _AFTER[verdict], asked.at, by))


def _move(conn: sqlite3.Connection, asked: Retrying | Resolving, verdict: Verdict) -> sqlite3.Row:
    number, by, at = asked.number, asked.actor.by, asked.at
    match verdict:
        case Verdict.SENT:
            return call_sent(conn, number, at, by)
        case Verdict.RESEND:
            return send_again(conn, number, at)
        case Verdict.FAILED:
            given = {"number": number, "by": by, "at": at}
            row: sqlite3.Row = conn.execute(_FAILED, given).fetchone()
            return row


def _wrong(
    row: sqlite3.Row, asked: Retrying | Resolving, before: DeliveryState, verdict: Verdict
) -> WrongState | None:
    state = state_of(row["state"])
    if state is not before:
        return WrongState(state, _INSTEAD[state])
    if verdict is not Verdict.RESEND:
        return None
    if row["not_after"] is not None and row["not_after"] <= asked.at:
        return WrongState(state, "its not_after is over: hand over a new job instead")
    if row["removed_at"] is not None:
        return WrongState(state, _NO_MAILBOX)
    return None


_NO_MAILBOX: Final = "its mailbox is not configured any more: bring it back first"
_INSTEAD: Final = {
    DeliveryState.PENDING: "it waits to be sent already",
    DeliveryState.HELD: "it is held: release it, or wait until its mailbox is back",
    DeliveryState.SENDING: "it is being sent now",
    DeliveryState.RETRY_SCHEDULED: "it will be tried again by itself: reschedule the job to change when",
    DeliveryState.SENT: "it was sent: hand over a new job to send another mail",
    DeliveryState.UNCERTAIN: "it may have been sent: resolve it as sent, resend or failed",
    DeliveryState.FAILED: "it failed: retry it to send it again",
    DeliveryState.CANCELLED: "it was cancelled: hand over a new job instead",
    DeliveryState.SKIPPED: "it was skipped: hand over a new job instead",
}
