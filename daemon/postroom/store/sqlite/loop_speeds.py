"""How far relays and their domains are slowed down, kept between runs: a restart must not be a second burst."""

import sqlite3
from typing import Final

from postroom.core.instant import Instant
from postroom.core.reason import ReasonCode
from postroom.core.slowing import FORGOTTEN, Slowing
from postroom.core.speed import SpeedMoved
from postroom.store.sqlite.spoiled import find_word


ALL_OF_IT: Final = ""  # instead of a domain: the relay itself

_SLOWED: Final = "SELECT * FROM slowing WHERE told_at > ? ORDER BY told_at"
_SLOW: Final = """
    INSERT INTO slowing (relay_id, domain, reason_code, per_minute, at_once, share, since_at, told_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (relay_id, domain) DO UPDATE SET
        reason_code = excluded.reason_code, per_minute = excluded.per_minute, at_once = excluded.at_once,
        share = excluded.share, since_at = excluded.since_at, told_at = excluded.told_at"""
_FREE: Final = "DELETE FROM slowing WHERE relay_id = ? AND domain = ?"


def find_speeds(
    conn: sqlite3.Connection, now: Instant
) -> tuple[tuple[str, str | None, Slowing], ...]:
    """What is slowed down, whoever complained last at the end; what nobody has complained of for a day is not."""
    return tuple(
        (row["relay_id"], row["domain"] or None, _slowing(row))
        for row in conn.execute(_SLOWED, (now - FORGOTTEN,))
    )


def write_speed(conn: sqlite3.Connection, moved: SpeedMoved) -> None:
    """Remember how far it is slowed down now."""
    key = (moved.relay_id, moved.domain or ALL_OF_IT)
    slowing = moved.after
    if slowing is None:
        conn.execute(_FREE, key)
        return
    how = (slowing.reason, slowing.per_minute, slowing.at_once, slowing.share)
    conn.execute(_SLOW, (*key, *how, slowing.since_at, slowing.told_at))


def _slowing(row: sqlite3.Row) -> Slowing:
    return Slowing(
        reason=find_word(ReasonCode, row["reason_code"]) or ReasonCode.RATE_LIMITED,
        per_minute=row["per_minute"],
        at_once=row["at_once"],
        share=min(max(row["share"], 0.0), 1.0),
        since_at=Instant(row["since_at"]),
        told_at=Instant(row["told_at"]),
    )
