"""The units at the beginning of an attempt: the start, and the mark (CONTRACT §3, "The mark decides")."""

import sqlite3
from typing import Final

from postroom.core.body import Body
from postroom.core.delivery import WAITING, DeliveryState, end_unsent
from postroom.core.instant import MINUTE, SECOND, Instant
from postroom.core.reason import ReasonCode
from postroom.ports.changes import Change, DeliveryQuarantined, RowsWaiting
from postroom.ports.looping import MarkStopped, Start, Started
from postroom.store.sqlite.admin_mailbox import stop_removed
from postroom.store.sqlite.bodies import StoredBody, unpack
from postroom.store.sqlite.conditions import forget_condition, look
from postroom.store.sqlite.holds import IS_HELD, put_aside
from postroom.store.sqlite.loop_scopes import count_start
from postroom.store.sqlite.spoiled import (
    SPOILED,
    check_spoiled,
    find_word,
    lane_of,
    readable,
    state_of,
)
from postroom.store.sqlite.transition import MOVED, WAITS_ON, Step, record
from postroom.store.sqlite.unit import UnitResult


BY: Final = "loop"

# Mail that has come in is read within seconds: asked again so often, nobody waits much longer than for that.
INBOUND_AGAIN: Final = SECOND // 2

_S = DeliveryState

_FIND: Final = f"""
    SELECT d.number, d.job, d.mailbox_id, d.lane, d.domain, d.due_at, d.state, d.recipient, d.message_id, d.head,
           d.claim, d.date_at, d.not_after, d.attempts, d.series_attempts, d.series_started_at, d.deferrals,
           d.crashes, d.doubts, d.thread, d.if_json, d.envelope_from, d.recipient_key, j.trace_id, b.content, b.segments,
           b.size_bytes,
           EXISTS (SELECT 1 FROM suppression AS s
                   WHERE s.address_key = d.recipient_key AND s.mailbox_id IN ('', d.mailbox_id)) AS is_suppressed,
           {IS_HELD}
    FROM delivery AS d LEFT JOIN job AS j ON j.number = d.job LEFT JOIN body AS b ON b.number = j.body
    WHERE d.number = ?"""
_START: Final = """
    UPDATE delivery SET state = 'sending', claim = claim + 1, date_at = coalesce(date_at, :at),
                        series_started_at = :series_started_at, bucket_minute = :minute, relay_id = :relay_id,
                        reason_code = NULL, marked_at = NULL, stage = NULL, version = version + 1
    WHERE number = :number"""
_FIND_SPOILED: Final = f"SELECT {MOVED}, state FROM delivery WHERE number = ?"
_SET_ASIDE: Final = """
    UPDATE delivery SET state = 'held', hold_reason = 'unreadable', version = version + 1 WHERE number = ?"""

_FIND_STARTED: Final = f"""
    SELECT d.number, d.job, d.mailbox_id, d.lane, d.domain, d.due_at, d.state, d.claim, d.marked_at, d.not_after,
           d.reason_code, d.doubts, d.thread, d.if_json, d.recipient_key, m.paused_at, m.removed_at,
           EXISTS (SELECT 1 FROM suppression AS s
                   WHERE s.address_key = d.recipient_key AND s.mailbox_id IN ('', d.mailbox_id)) AS is_suppressed,
           {IS_HELD}
    FROM delivery AS d LEFT JOIN mailbox AS m ON m.id = d.mailbox_id
    WHERE d.number = ?"""
_MARK: Final = "UPDATE delivery SET marked_at = ?, stage = 'dot', crashes = 0 WHERE number = ?"
_STOP: Final = """
    UPDATE delivery SET state = :after, reason_code = :reason, due_at = NULL, stage = NULL, crashes = 0,
                        settled_at = :at, settled_by = 'loop', version = version + 1
    WHERE number = :number"""
_PUT_BACK: Final = f"""
    UPDATE delivery SET state = 'pending', reason_code = :reason, deferrals = deferrals + 1, stage = NULL, crashes = 0,
                        {WAITS_ON}, version = version + 1
    WHERE number = :number"""
