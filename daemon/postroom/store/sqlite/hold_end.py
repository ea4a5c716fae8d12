"""How a loop ends: its rows of `hold` go at once, and what they held waits again in steps.

From that commit on nothing new is held there. What is `held` for a loop is walked over in the mailbox, oldest first, and
what no other loop holds is freed: a bite in the same transaction, the rest bite by bite from where the row of `freeing`
says, also after a crash. The end is told when all is free.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant, micros
from postroom.core.matching import address_key
from postroom.core.velocity import QUIET, Evidence, HoldScope
from postroom.ports.changes import Change, HoldsBegun, ThreadFreed
from postroom.store.sqlite.hold_begin import told_of
from postroom.store.sqlite.holds import BITE, BY, Place, find_of_mail, is_held
from postroom.store.sqlite.spoiled import find_word
from postroom.store.sqlite.transition import MOVED, Step, record
from postroom.store.sqlite.velocity import forget


_END: Final = "DELETE FROM hold WHERE event = ? RETURNING *"
_BEGIN: Final = """
    INSERT INTO freeing (event, mailbox_id, thread, evidence, by, freed_to, deliveries) VALUES (?, ?, ?, ?, ?, 0, 0)"""
_OF_LOOP: Final = "SELECT * FROM freeing WHERE event = ?"
_NEXT: Final = "SELECT event FROM freeing ORDER BY event LIMIT 1"
_FREED_TO: Final = (
    "UPDATE freeing SET freed_to = ?, deliveries = deliveries + ? WHERE event = ? RETURNING *"
)
_DONE: Final = "DELETE FROM freeing WHERE event = ?"
_HELD: Final = """
    SELECT number, mailbox_id, thread, recipient_key, domain FROM delivery INDEXED BY delivery_held
    WHERE mailbox_id = ? AND hold_reason = 'loop' AND state = 'held' AND number > ? ORDER BY number LIMIT ?"""
_FREE: Final = f"""
    UPDATE delivery SET state = 'pending', hold_reason = NULL, reason_code = NULL, version = version + 1
    WHERE number = ? RETURNING {MOVED}"""

_S = DeliveryState


@dataclass(frozen=True, slots=True)
class Person:
    """A person's mail: in which thread, from which address ('' where From does not say), and when."""

    mailbox_id: str
    thread: int
    sender: str
    at: Instant


def free_by_person(conn: sqlite3.Connection, person: Person) -> tuple[Change, ...]:
    """Free what a person's mail frees: the loops of its thread, of its address and of its domain."""
    sender = address_key(person.sender)
    place = Place(person.mailbox_id, person.thread, sender, sender.rpartition("@")[2])
    found = find_of_mail(conn, place)
    events = [row["event"] for row in found if not _is_early(row, sender, person.at)]
    return free(conn, events, person.at, BY)


def free(
    conn: sqlite3.Connection, events: Iterable[int], at: Instant, by: str
) -> tuple[Change, ...]:
    """End these loops: counting begins anew, and the first of what nothing else holds waits again."""
    changes: list[Change] = []
    for event in dict.fromkeys(events):
        ended = conn.execute(_END, (event,)).fetchall()
        if not ended:
            continue
        for row in ended:
            scope = find_word(HoldScope, row["scope"])
            if scope is not None:  # a damaged one held nothing
                forget(conn, row["mailbox_id"], scope, row["name"])
        if any(row["held_to"] is not None for row in ended):
            changes.append(told_of(ended))
        first = ended[0]
        place = (event, first["mailbox_id"], first["thread"])
        conn.execute(_BEGIN, (*place, first["evidence"], by))
        changes += _go_on(conn, event, at)
    return tuple(changes)


def free_more(conn: sqlite3.Connection, at: Instant) -> tuple[Change, ...] | None:
    """Free some more of what an ended loop held; None when all is free."""
    row = conn.execute(_NEXT).fetchone()
    return None if row is None else _go_on(conn, row["event"], at)


def _go_on(conn: sqlite3.Connection, event: int, at: Instant) -> tuple[Change, ...]:
    begun = conn.execute(_OF_LOOP, (event,)).fetchone()
    walk = (begun["mailbox_id"], begun["freed_to"], BITE)
    found = conn.execute(_HELD, walk).fetchall()
    changes: list[Change] = []
    count = 0
    for one in found:
        place = Place(one["mailbox_id"], one["thread"], one["recipient_key"], one["domain"])
        if not is_held(conn, place):
            moved = conn.execute(_FREE, (one["number"],)).fetchone()
            changes += record(conn, moved, Step(_S.HELD, _S.PENDING, at, begun["by"]))
            count += 1
    freed_to = found[-1]["number"] if found else begun["freed_to"]
    row = conn.execute(_FREED_TO, (freed_to, count, event)).fetchone()
    if len(found) == BITE:
        return (*changes, HoldsBegun())
    conn.execute(_DONE, (event,))
    place_of = (row["mailbox_id"], row["thread"], event)
    return (*changes, ThreadFreed(*place_of, row["evidence"], row["by"], row["deliveries"]))


def _is_early(row: sqlite3.Row, sender: str, at: Instant) -> bool:
    """Whether this is the one that was taken for a machine because of how fast it answers, still answering."""
    is_same = row["evidence"] == Evidence.TURNS and row["peer"] == sender
    return is_same and at < Instant(row["held_at"] + micros(QUIET))
