"""What a publication has to do with loops: it may make one, it may free what one holds, and its event says so.

What is forged for all that is known (verdict `fail`, and no token of ours) makes no loop: else whoever knows an address
and a subject could silence a conversation.
"""

import sqlite3

from postroom.core.authentication import Verdict
from postroom.core.inmail import AutomationKind
from postroom.core.instant import Instant, format_instant
from postroom.ports.arriving import Publication
from postroom.ports.changes import Change
from postroom.store.sqlite.hold_end import Person, free_by_person
from postroom.store.sqlite.holds import held_since
from postroom.store.sqlite.velocity import Heard, Loop, find_loop


def listen(
    conn: sqlite3.Connection, one: Publication, thread: int, kind: AutomationKind, event: int
) -> Loop | None:
    """The loop that this mail makes, if it is the one too many; counted once, however many events it is."""
    if _is_forged(one):
        return None
    at = one.received.arrival.at
    return find_loop(conn, Heard(one.mailbox_id, thread, one.mail.author or "", kind, at, event))


def free_for(
    conn: sqlite3.Connection, one: Publication, thread: int, kind: AutomationKind
) -> tuple[Change, ...]:
    """What is free again because a person wrote in this thread."""
    if kind is not AutomationKind.HUMAN:
        return ()
    person = Person(one.mailbox_id, thread, one.mail.author or "", one.received.arrival.at)
    return free_by_person(conn, person)


def held_picture(
    conn: sqlite3.Connection, one: Publication, thread: int, loop: Loop | None
) -> dict[str, object]:
    """That the thread is held, where a loop was found in it, now or before."""
    if loop is not None and loop.thread == thread:
        at: Instant | None = loop.at
    else:
        at = held_since(conn, one.mailbox_id, thread)
    return {} if at is None else {"held": True, "held_at": format_instant(at)}


def _is_forged(one: Publication) -> bool:
    return one.authentication.verdict is Verdict.FAIL and not one.tokens
