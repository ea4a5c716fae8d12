"""What a crash leaves, made right before anything else is done (CONTRACT §2, §6.3).

| found | becomes |
|---|---|
| `sending`, no mark | `pending`, `crashes` + 1; the third time in a row `failed`, `poison` |
| `sending`, marked | `uncertain`: the relay may have it, so it is an attempt and never sent again by itself |
| the same, with evidence that it went out | `sent` |

A reboot and a clean stop count no crash. One transaction, one pass over what was under way: bystanders are waiting
rows and are not touched. What is marked is never much: the loop has at most its slots and 1,000 outcomes open.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.delivery import POISON_CRASHES, DeliveryState, end_unsent
from postroom.core.instant import Instant
from postroom.core.reason import ReasonCode
from postroom.store.sqlite.events import write_events
from postroom.store.sqlite.spoiled import find_word, readable
from postroom.store.sqlite.transition import WAITS_ON, Step, record, settle


BY: Final = "recovery"

_LAST_HISTORY: Final = "SELECT coalesce(max(number), 0) FROM history"
_POISON: Final = """
    SELECT number, doubts FROM delivery INDEXED BY delivery_sending
    WHERE state = 'sending' AND marked_at IS NULL AND crashes + 1 >= :poison"""
_FAIL: Final = """
    UPDATE delivery SET state = :after, reason_code = 'poison', crashes = crashes + 1, due_at = NULL, stage = NULL,
                        settled_at = :now, settled_by = 'recovery', version = version + 1
    WHERE number = :number RETURNING number, job, mailbox_id, lane, domain, due_at"""
_BACK_HISTORY: Final = """
    INSERT INTO history (delivery, before, after, at, reason_code, by)
    SELECT number, 'sending', 'pending', :now, 'crash.before_mark', 'recovery'
    FROM delivery INDEXED BY delivery_sending WHERE state = 'sending' AND marked_at IS NULL"""
_BACK: Final = f"""
    UPDATE delivery SET state = 'pending', reason_code = 'crash.before_mark', crashes = crashes + :crash,
                        due_at = coalesce(due_at, :now), stage = NULL, {WAITS_ON}, version = version + 1
    WHERE state = 'sending' AND marked_at IS NULL"""
_PROVEN: Final = """
    UPDATE delivery SET state = 'sent', reason_code = evidence, evidence = NULL, due_at = NULL, crashes = 0,
                        attempts = attempts + 1, series_attempts = series_attempts + 1, doubts = doubts + 1,
                        marked_at = NULL, settled_at = :now, settled_by = 'evidence', version = version + 1
    WHERE state = 'sending' AND marked_at IS NOT NULL AND evidence IS NOT NULL
    RETURNING number, job, mailbox_id, lane, domain, due_at, reason_code, attempts"""
_DOUBT_HISTORY: Final = """
    INSERT INTO history (delivery, attempt, before, after, at, reason_code, by)
    SELECT number, attempts + 1, 'sending', 'uncertain', :now, 'crash.after_mark', 'recovery'
    FROM delivery INDEXED BY delivery_sending WHERE state = 'sending' AND marked_at IS NOT NULL"""
_DOUBT: Final = """
    UPDATE delivery SET state = 'uncertain', reason_code = 'crash.after_mark', due_at = NULL, crashes = 0,
                        attempts = attempts + 1, series_attempts = series_attempts + 1,
                        settled_at = :now, settled_by = 'recovery', version = version + 1
    WHERE state = 'sending' AND marked_at IS NOT NULL RETURNING number, job"""

_BUMP: Final = (
    1 << 32
)  # numbers given since the copy was made may be in the world: none of them comes again
_NUMBERED: Final = ("job", "delivery", "thread", "event", "lease", "received")
_BUMP_NUMBERS: Final = "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = ?"
_FIRST_NUMBER: Final = "INSERT INTO sqlite_sequence (seq, name) VALUES (?, ?)"
_BUMP_FENCES: Final = "UPDATE fence SET fence = fence + ?"
_END_LEASES: Final = "UPDATE lease SET state = 'expired', ended_at = ? WHERE state = 'live'"
_STEP: Final = (
    10_000  # rows in one statement: what it may have to take back is kept in memory (temp_store)
)
_UP_TO: Final = """
    SELECT max(number) FROM (SELECT number FROM delivery WHERE number > ? ORDER BY number LIMIT ?)"""
_IN_STEP: Final = "number > :after AND number <= :up_to"
_HOLD_HISTORY: Final = f"""
    INSERT INTO history (delivery, before, after, at, by)
    SELECT number, state, 'held', :now, 'recovery' FROM delivery NOT INDEXED
    WHERE {_IN_STEP} AND state IN ('pending', 'retry_scheduled')"""
_HOLD: Final = f"""
    UPDATE delivery NOT INDEXED SET state = 'held', hold_reason = 'restored', version = version + 1
    WHERE {_IN_STEP} AND state IN ('pending', 'retry_scheduled')"""
# What was held may have been freed since, and gone.
_HOLD_HELD: Final = f"""
    UPDATE delivery NOT INDEXED
    SET hold_reason = 'restored', reason_code = nullif(reason_code, 'mailbox_removed'), version = version + 1
    WHERE {_IN_STEP} AND state = 'held'"""

# A doubt may have been settled by a resend since: no policy sends again by itself what a resend may have sent.
_NO_RESEND: Final = f"""
    UPDATE delivery NOT INDEXED SET resends = resends + 1 WHERE {_IN_STEP} AND state = 'uncertain'"""


@dataclass(frozen=True, slots=True)
class Found:
    """How many deliveries became what."""

    to_pending: int
    to_uncertain: int
    poison: int


def recover(conn: sqlite3.Connection, now: Instant, *, is_crash: bool) -> Found:
    """Take every delivery out of `sending`; to be called inside a transaction."""
    with readable(conn):
        return _recover(conn, now, is_crash=is_crash)


def leave_out_numbers(conn: sqlite3.Connection, now: Instant) -> None:
    """A copy was put in place: no number, seq or fence that may have been given since it was made comes again.

    A consumer's first fence on a thread follows the numbers of leases (see `lease_acquire`).
    """
    for name in _NUMBERED:
        if conn.execute(_BUMP_NUMBERS, (_BUMP, name)).rowcount == 0:
            conn.execute(_FIRST_NUMBER, (_BUMP, name))
    conn.execute(_BUMP_FENCES, (_BUMP,))
    conn.execute(_END_LEASES, (now,))


def hold_restored(conn: sqlite3.Connection, now: Instant) -> int:
    """Let nothing go by itself: what waits in a copy may have been sent after it was made. How many are held."""
    held = after = 0
    while (up_to := conn.execute(_UP_TO, (after, _STEP)).fetchone()[0]) is not None:
        given = {"now": now, "after": after, "up_to": up_to}
        conn.execute(_NO_RESEND, given)
        conn.execute(_HOLD_HISTORY, given)
        held += conn.execute(_HOLD_HELD, given).rowcount
        held += conn.execute(_HOLD, given).rowcount
        after = up_to
    return held


def _recover(conn: sqlite3.Connection, now: Instant, *, is_crash: bool) -> Found:
    poison = _end_poison(conn, now) if is_crash else 0
    given = {"now": now, "crash": int(is_crash)}
    _settle_proven(conn, now)
    last: int = conn.execute(_LAST_HISTORY).fetchone()[0]
    conn.execute(_BACK_HISTORY, given)
    back = conn.execute(_BACK, given).rowcount
    conn.execute(_DOUBT_HISTORY, given)
    doubtful = conn.execute(_DOUBT, given).fetchall()
    write_events(conn, "delivery.uncertain", DeliveryState.UNCERTAIN, last, now)
    for job in {row["job"] for row in doubtful}:
        settle(conn, job, now)
    return Found(back, len(doubtful), poison)


def _settle_proven(conn: sqlite3.Connection, now: Instant) -> None:
    for row in conn.execute(_PROVEN, {"now": now}).fetchall():
        reason = find_word(ReasonCode, row["reason_code"])
        step = Step(
            DeliveryState.SENDING,
            DeliveryState.SENT,
            now,
            "evidence",
            reason,
            attempt=row["attempts"],
        )
        record(conn, row, step)


def _end_poison(conn: sqlite3.Connection, now: Instant) -> int:
    found = conn.execute(_POISON, {"poison": POISON_CRASHES}).fetchall()
    for row in found:
        after = end_unsent(DeliveryState.FAILED, row["doubts"])
        given = {"after": after, "now": now, "number": row["number"]}
        moved = conn.execute(_FAIL, given).fetchone()
        record(conn, moved, Step(DeliveryState.SENDING, after, now, BY, ReasonCode.POISON))
    return len(found)
