"""What a loop holds: rows of `hold`, and the deliveries behind them.

A delivery is held by its thread, its recipient's address or its recipient's domain, each in its mailbox. The rows of one
loop have one event and are freed together. What waits is held in steps (`hold_begin`) and freed in steps (`hold_end`);
what is taken or accepted meanwhile or later is held when it is looked at, at the start and at the mark too, so that
nothing slips between.
"""

import sqlite3
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.reason import ReasonCode
from postroom.ports.changes import Change
from postroom.store.sqlite.transition import MOVED, WAITS_ON, Step, record


BY: Final = "intake"
# Deliveries that one step looks at: each that moves writes its row and a row of history; the writer takes 5 ms for them.
BITE: Final = 100
_S = DeliveryState

_HOLDS: Final = """
    SELECT EXISTS (SELECT 1 FROM hold WHERE mailbox_id = :mailbox_id AND scope = 'thread' AND name = :thread)
        OR EXISTS (SELECT 1 FROM hold WHERE mailbox_id = :mailbox_id AND scope = 'address' AND name = :address)
        OR EXISTS (SELECT 1 FROM hold WHERE mailbox_id = :mailbox_id AND scope = 'domain' AND name = :domain)"""
# The same of a delivery `d`, as a column beside others; nearly always nothing of its mailbox is held.
IS_HELD: Final = """
    EXISTS (SELECT 1 FROM hold WHERE mailbox_id = d.mailbox_id) AND (
        EXISTS (SELECT 1 FROM hold
                WHERE mailbox_id = d.mailbox_id AND scope = 'thread' AND name = CAST(d.thread AS TEXT))
        OR EXISTS (SELECT 1 FROM hold WHERE mailbox_id = d.mailbox_id AND scope = 'address' AND name = d.recipient_key)
        OR EXISTS (SELECT 1 FROM hold WHERE mailbox_id = d.mailbox_id AND scope = 'domain' AND name = d.domain)
    ) AS is_held"""
_SINCE: Final = (
    "SELECT held_at FROM hold WHERE mailbox_id = ? AND scope = 'thread' AND name = ? LIMIT 1"
)
_OF_MAIL: Final = """
    SELECT event, peer, evidence, held_at FROM hold
    WHERE mailbox_id = :mailbox_id AND scope = 'thread' AND name = :thread
    UNION ALL SELECT event, peer, evidence, held_at FROM hold
    WHERE mailbox_id = :mailbox_id AND scope = 'address' AND name = :address
    UNION ALL SELECT event, peer, evidence, held_at FROM hold
    WHERE mailbox_id = :mailbox_id AND scope = 'domain' AND name = :domain"""
_OF_THREAD: Final = """
    SELECT h.scope, h.name, h.thread, h.event, h.evidence, h.held_at FROM thread AS t JOIN hold AS h USING (mailbox_id)
    WHERE t.number = :thread AND (
        h.scope = 'thread' AND h.name = CAST(:thread AS TEXT)
        OR h.scope = 'address' AND h.name IN (SELECT recipient_key FROM delivery
            WHERE thread = :thread AND state = 'held' AND hold_reason = 'loop')
        OR h.scope = 'domain' AND h.name IN (SELECT domain FROM delivery
            WHERE thread = :thread AND state = 'held' AND hold_reason = 'loop'))"""

_HOLD: Final = f"""
    UPDATE delivery SET state = 'held', hold_reason = 'loop', reason_code = 'loop', version = version + 1
    WHERE number = ? RETURNING {MOVED}"""
_STOP: Final = f"""
    UPDATE delivery SET state = 'held', hold_reason = 'loop', reason_code = 'loop', stage = NULL,
        deferrals = deferrals + 1, crashes = 0, {WAITS_ON}, version = version + 1
    WHERE number = ? RETURNING {MOVED}"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a delivery stands, as far as holds ask."""

    mailbox_id: str
    thread: int
    recipient_key: str
    domain: str


def is_held(conn: sqlite3.Connection, place: Place) -> bool:
    """Whether a loop holds what stands there."""
    return bool(conn.execute(_HOLDS, _names(place)).fetchone()[0])


def held_since(conn: sqlite3.Connection, mailbox_id: str, thread: int) -> Instant | None:
    """Since when the thread itself is held; None when it is not."""
    row = conn.execute(_SINCE, (mailbox_id, str(thread))).fetchone()
    return None if row is None else Instant(row["held_at"])


def find_holds(conn: sqlite3.Connection, thread: int) -> list[sqlite3.Row]:
    """What holds a thread, or deliveries in it, the oldest first."""
    found = conn.execute(_OF_THREAD, {"thread": thread}).fetchall()
    return sorted(found, key=itemgetter("held_at", "scope"))


def put_aside(
    conn: sqlite3.Connection, number: int, before: DeliveryState, at: Instant, by: str
) -> tuple[Change, ...]:
    """Hold one delivery for a loop."""
    moved = conn.execute(_STOP if before is _S.SENDING else _HOLD, (number,)).fetchone()
    return record(conn, moved, Step(before, _S.HELD, at, by, ReasonCode.LOOP))


def find_of_mail(conn: sqlite3.Connection, place: Place) -> list[sqlite3.Row]:
    """What holds a thread, an address or a domain."""
    return conn.execute(_OF_MAIL, _names(place)).fetchall()


def _names(place: Place) -> dict[str, str]:
    return {
        "mailbox_id": place.mailbox_id,
        "thread": str(place.thread),
        "address": place.recipient_key,
        "domain": place.domain,
    }
