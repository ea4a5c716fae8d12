"""What the loop remembers of mailboxes and relays between runs: breakers, pace, minute buckets, paused domains."""

import sqlite3
from collections.abc import Iterable
from typing import Final

from postroom.core.breaker import Breaker, BreakerState
from postroom.core.instant import MINUTE, Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.ports.looping import Bucket, DomainPause, LoopState, ScopeState
from postroom.store.sqlite.loop_speeds import find_speeds
from postroom.store.sqlite.spoiled import find_word, readable
from postroom.store.sqlite.unit import UnitResult


MAILBOX_SCOPE: Final = "m:"
RELAY_SCOPE: Final = "r:"

_LONGEST_PROBE_S: Final = 86_400.0  # what is longer was damaged

_WINDOW: Final = 24 * 60 + 1  # minutes: a rolling day and the minute under way

_MAILBOXES: Final = "SELECT * FROM mailbox"
_RELAYS: Final = "SELECT *, NULL AS paused_by, NULL AS paused_reason, NULL AS paused_at FROM relay"
_BUCKETS: Final = (
    "SELECT scope, minute, lane, started FROM pace_bucket WHERE minute >= ? AND started > 0"
)
_DOMAIN_PAUSES: Final = "SELECT * FROM domain_pause WHERE until_at > ?"

_COUNT: Final = """
    INSERT INTO pace_bucket (scope, minute, lane, started) VALUES (?, ?, ?, 1)
    ON CONFLICT (scope, minute, lane) DO UPDATE SET started = started + 1"""
_GIVE_BACK: Final = """
    UPDATE pace_bucket SET started = max(started - 1, 0) WHERE scope = ? AND minute = ? AND lane = ?"""
_MAILBOX_PACE: Final = """
    INSERT INTO mailbox (id, pace_at) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET pace_at = excluded.pace_at"""
_RELAY_PACE: Final = """
    INSERT INTO relay (id, pace_at) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET pace_at = excluded.pace_at"""
_MAILBOX_BREAKER: Final = """
    INSERT INTO mailbox (breaker_state, breaker_reason, faults_in_row, last20, seen, opened_at, probe_at, probe_s,
                         good_in_row, id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET
        breaker_state = excluded.breaker_state, breaker_reason = excluded.breaker_reason,
        faults_in_row = excluded.faults_in_row, last20 = excluded.last20, seen = excluded.seen,
        opened_at = excluded.opened_at, probe_at = excluded.probe_at, probe_s = excluded.probe_s,
        good_in_row = excluded.good_in_row"""
_RELAY_BREAKER: Final = """
    INSERT INTO relay (breaker_state, breaker_reason, faults_in_row, last20, seen, opened_at, probe_at, probe_s,
                       good_in_row, id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET
        breaker_state = excluded.breaker_state, breaker_reason = excluded.breaker_reason,
        faults_in_row = excluded.faults_in_row, last20 = excluded.last20, seen = excluded.seen,
        opened_at = excluded.opened_at, probe_at = excluded.probe_at, probe_s = excluded.probe_s,
        good_in_row = excluded.good_in_row"""
_PAUSE_DOMAIN: Final = """
    INSERT INTO domain_pause (mailbox_id, domain, until_at, reason_code) VALUES (?, ?, ?, ?)
    ON CONFLICT (mailbox_id, domain) DO UPDATE SET until_at = excluded.until_at, reason_code = excluded.reason_code"""


def load_state(conn: sqlite3.Connection, now: Instant) -> LoopState:
    """All of it, as far as it still matters at `now` and can be read; what holds something back does so all the same."""
    with readable(conn):
        return LoopState(
            mailboxes=tuple(_scope(row) for row in conn.execute(_MAILBOXES)),
            relays=tuple(_scope(row) for row in conn.execute(_RELAYS)),
            buckets=tuple(map(_bucket, conn.execute(_BUCKETS, (now // MINUTE - _WINDOW,)))),
            domain_pauses=tuple(map(_pause, conn.execute(_DOMAIN_PAUSES, (now,)))),
            slowings=find_speeds(conn, now),
        )


def count_start(
    conn: sqlite3.Connection,
    buckets: Iterable[Bucket],
    pace_at: Iterable[tuple[str, Instant]],
) -> None:
    """Count a start in its buckets, and remember how far pace has come."""
    for bucket in buckets:
        conn.execute(_COUNT, _key(bucket))
    for scope, instant in pace_at:
        statement = _MAILBOX_PACE if scope.startswith(MAILBOX_SCOPE) else _RELAY_PACE
        conn.execute(statement, (scope[len(MAILBOX_SCOPE) :], instant))


def give_back(conn: sqlite3.Connection, buckets: Iterable[Bucket]) -> None:
    """Take a start that never reached MAIL out of its buckets."""
    for bucket in buckets:
        conn.execute(_GIVE_BACK, _key(bucket))


def keep_breaker(conn: sqlite3.Connection, mailbox_id: str, breaker: Breaker) -> UnitResult[None]:
    """Remember a mailbox's breaker that moved without an outcome."""
    write_mailbox_breaker(conn, mailbox_id, breaker)
    return UnitResult(None)


def write_mailbox_breaker(conn: sqlite3.Connection, mailbox_id: str, breaker: Breaker) -> None:
    """Remember a mailbox's breaker."""
    conn.execute(_MAILBOX_BREAKER, (*_columns(breaker), mailbox_id))


def write_relay_breaker(conn: sqlite3.Connection, relay_id: str, breaker: Breaker) -> None:
    """Remember a relay's breaker."""
    conn.execute(_RELAY_BREAKER, (*_columns(breaker), relay_id))


def pause_domain(conn: sqlite3.Connection, pause: DomainPause) -> None:
    """Remember that a mailbox leaves a domain alone."""
    conn.execute(_PAUSE_DOMAIN, (pause.mailbox_id, pause.domain, pause.until_at, pause.reason_code))


def _key(bucket: Bucket) -> tuple[str, int, int]:
    return bucket.scope, bucket.minute, bucket.lane


def _columns(breaker: Breaker) -> tuple[object, ...]:
    return (
        *(breaker.state, breaker.reason, breaker.faults_in_row, breaker.last20, breaker.seen),
        *(breaker.opened_at, breaker.probe_at, breaker.probe_s, breaker.good_in_row),
    )


def _bucket(row: sqlite3.Row) -> tuple[Bucket, int]:
    lane = next((lane for lane in Lane if lane == row["lane"]), Lane.STANDARD)
    return Bucket(row["scope"], row["minute"], lane), row["started"]


def _pause(row: sqlite3.Row) -> DomainPause:
    reason = find_word(ReasonCode, row["reason_code"]) or ReasonCode.DOMAIN_DEFERRED
    return DomainPause(row["mailbox_id"], row["domain"], Instant(row["until_at"]), reason)


def _scope(row: sqlite3.Row) -> ScopeState:
    return ScopeState(
        id=row["id"],
        breaker=Breaker(
            state=find_word(BreakerState, row["breaker_state"]) or BreakerState.CLOSED,
            reason=find_word(ReasonCode, row["breaker_reason"]),
            faults_in_row=row["faults_in_row"],
            last20=row["last20"],
            seen=row["seen"],
            opened_at=row["opened_at"],
            probe_at=row["probe_at"],
            probe_s=min(max(row["probe_s"], 0.0), _LONGEST_PROBE_S),
            good_in_row=row["good_in_row"],
        ),
        paused_by=row["paused_by"],
        paused_reason=row["paused_reason"],
        paused_at=row["paused_at"],
        pace_at=row["pace_at"],
    )