_PUT_OFF: Final = """
    UPDATE delivery SET state = 'pending', reason_code = :reason, stage = NULL, crashes = 0, due_at = :at + :later,
                        version = version + 1
    WHERE number = :number"""
_COME_BACK: Final = "UPDATE delivery SET due_at = ?, version = version + 1 WHERE number = ?"


def start(conn: sqlite3.Connection, given: Start) -> UnitResult[Started | MarkStopped | None]:
    """Take a waiting row; None when it waits no more, is not due, may not go any more, or is set aside unreadable.

    MarkStopped where mail for its thread must be read first: then it is due again in a moment.

    What would be refused at the mark is ended here already: a relay that never lets it come so far must not be asked
    about a suppressed address again and again.
    """
    try:
        found = _look(conn, given)
    except SPOILED as error:
        check_spoiled(error)
        return UnitResult(None, _set_aside(conn, given))
    if found is None:
        return UnitResult(None)
    row, started, stopped = found
    before = state_of(row["state"])
    if stopped is None and row["is_held"]:
        return UnitResult(None, put_aside(conn, given.number, before, given.at, BY))
    if stopped is not None and stopped.state in WAITING:
        return UnitResult(stopped, _come_back(conn, row, given.at))
    if stopped is not None:
        return UnitResult(None, _stop(conn, row, before, stopped, given.at))
    minute = given.buckets[0].minute if given.buckets else given.at // MINUTE
    told = {
        "at": given.at,
        "series_started_at": started.series_started_at,
        "minute": minute,
        "relay_id": given.relay_id,
        "number": given.number,
    }
    conn.execute(_START, told)
    count_start(conn, given.buckets, given.pace_at)
    return UnitResult(started, record(conn, row, Step(before, _S.SENDING, given.at, BY)))


def _look(
    conn: sqlite3.Connection, given: Start
) -> tuple[sqlite3.Row, Started, MarkStopped | None] | None:
    """All that is read of a row before anything is written; None when it is not to be taken. Raises: SPOILED."""
    row = conn.execute(_FIND, (given.number,)).fetchone()
    if row is None or state_of(row["state"]) not in WAITING or row["due_at"] > given.at:
        return None
    return (
        row,
        _started(row, given.at),
        _judge(row, given.at) or _judge_condition(conn, row),
    )


def _set_aside(conn: sqlite3.Connection, given: Start) -> tuple[Change, ...]:
    with readable(conn):
        row = conn.execute(_FIND_SPOILED, (given.number,)).fetchone()
    conn.execute(_SET_ASIDE, (given.number,))
    step = Step(state_of(row["state"]), _S.HELD, given.at, BY)
    told = DeliveryQuarantined(given.number, row["job"], row["mailbox_id"])
    return (*record(conn, row, step), told)


def mark(
    conn: sqlite3.Connection, number: int, claim: int, at: Instant
) -> UnitResult[Instant | MarkStopped]:
    """Commit "the final dot is about to go", if nothing speaks against it at this very moment."""
    row = conn.execute(_FIND_STARTED, (number,)).fetchone()
    if not _is_under_way(row, claim):
        reason = find_word(ReasonCode, row["reason_code"])
        return UnitResult(MarkStopped(state_of(row["state"]), reason or ReasonCode.CANCELLED))
    stopped = _judge(row, at) or _judge_condition(conn, row) or _judge_pause(row)
    if row["removed_at"] is not None and (stopped is None or stopped.state in WAITING):
        stopped = MarkStopped(_S.HELD, ReasonCode.MAILBOX_REMOVED)
        return UnitResult(stopped, stop_removed(conn, number, at, BY))
    if row["is_held"] and (stopped is None or stopped.state in WAITING):
        stopped = MarkStopped(_S.HELD, ReasonCode.LOOP)
        return UnitResult(stopped, put_aside(conn, number, _S.SENDING, at, BY))
    if stopped is not None:
        return UnitResult(stopped, _stop(conn, row, _S.SENDING, stopped, at))
    conn.execute(_MARK, (at, number))
    if row["if_json"] is not None:
        forget_condition(conn, row["job"])
    return UnitResult(at)


