"""How a loop holds what waits: in steps, so that the writer stands still for nobody.

The row of `hold` is what counts: what it names is not started, marked or accepted to be sent from that commit on. What
waits there becomes `held` in the same transaction as far as a bite goes, and then bite by bite, from where the row says
(`held_job`, `held_to`), also after a crash. The loop is told of when all is held.
"""

import sqlite3
from collections.abc import Sequence
from typing import Final

from postroom.core.delivery import WAITING
from postroom.core.instant import Instant
from postroom.core.velocity import HoldScope
from postroom.ports.changes import Change, HoldsBegun, ThreadHeld
from postroom.store.sqlite.holds import BITE, BY, put_aside
from postroom.store.sqlite.spoiled import find_word, state_of
from postroom.store.sqlite.velocity import Loop


_ADD: Final = """
    INSERT OR IGNORE INTO hold (mailbox_id, scope, name, thread, event, peer, evidence, held_at, held_to)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)"""
_OF_LOOP: Final = "SELECT * FROM hold WHERE event = ?"
_NEXT: Final = "SELECT event FROM hold INDEXED BY hold_begun WHERE held_to IS NOT NULL LIMIT 1"
_HELD_TO: Final = """
    UPDATE hold SET held_job = ?, held_to = ?, deliveries = deliveries + ? WHERE mailbox_id = ? AND scope = ? AND name = ?"""

# Each along an index of its own. What is held leaves that of a domain; in the others the walk goes on behind a delivery.
_LOOK: Final = {
    HoldScope.THREAD: """
        SELECT number, job, state FROM delivery INDEXED BY delivery_thread
        WHERE thread = CAST(:name AS INTEGER) AND (job, number) > (:held_job, :held_to) AND mailbox_id = :mailbox_id
        ORDER BY job, number LIMIT :limit""",
    HoldScope.ADDRESS: """
        SELECT number, job, state FROM delivery INDEXED BY delivery_recipient
        WHERE recipient_key = :name AND mailbox_id = :mailbox_id AND (job, number) > (:held_job, :held_to)
        ORDER BY job, number LIMIT :limit""",
    HoldScope.DOMAIN: """
        SELECT number, job, state FROM delivery INDEXED BY delivery_due_domain
        WHERE domain = :name AND mailbox_id = :mailbox_id AND state IN ('pending', 'retry_scheduled')
        LIMIT :limit""",
}


def hold(conn: sqlite3.Connection, loop: Loop) -> tuple[Change, ...]:
    """Hold what a loop asks for, and the first of what waits behind it."""
    for scope, name in loop.holds:
        row = (loop.mailbox_id, scope, name, loop.thread, loop.event, loop.peer, loop.evidence)
        conn.execute(_ADD, (*row, loop.at))
    return _go_on(conn, loop.event, loop.at)


def hold_more(conn: sqlite3.Connection, at: Instant) -> tuple[Change, ...] | None:
    """Hold some more of what waits behind a loop; None when all is held."""
    row = conn.execute(_NEXT).fetchone()
    return None if row is None else _go_on(conn, row["event"], at)


def told_of(rows: Sequence[sqlite3.Row]) -> ThreadHeld:
    """What is told of a loop, from all its rows."""
    first = rows[0]
    domain = first["peer"].rpartition("@")[2]
    scopes = sorted((row["scope"] for row in rows), key=lambda scope: scope != HoldScope.THREAD)
    count = sum(row["deliveries"] for row in rows)
    place = (first["mailbox_id"], first["thread"], first["event"])
    return ThreadHeld(*place, first["evidence"], domain, tuple(scopes), count)


def _go_on(conn: sqlite3.Connection, event: int, at: Instant) -> tuple[Change, ...]:
    changes: list[Change] = []
    for row in conn.execute(_OF_LOOP, (event,)).fetchall():
        if row["held_to"] is not None:
            changes += _hold_some(conn, row, at)
    rows = conn.execute(_OF_LOOP, (event,)).fetchall()
    is_done = all(row["held_to"] is None for row in rows)
    return (*changes, told_of(rows) if is_done else HoldsBegun())


def _hold_some(conn: sqlite3.Connection, row: sqlite3.Row, at: Instant) -> list[Change]:
    scope = find_word(HoldScope, row["scope"])
    names = ("name", "mailbox_id", "held_job", "held_to")
    asked = {name: row[name] for name in names} | {"limit": BITE}
    # A damaged one holds nothing.
    found = [] if scope is None else conn.execute(_LOOK[scope], asked).fetchall()
    changes: list[Change] = []
    count = 0
    for one in found:
        before = state_of(one["state"])
        if before in WAITING:
            changes += put_aside(conn, one["number"], before, at, BY)
            count += 1
    job, held_to = (found[-1]["job"], found[-1]["number"]) if len(found) == BITE else (0, None)
    conn.execute(_HELD_TO, (job, held_to, count, row["mailbox_id"], row["scope"], row["name"]))
    return changes
