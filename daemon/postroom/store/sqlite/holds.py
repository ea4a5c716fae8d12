"""What a loop holds, and what frees it: rows of `hold`, and the deliveries behind them.

A delivery is held by its thread, its recipient's address or its recipient's domain, each in its mailbox. The rows of one
loop have one event and are freed together. What waits is held in the transaction that finds the loop; what is taken or
accepted later is held when it is looked at, at the start and at the mark too, so that nothing slips between.

Known limit: all that a loop holds is freed in one transaction.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant, micros
from postroom.core.matching import address_key
from postroom.core.reason import ReasonCode
from postroom.core.velocity import QUIET, Evidence, HoldScope
from postroom.ports.changes import Change, ThreadFreed, ThreadHeld
from postroom.store.sqlite.spoiled import find_word, state_of
from postroom.store.sqlite.transition import MOVED, WAITS_ON, Step, record
from postroom.store.sqlite.velocity import Loop, forget


BY: Final = "intake"
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
_ADD: Final = """
    INSERT OR IGNORE INTO hold (mailbox_id, scope, name, thread, event, peer, evidence, held_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_END: Final = "DELETE FROM hold WHERE event = ? RETURNING mailbox_id, scope, name, thread, evidence"
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

# Each along an index of its own; WAITING is written out as the indexes have it.
_WAITING: Final = {
    HoldScope.THREAD: """
        SELECT number, state FROM delivery INDEXED BY delivery_thread
        WHERE thread = CAST(:name AS INTEGER) AND mailbox_id = :mailbox_id AND state IN ('pending', 'retry_scheduled')""",
    HoldScope.ADDRESS: """
        SELECT number, state FROM delivery INDEXED BY delivery_recipient
        WHERE recipient_key = :name AND mailbox_id = :mailbox_id AND state IN ('pending', 'retry_scheduled')""",
    HoldScope.DOMAIN: """
        SELECT number, state FROM delivery INDEXED BY delivery_due_domain
        WHERE domain = :name AND mailbox_id = :mailbox_id AND state IN ('pending', 'retry_scheduled')""",
}
_HELD: Final = {
    HoldScope.THREAD: """
        SELECT number, thread, recipient_key, domain FROM delivery INDEXED BY delivery_thread
        WHERE thread = CAST(:name AS INTEGER) AND mailbox_id = :mailbox_id AND state = 'held' AND hold_reason = 'loop'""",
    HoldScope.ADDRESS: """
        SELECT number, thread, recipient_key, domain FROM delivery INDEXED BY delivery_recipient
        WHERE recipient_key = :name AND mailbox_id = :mailbox_id AND state = 'held' AND hold_reason = 'loop'""",
    HoldScope.DOMAIN: """
        SELECT number, thread, recipient_key, domain FROM delivery INDEXED BY delivery_held
        WHERE domain = :name AND mailbox_id = :mailbox_id AND state = 'held' AND hold_reason = 'loop'""",
}
_HOLD: Final = f"""
    UPDATE delivery SET state = 'held', hold_reason = 'loop', reason_code = 'loop', version = version + 1
    WHERE number = ? RETURNING {MOVED}"""
_STOP: Final = f"""
    UPDATE delivery SET state = 'held', hold_reason = 'loop', reason_code = 'loop', stage = NULL,
        deferrals = deferrals + 1, crashes = 0, {WAITS_ON}, version = version + 1
    WHERE number = ? RETURNING {MOVED}"""
_FREE: Final = f"""
    UPDATE delivery SET state = 'pending', hold_reason = NULL, reason_code = NULL, version = version + 1
    WHERE number = ? RETURNING {MOVED}"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a delivery stands, as far as holds ask."""

    mailbox_id: str
    thread: int
    recipient_key: str
    domain: str


@dataclass(frozen=True, slots=True)
class Person:
    """A person's mail: in which thread, from which address ('' where From does not say), and when."""

    mailbox_id: str
    thread: int
    sender: str
    at: Instant


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


def hold(conn: sqlite3.Connection, loop: Loop) -> tuple[Change, ...]:
    """Hold what a loop asks for, and all that waits behind it."""
    changes: list[Change] = []
    count = 0
    for scope, name in loop.holds:
        row = (loop.mailbox_id, scope, name, loop.thread, loop.event, loop.peer, loop.evidence)
        conn.execute(_ADD, (*row, loop.at))
        asked = {"name": name, "mailbox_id": loop.mailbox_id}
        for found in conn.execute(_WAITING[scope], asked).fetchall():
            before = state_of(found["state"])
            changes += put_aside(conn, found["number"], before, loop.at, BY)
            count += 1
    domain = loop.peer.rpartition("@")[2]
    told = ThreadHeld(
        loop.mailbox_id, loop.thread, loop.event, loop.evidence, domain, loop.scopes, count
    )
    return (*changes, told)


def free_by_person(conn: sqlite3.Connection, person: Person) -> tuple[Change, ...]:
    """Free what a person's mail frees: the loops of its thread, of its address and of its domain."""
    sender = address_key(person.sender)
    place = Place(person.mailbox_id, person.thread, sender, sender.rpartition("@")[2])
    found = conn.execute(_OF_MAIL, _names(place)).fetchall()
    events = [row["event"] for row in found if not _is_early(row, sender, person.at)]
    return free(conn, events, person.at, BY)


def free(
    conn: sqlite3.Connection, events: Iterable[int], at: Instant, by: str
) -> tuple[Change, ...]:
    """End these loops; what nothing else holds waits again, and counting begins anew."""
    changes: list[Change] = []
    for event in dict.fromkeys(events):
        ended = conn.execute(_END, (event,)).fetchall()
        count = 0
        for row in ended:
            scope = find_word(HoldScope, row["scope"])
            if scope is None:  # damaged: it held nothing
                continue
            forget(conn, row["mailbox_id"], scope, row["name"])
            asked = {"name": row["name"], "mailbox_id": row["mailbox_id"]}
            for one in conn.execute(_HELD[scope], asked).fetchall():
                place = Place(row["mailbox_id"], one["thread"], one["recipient_key"], one["domain"])
                if not is_held(conn, place):
                    moved = conn.execute(_FREE, (one["number"],)).fetchone()
                    changes += record(conn, moved, Step(_S.HELD, _S.PENDING, at, by))
                    count += 1
        if ended:
            first = ended[0]
            told = ThreadFreed(
                first["mailbox_id"], first["thread"], event, first["evidence"], by, count
            )
            changes.append(told)
    return tuple(changes)


def _names(place: Place) -> dict[str, str]:
    return {
        "mailbox_id": place.mailbox_id,
        "thread": str(place.thread),
        "address": place.recipient_key,
        "domain": place.domain,
    }


def _is_early(row: sqlite3.Row, sender: str, at: Instant) -> bool:
    """Whether this is the one that was taken for a machine because of how fast it answers, still answering."""
    is_same = row["evidence"] == Evidence.TURNS and row["peer"] == sender
    return is_same and at < Instant(row["held_at"] + micros(QUIET))
