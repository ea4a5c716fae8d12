"""Pausing mailboxes, addresses that get no mail, and what waits for a mailbox that is gone: units."""

import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.job import Address
from postroom.core.reason import ReasonCode
from postroom.core.record import SuppressionRecord
from postroom.ports.changes import Change, MailboxPaused
from postroom.ports.desk import Actor
from postroom.store.sqlite import rows
from postroom.store.sqlite.keyset import each_mailbox
from postroom.store.sqlite.spoiled import is_damaged, readable, state_of
from postroom.store.sqlite.transition import MOVED, WAITS_ON, Step, record
from postroom.store.sqlite.unit import UnitResult


_KNOW: Final = "INSERT INTO mailbox (id) VALUES (?) ON CONFLICT DO NOTHING"
# Who pauses it again and says nothing takes nothing away from who said why.
_PAUSE: Final = """
    UPDATE mailbox SET paused_by = ?, paused_reason = ?, paused_at = ?
    WHERE id = ? AND (paused_at IS NULL OR paused_reason = '' OR ? <> '')"""
_RESUME: Final = """
    UPDATE mailbox SET paused_by = NULL, paused_reason = NULL, paused_at = NULL, breaker_state = 'closed',
        breaker_reason = NULL, faults_in_row = 0, last20 = 0, seen = 0, opened_at = NULL, probe_at = NULL,
        probe_s = 0, good_in_row = 0
    WHERE id = ?"""

# As with a pause: a complaint that a report told of stays known for one.
_SUPPRESS: Final = f"""
    INSERT INTO suppression (mailbox_id, address_key, address, reason, by, created_at) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (address_key, mailbox_id) DO UPDATE SET
        reason = coalesce(nullif(excluded.reason, ''), reason), by = iif(excluded.reason = '', by, excluded.by)
    RETURNING {rows.SUPPRESSION}"""
_UNSUPPRESS: Final = (
    "DELETE FROM suppression WHERE address_key = ? AND mailbox_id = ? RETURNING number"
)

_KNOWN: Final = "SELECT id FROM mailbox ORDER BY id"
_IS_GONE: Final = "SELECT removed_at IS NOT NULL FROM mailbox WHERE id = ?"
_REMOVED: Final = "UPDATE mailbox SET removed_at = ? WHERE id = ? AND removed_at IS NULL"
_BACK: Final = "UPDATE mailbox SET removed_at = NULL WHERE id = ? AND removed_at IS NOT NULL"
_WAITING: Final = """
    SELECT number, state FROM delivery WHERE mailbox_id = ? AND state IN ('pending', 'retry_scheduled') LIMIT ?"""
_HOLD: Final = f"""
    UPDATE delivery SET state = 'held', hold_reason = 'mailbox_removed', reason_code = 'mailbox_removed',
        version = version + 1
    WHERE number = ? RETURNING {MOVED}"""
_STOP: Final = f"""
    UPDATE delivery SET state = 'held', hold_reason = 'mailbox_removed', reason_code = 'mailbox_removed', stage = NULL,
        deferrals = deferrals + 1, crashes = 0, {WAITS_ON}, version = version + 1
    WHERE number = ? RETURNING {MOVED}"""
_HELD: Final = """
    SELECT number, state FROM delivery
    WHERE mailbox_id = ? AND state = 'held' AND hold_reason = 'mailbox_removed' LIMIT ?"""
_FREE: Final = f"""
    UPDATE delivery SET state = 'pending', hold_reason = NULL, reason_code = NULL, version = version + 1
    WHERE number = ? RETURNING {MOVED}"""
_BY: Final = "config"


def stop_removed(conn: sqlite3.Connection, number: int, at: Instant, by: str) -> tuple[Change, ...]:
    """Hold a delivery that is under way before its mark: its mailbox is gone."""
    moved = conn.execute(_STOP, (number,)).fetchone()
    return record(conn, moved, _held(DeliveryState.SENDING, at, by))


def _held(before: DeliveryState, at: Instant, by: str) -> Step:
    return Step(before, DeliveryState.HELD, at, by, ReasonCode.MAILBOX_REMOVED)


