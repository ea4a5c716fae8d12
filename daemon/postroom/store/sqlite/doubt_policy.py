"""What mailboxes' `on_uncertain` does by itself (ports.doubting), on SQLite.

`resend` looks at doubts that are the first of their delivery, and leaves for ever what may not be sent any more: it
is in no index that is looked at again. `assume_sent` looks at all. Both begin with the oldest, and read nothing but
what is due.

A doubt that began after now was written by a clock that has been set back since: it is taken to begin now.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.doubt import no_resend
from postroom.core.instant import Instant
from postroom.core.mailbox import OnUncertain
from postroom.core.reason import ReasonCode
from postroom.ports.changes import Change, DoubtJudged
from postroom.ports.doubting import PolicyDone, PolicyTurn
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.doubt_steps import call_sent, send_again
from postroom.store.sqlite.transition import Step, record
from postroom.store.sqlite.unit import UnitResult, WriteLane


BY: Final = "policy"

_ROWS_EACH: Final = 3  # of one decision: delivery, history, event or job

_MEND: Final = """
    UPDATE delivery SET settled_at = :now WHERE mailbox_id = :mailbox_id AND state = 'uncertain' AND settled_at > :now"""
_FOR_RESEND: Final = """
    SELECT d.number, d.job, d.mailbox_id, d.not_after, d.cancel_asked, d.settled_at,
           EXISTS (SELECT 1 FROM suppression AS s
                   WHERE s.address_key = d.recipient_key AND s.mailbox_id IN ('', d.mailbox_id)) AS is_suppressed
    FROM delivery AS d INDEXED BY delivery_resend
    WHERE d.mailbox_id = ? AND d.state = 'uncertain' AND d.resends = 0 AND d.doubts = 0 AND d.no_resend IS NULL
    ORDER BY d.settled_at, d.number LIMIT ?"""
_FOR_ASSUMING: Final = """
    SELECT number, job, mailbox_id, settled_at FROM delivery INDEXED BY delivery_doubt
    WHERE mailbox_id = ? AND state = 'uncertain' ORDER BY settled_at, number LIMIT ?"""
_LEAVE: Final = "UPDATE delivery SET no_resend = ?, version = version + 1 WHERE number = ?"


class SqliteDoubts:
    """Carries out policies."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def settle_due(self, turn: PolicyTurn) -> PolicyDone:
        """Decide about doubts that are old enough, the oldest first."""
        weight = _ROWS_EACH * turn.limit
        return await self._database.write(Settling(turn), lane=WriteLane.REST, weight=weight)


@dataclass(frozen=True, slots=True)
class Settling:
    """The unit."""

    turn: PolicyTurn

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[PolicyDone]:
        """How many were decided, and since when the oldest of the others is in doubt."""
        turn = self.turn
        conn.execute(_MEND, {"now": turn.at, "mailbox_id": turn.mailbox_id})
        sql = _FOR_RESEND if turn.kind is OnUncertain.RESEND else _FOR_ASSUMING
        rows = conn.execute(sql, (turn.mailbox_id, turn.limit + 1)).fetchall()
        due = [row for row in rows[: turn.limit] if row["settled_at"] <= turn.until]
        changes: list[Change] = []
        for row in due:
            changes += self._settle(conn, row)
        rest = rows[len(due)]["settled_at"] if len(due) < len(rows) else None
        since = None if rest is None else Instant(rest)
        return UnitResult(PolicyDone(len(due), since), tuple(changes))

    def _settle(self, conn: sqlite3.Connection, row: sqlite3.Row) -> tuple[Change, ...]:
        number, at = row["number"], self.turn.at
        if self.turn.kind is not OnUncertain.RESEND:
            after, reason = DeliveryState.SENT, ReasonCode.POLICY_ASSUME_SENT
            moved = call_sent(conn, number, at, BY, reason)
            return self._moved(conn, moved, after, reason)
        ruled_out = no_resend(
            row["not_after"],
            at,
            is_cancelled=bool(row["cancel_asked"]),
            is_suppressed=bool(row["is_suppressed"]),
        )
        if ruled_out is not None:
            conn.execute(_LEAVE, (ruled_out, number))
            return (_told(row, DeliveryState.UNCERTAIN, ruled_out),)
        moved = send_again(conn, number, at, ReasonCode.POLICY_RESEND)
        return self._moved(conn, moved, DeliveryState.PENDING, ReasonCode.POLICY_RESEND)

    def _moved(
        self, conn: sqlite3.Connection, moved: sqlite3.Row, after: DeliveryState, reason: ReasonCode
    ) -> tuple[Change, ...]:
        step = Step(DeliveryState.UNCERTAIN, after, self.turn.at, BY, reason)
        return (*record(conn, moved, step), _told(moved, after, reason))


def _told(row: sqlite3.Row, after: DeliveryState, reason: ReasonCode) -> DoubtJudged:
    return DoubtJudged(row["number"], row["job"], row["mailbox_id"], after, BY, reason)
