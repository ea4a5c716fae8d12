"""The units at the end of an attempt, and of the wait for one.

What a server said after the final dot must never be lost to what else it said: its text is made storable before it is
bound, and the event is a picture of the stored row.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.delivery import UNSETTLED, DeliveryState, end_unsent
from postroom.core.doubt import Bearing, bearing
from postroom.core.instant import Instant
from postroom.core.matching import relay_aliases
from postroom.core.reason import ReasonCode
from postroom.ports.changes import Change
from postroom.ports.looping import Outcome
from postroom.store.sqlite.inbox_evidence import BY as EVIDENCE
from postroom.store.sqlite.inbox_evidence import settled_by_evidence
from postroom.store.sqlite.inbox_own import add_ref
from postroom.store.sqlite.loop_scopes import (
    give_back,
    pause_domain,
    write_mailbox_breaker,
    write_relay_breaker,
)
from postroom.store.sqlite.loop_speeds import write_speed
from postroom.store.sqlite.loop_start import BY
from postroom.store.sqlite.spoiled import find_word, state_of
from postroom.store.sqlite.transition import MOVED, Step, record, storable
from postroom.store.sqlite.unit import UnitResult


_S = DeliveryState

_FIND: Final = """
    SELECT number, state, claim, doubts, cancel_asked, attempts, job, mailbox_id, lane, domain, due_at, thread, evidence
    FROM delivery WHERE number = ?"""
_FIND_WAITING: Final = f"SELECT {MOVED} FROM delivery WHERE number = ?"
_FINISH: Final = """
    UPDATE delivery SET
        state = :after, reason_code = :reason, stage = :stage,
        due_at = CASE WHEN :is_over THEN NULL ELSE coalesce(:due_at, due_at) END,
        marked_at = CASE WHEN :keeps_mark THEN marked_at END, doubts = doubts + :is_past_doubt, evidence = NULL,
        attempts = attempts + :attempt, series_attempts = series_attempts + :series_attempt,
        deferrals = deferrals + :deferral, crashes = 0,
        relay_message_id = coalesce(:relay_message_id, relay_message_id),
        reply_code = CASE WHEN :has_reply THEN :reply_code ELSE reply_code END,
        enhanced_status = CASE WHEN :has_reply THEN :enhanced ELSE enhanced_status END,
        reply_text = CASE WHEN :has_reply THEN :reply_text ELSE reply_text END,
        reply_raw = CASE WHEN :has_reply THEN :reply_raw ELSE reply_raw END,
        settled_at = CASE WHEN :is_over THEN :at END, settled_by = CASE WHEN :is_over THEN :by END,
        version = version + 1
    WHERE number = :number"""

_PAST_NOT_AFTER: Final = """
    SELECT number, job, mailbox_id, lane, domain, due_at, state, doubts FROM delivery INDEXED BY delivery_not_after
    WHERE not_after IS NOT NULL AND state IN ('pending', 'retry_scheduled') AND not_after < ? LIMIT ?"""
_EXPIRE: Final = """
    UPDATE delivery SET state = :after, reason_code = 'expired', due_at = NULL, settled_at = :at, settled_by = 'loop',
                        version = version + 1
    WHERE number = :number"""


@dataclass(frozen=True, slots=True)
class _End:
    after: DeliveryState
    reason_code: ReasonCode | None
    by: str = BY

    @property
    def is_over(self) -> bool:
        return self.after not in UNSETTLED


def finish(conn: sqlite3.Connection, outcome: Outcome) -> UnitResult[DeliveryState]:
    """Record how an attempt ended; the state that it came to.

    Where the delivery was moved on meanwhile (cancelled before its mark), only what was learned of relay and mailbox
    is recorded.
    """
    row = conn.execute(_FIND, (outcome.number,)).fetchone()
    _learn(conn, outcome)
    for alias in relay_aliases(storable(outcome.relay_message_id)):
        add_ref(conn, row["mailbox_id"], alias, row["thread"], outcome.number, outcome.at)
    if row["state"] != _S.SENDING or row["claim"] != outcome.claim:
        return UnitResult(state_of(row["state"]))
    end = _end(row, outcome)
    conn.execute(_FINISH, _columns(outcome, end))
    moved = row if end.is_over else conn.execute(_FIND_WAITING, (outcome.number,)).fetchone()
    attempt = row["attempts"] + 1 if outcome.counts_attempt else None
    step = Step(_S.SENDING, end.after, outcome.at, end.by, end.reason_code, outcome.reply, attempt)
    changes = record(conn, moved, step)
    if end.by == EVIDENCE and end.reason_code is not None:
        changes += (settled_by_evidence(outcome.number, row, end.after, end.reason_code),)
    return UnitResult(end.after, changes)


def end_expired(conn: sqlite3.Connection, now: Instant, limit: int) -> UnitResult[int]:
    """Fail waiting rows whose `not_after` is over; what the relay said last is kept."""
    rows = conn.execute(_PAST_NOT_AFTER, (now, limit)).fetchall()
    changes: list[Change] = []
    for row in rows:
        after = end_unsent(_S.FAILED, row["doubts"])
        conn.execute(_EXPIRE, {"after": after, "at": now, "number": row["number"]})
        step = Step(state_of(row["state"]), after, now, BY, ReasonCode.EXPIRED)
        changes += record(conn, row, step)
    return UnitResult(len(rows), tuple(changes))


def _end(row: sqlite3.Row, outcome: Outcome) -> _End:
    """How it ends; evidence that came meanwhile counts where it would count a moment later."""
    end = _end_unproven(row, outcome)
    if row["evidence"] is None:
        return end
    if bearing(end.after, row["doubts"], is_marked=False) is not Bearing.SETTLES:
        return end
    return _End(_S.SENT, find_word(ReasonCode, row["evidence"]), EVIDENCE)


def _end_unproven(row: sqlite3.Row, outcome: Outcome) -> _End:
    if outcome.after in UNSETTLED:
        if not row["cancel_asked"]:
            return _End(outcome.after, outcome.reason_code)
        return _End(end_unsent(_S.CANCELLED, row["doubts"]), ReasonCode.CANCELLED)
    if outcome.after is _S.SENT:
        return _End(_S.SENT, outcome.reason_code)
    return _End(end_unsent(outcome.after, row["doubts"]), outcome.reason_code)


def _learn(conn: sqlite3.Connection, outcome: Outcome) -> None:
    give_back(conn, outcome.give_back)
    if outcome.relay_breaker is not None:
        write_relay_breaker(conn, *outcome.relay_breaker)
    if outcome.mailbox_breaker is not None:
        write_mailbox_breaker(conn, *outcome.mailbox_breaker)
    if outcome.domain_pause is not None:
        pause_domain(conn, outcome.domain_pause)
    for moved in outcome.speeds:
        write_speed(conn, moved)


def _columns(outcome: Outcome, end: _End) -> dict[str, object]:
    reply = outcome.reply
    is_unanswered = outcome.after is _S.UNCERTAIN and not outcome.withdraws_mark
    return {
        "number": outcome.number,
        "after": end.after,
        "reason": end.reason_code,
        "stage": outcome.stage,
        "is_over": end.is_over,
        "at": outcome.at,
        "due_at": outcome.due_at,
        "by": end.by,
        "keeps_mark": is_unanswered and end.after is _S.UNCERTAIN,
        "is_past_doubt": is_unanswered and end.after is not _S.UNCERTAIN,
        "attempt": outcome.counts_attempt,
        "series_attempt": outcome.counts_series,
        "deferral": outcome.is_deferral,
        "relay_message_id": storable(outcome.relay_message_id),
        "has_reply": reply is not None,
        "reply_code": reply and reply.code,
        "enhanced": storable(reply.enhanced) if reply else None,
        "reply_text": storable(reply.text) if reply else None,
        "reply_raw": reply and reply.raw,
    }
