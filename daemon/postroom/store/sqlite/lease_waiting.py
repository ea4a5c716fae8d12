"""How many events wait for whom, and since when: what somebody who looks after consumers wants to know.

An event waits for a consumer until it is acknowledged or dead for it. One that came when no consumer had its type waits
for nobody, and is counted so, if some consumer had the type before: whoever read it is gone. A type that nobody ever
wanted waits for no one, so where no consumer was ever made nothing waits. It ends when a consumer takes the type, from
the oldest event or from now on: who makes one has decided about what was there.

The cost does not grow with the log, nor with what waits: counts are kept by triggers beside `pending`. Known limit: what
waits in threads that are held is passed over one by one on the way to the oldest that nobody holds.
"""

import sqlite3
from typing import Final

from postroom.core.instant import Instant
from postroom.ports.leasing import WaitingEvents


_CONSUMERS: Final = """
    SELECT name, created_at,
           (SELECT count(*) FROM lease AS l WHERE l.consumer = name AND l.state = 'live' AND l.expires_at > ?) AS leased
    FROM consumer ORDER BY name"""
_COUNTS: Final = "SELECT mailbox_id, events FROM waiting WHERE consumer = ? AND events > 0"
# What a consumer holds, or gave back with a delay, is in somebody's hands.
_OLDEST: Final = """
    SELECT e.created_at
    FROM pending AS p INDEXED BY pending_alive CROSS JOIN event AS e ON e.seq = p.seq
    WHERE p.consumer = :consumer AND p.mailbox_id = :mailbox_id AND p.dead_at IS NULL
        AND p.thread NOT IN (SELECT thread FROM lease
                             WHERE consumer = :consumer AND state = 'live' AND expires_at > :now)
        AND p.thread NOT IN (SELECT thread FROM thread_delay WHERE consumer = :consumer AND not_before > :now)
    ORDER BY p.seq LIMIT 1"""
_UNCLAIMED: Final = "SELECT count(*) FROM unclaimed"
_UNCLAIMED_TYPES: Final = "SELECT type FROM claimed_type"
_OLDEST_UNCLAIMED: Final = """
    SELECT e.created_at FROM unclaimed AS u CROSS JOIN event AS e ON e.seq = u.seq
    WHERE u.type = ? ORDER BY u.seq LIMIT 1"""


def find_waiting(conn: sqlite3.Connection, now: Instant) -> tuple[WaitingEvents, ...]:
    """Of every consumer by name, then of nobody if something waits so."""
    found = [_waiting_for(conn, row, now) for row in conn.execute(_CONSUMERS, (now,)).fetchall()]
    (unclaimed,) = conn.execute(_UNCLAIMED).fetchone()
    if unclaimed:
        found.append(WaitingEvents(None, unclaimed, 0, _oldest_unclaimed(conn)))
    return tuple(found)


def _waiting_for(conn: sqlite3.Connection, row: sqlite3.Row, now: Instant) -> WaitingEvents:
    """Nothing waits for a consumer longer than there is one."""
    events = 0
    oldest: list[int] = []
    for box in conn.execute(_COUNTS, (row["name"],)).fetchall():
        events += box["events"]
        given = {"consumer": row["name"], "mailbox_id": box["mailbox_id"], "now": now}
        oldest += (at for (at,) in conn.execute(_OLDEST, given))
    since = Instant(max(row["created_at"], min(oldest))) if oldest else None
    return WaitingEvents(row["name"], events, row["leased"], since)


def _oldest_unclaimed(conn: sqlite3.Connection) -> Instant | None:
    oldest = [
        at
        for (kind,) in conn.execute(_UNCLAIMED_TYPES).fetchall()
        for (at,) in conn.execute(_OLDEST_UNCLAIMED, (kind,))
    ]
    return Instant(min(oldest)) if oldest else None
