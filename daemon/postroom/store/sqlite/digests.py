"""What the daily digest needs (ports.digesting), on SQLite: the dead in the order of their end, by their own index.

Mail of the daemon's own (under its user, with a key of an alert or a digest) is left out: an owner who can not be reached
is not told so. What others call their jobs hides none of them. A row that can not be read is told as such, and stops nobody.
"""

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from postroom.core.digest import Unsent
from postroom.core.instant import Instant
from postroom.core.reason import ReasonCode
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.spoiled import SPOILED, at_least, check_spoiled, state_of
from postroom.store.sqlite.unit import UnitResult, WriteLane


_TOLD: Final = "SELECT mailbox_id, until_at FROM digest"
_PLACE: Final = "d.number, d.mailbox_id, d.state, d.settled_at"
_WORDS: Final = (
    "SELECT recipient, reason_code, attempts, reply_code, reply_text FROM delivery WHERE number = ?"
)
_OURS: Final = """
    (j.principal_uid = :uid AND (j.idempotency_key GLOB 'postroom-alert-*' OR j.idempotency_key GLOB 'postroom-digest-*'))"""
_FAILED: Final = f"""
    SELECT {_PLACE} FROM delivery AS d INDEXED BY delivery_dead JOIN job AS j ON j.number = d.job
    WHERE d.state IN ('failed', 'uncertain') AND d.state = 'failed' AND (d.settled_at, d.number) > (:at, :number)
        AND d.settled_at < :until AND NOT {_OURS}
    ORDER BY d.settled_at, d.number LIMIT :limit"""
_DOUBTS: Final = f"""
    SELECT {_PLACE} FROM delivery AS d INDEXED BY delivery_doubt JOIN job AS j ON j.number = d.job
    WHERE d.mailbox_id = :mailbox_id AND d.state = 'uncertain' AND (d.settled_at, d.number) > (:at, :number)
        AND NOT {_OURS}
    ORDER BY d.settled_at, d.number LIMIT :limit"""
_NOTE: Final = """
    INSERT INTO digest (mailbox_id, until_at) VALUES (?, ?)
    ON CONFLICT (mailbox_id) DO UPDATE SET until_at = excluded.until_at"""


class SqliteDigests:
    """What ended unsent, and up to when each mailbox's owner knows."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_told(self) -> Mapping[str, Instant]:
        """Up to when the digest of each mailbox has spoken."""
        return await self._database.read(at_least(_find_told))

    async def find_failed(
        self, since: Instant, until: Instant, after: Unsent | None, limit: int
    ) -> tuple[Unsent, ...]:
        """What failed, in order, behind `after`."""
        given = _behind(after, since) | {"until": until, "limit": limit}
        return await self._database.read(partial(_find, sql=_FAILED, given=given))

    async def find_doubts(
        self, mailbox_id: str, after: Unsent | None, limit: int
    ) -> tuple[Unsent, ...]:
        """What of a mailbox is in doubt, the oldest first, behind `after`."""
        given = _behind(after, Instant(0)) | {"mailbox_id": mailbox_id, "limit": limit}
        return await self._database.read(partial(_find, sql=_DOUBTS, given=given))

    async def note(self, told: Mapping[str, Instant]) -> None:
        """Each of these mailboxes' digests has spoken up to then."""
        await self._database.write(Noting(told), lane=WriteLane.REST, weight=len(told))


@dataclass(frozen=True, slots=True)
class Noting:
    """The unit."""

    told: Mapping[str, Instant]

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[None]:
        """Nothing is told of it."""
        conn.executemany(_NOTE, list(self.told.items()))
        return UnitResult(None)


def _find_told(conn: sqlite3.Connection) -> dict[str, Instant]:
    return {row["mailbox_id"]: Instant(row["until_at"]) for row in conn.execute(_TOLD)}


def _behind(after: Unsent | None, at: Instant) -> dict[str, int | str]:
    return {"at": at, "number": 0} if after is None else {"at": after.at, "number": after.number}


def _find(conn: sqlite3.Connection, sql: str, given: Mapping[str, int | str]) -> tuple[Unsent, ...]:
    rows = conn.execute(sql, {**given, "uid": os.geteuid()}).fetchall()
    return tuple(_unsent_of(conn, row) for row in rows)


def _unsent_of(conn: sqlite3.Connection, place: sqlite3.Row) -> Unsent:
    number, at = place["number"], Instant(place["settled_at"])
    unread = Unsent(number, place["mailbox_id"], state_of(place["state"]), at)
    try:
        row = conn.execute(_WORDS, (number,)).fetchone()
        return replace(
            unread,
            recipient=row["recipient"],
            reason=row["reason_code"] and ReasonCode(row["reason_code"]),
            attempts=row["attempts"],
            reply=_reply_of(row),
        )
    except SPOILED as error:
        check_spoiled(error)
        return unread


def _reply_of(row: sqlite3.Row) -> str:
    if row["reply_code"] is None:
        return ""
    return f"{row['reply_code']} {row['reply_text'] or ''}".strip()