@dataclass(frozen=True, slots=True)
class Pausing:
    """A unit that pauses a mailbox until a person resumes it; done again, only a new reason changes what is known."""

    mailbox_id: str
    reason: str
    actor: Actor
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[None]:
        """Nothing; what waits stays as it is, and the loop starts nothing more."""
        conn.execute(_KNOW, (self.mailbox_id,))
        conn.execute(_PAUSE, (self.actor.by, self.reason, self.at, self.mailbox_id, self.reason))
        told = MailboxPaused(self.mailbox_id, is_paused=True, by=self.actor.by, reason=self.reason)
        return UnitResult(None, (told,))


@dataclass(frozen=True, slots=True)
class Resuming:
    """A unit that ends the pause and closes the breaker of a mailbox."""

    mailbox_id: str
    actor: Actor

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[None]:
        """Nothing."""
        conn.execute(_RESUME, (self.mailbox_id,))
        told = MailboxPaused(self.mailbox_id, is_paused=False, by=self.actor.by, reason="")
        return UnitResult(None, (told,))


@dataclass(frozen=True, slots=True)
class Suppressing:
    """A unit that suppresses an address; done again with a reason, it changes reason and person."""

    mailbox_id: str
    address: str
    reason: str
    actor: Actor
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[SuppressionRecord]:
        """The record."""
        key = Address(self.address).key
        values = (self.mailbox_id, key, self.address, self.reason, self.actor.by, self.at)
        return UnitResult(rows.suppression_of(conn.execute(_SUPPRESS, values).fetchone()))


@dataclass(frozen=True, slots=True)
class Unsuppressing:
    """A unit that allows an address again."""

    mailbox_id: str
    address: str

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[bool]:
        """Whether it was suppressed."""
        key = Address(self.address).key
        return UnitResult(conn.execute(_UNSUPPRESS, (key, self.mailbox_id)).fetchone() is not None)


@dataclass(frozen=True, slots=True)
class NotingMailboxes:
    """A unit that remembers which mailboxes are configured, and since when others are not."""

    configured: frozenset[str]
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[tuple[str, ...]]:
        """Every mailbox that was ever there."""
        with readable(conn):
            of_jobs = {one for one in each_mailbox(conn, None) if not is_damaged(one)}
        for mailbox_id in sorted(self.configured | of_jobs):
            conn.execute(_KNOW, (mailbox_id,))
        known = [row[0] for row in conn.execute(_KNOWN)]
        gone = [mailbox_id for mailbox_id in known if mailbox_id not in self.configured]
        conn.executemany(_REMOVED, [(self.at, mailbox_id) for mailbox_id in gone])
        conn.executemany(_BACK, [(mailbox_id,) for mailbox_id in self.configured])
        return UnitResult(tuple(known))


@dataclass(frozen=True, slots=True)
class SettlingMailbox:
    """A unit that holds some of what waits for a mailbox that is gone, or frees what was held for one that is there."""

    mailbox_id: str
    at: Instant
    limit: int

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[int]:
        """How many; 0 = it is done."""
        row = conn.execute(_IS_GONE, (self.mailbox_id,)).fetchone()
        return self._hold(conn) if row is not None and row[0] else self._free(conn)

    def _hold(self, conn: sqlite3.Connection) -> UnitResult[int]:
        found = conn.execute(_WAITING, (self.mailbox_id, self.limit)).fetchall()
        changes: list[Change] = []
        for row in found:
            moved = conn.execute(_HOLD, (row["number"],)).fetchone()
            changes += record(conn, moved, _held(state_of(row["state"]), self.at, _BY))
        return UnitResult(len(found), tuple(changes))

    def _free(self, conn: sqlite3.Connection) -> UnitResult[int]:
        found = conn.execute(_HELD, (self.mailbox_id, self.limit)).fetchall()
        changes: list[Change] = []
        for row in found:
            moved = conn.execute(_FREE, (row["number"],)).fetchone()
            step = Step(DeliveryState.HELD, DeliveryState.PENDING, self.at, _BY)
            changes.extend(record(conn, moved, step))
        return UnitResult(len(found), tuple(changes))