def _come_back(conn: sqlite3.Connection, row: sqlite3.Row, at: Instant) -> tuple[Change, ...]:
    """Have it due again in a moment."""
    due_at = Instant(at + INBOUND_AGAIN)
    conn.execute(_COME_BACK, (due_at, row["number"]))
    return (RowsWaiting(row["mailbox_id"], lane_of(row["lane"]), due_at, row["domain"]),)


def _started(row: sqlite3.Row, at: Instant) -> Started:
    return Started(
        number=row["number"],
        claim=row["claim"] + 1,
        job_number=row["job"],
        mailbox_id=row["mailbox_id"],
        trace_id=row["trace_id"],
        recipient=row["recipient"],
        domain=row["domain"],
        lane=lane_of(row["lane"]),
        message_id=row["message_id"],
        head=row["head"],
        body=_body(row),
        date_at=_first(row["date_at"], at),
        not_after=row["not_after"],
        attempts=row["attempts"],
        series_attempts=row["series_attempts"],
        series_started_at=_series_started_at(row, at),
        deferrals=row["deferrals"],
        crashes=row["crashes"],
        doubts=row["doubts"],
        envelope_from=row["envelope_from"],
    )


def _body(row: sqlite3.Row) -> Body:
    if row["content"] is None:
        message = "there is no body"
        raise TypeError(message)
    return unpack(StoredBody(row["content"], row["segments"], row["size_bytes"]))


def _series_started_at(row: sqlite3.Row, at: Instant) -> Instant:
    """When the series began, moved on by what the delivery has waited since it was due: that time does not count."""
    began = row["series_started_at"]
    return at if began is None else Instant(began + at - row["due_at"])


def _first(stored: int | None, at: Instant) -> Instant:
    return at if stored is None else Instant(stored)


def _is_under_way(row: sqlite3.Row, claim: int) -> bool:
    return row["state"] == _S.SENDING and row["claim"] == claim and row["marked_at"] is None


def _judge(row: sqlite3.Row, at: Instant) -> MarkStopped | None:
    """What has ended it."""
    if row["not_after"] is not None and at > row["not_after"]:
        return MarkStopped(end_unsent(_S.FAILED, row["doubts"]), ReasonCode.EXPIRED)
    if row["is_suppressed"]:
        after = end_unsent(_S.FAILED, row["doubts"])
        return MarkStopped(after, ReasonCode.RECIPIENT_SUPPRESSED)
    return None


def _judge_condition(conn: sqlite3.Connection, row: sqlite3.Row) -> MarkStopped | None:
    """Whether its `if` is false, or can not be told before mail that has come in is read."""
    standing = look(conn, row["thread"], row["if_json"])
    if standing is None:
        return None
    if not standing.is_true:
        return MarkStopped(end_unsent(_S.SKIPPED, row["doubts"]), ReasonCode.PRECONDITION_FALSE)
    if standing.pending_since is not None:
        return MarkStopped(_S.PENDING, ReasonCode.INBOUND_PENDING, standing.pending_since)
    return None


def _judge_pause(row: sqlite3.Row) -> MarkStopped | None:
    """Whether a person's pause keeps it; one by classification is the loop's to judge, not the mark's."""
    if row["paused_at"] is not None:
        return MarkStopped(_S.PENDING, ReasonCode.MAILBOX_PAUSED)
    return None


def _stop(
    conn: sqlite3.Connection,
    row: sqlite3.Row,
    before: DeliveryState,
    stopped: MarkStopped,
    at: Instant,
) -> tuple[Change, ...]:
    given = {
        "after": stopped.state,
        "reason": stopped.reason_code,
        "at": at,
        "number": row["number"],
        "later": INBOUND_AGAIN,
    }
    put_back = _PUT_BACK if stopped.since is None else _PUT_OFF
    conn.execute(put_back if stopped.state in WAITING else _STOP, given)
    return record(conn, row, Step(before, stopped.state, at, BY, stopped.reason_code))
