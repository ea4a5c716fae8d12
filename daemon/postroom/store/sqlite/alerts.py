"""Alerts that are raised (ports.alerting), on SQLite, and their events: of no thread, so that nobody leases them.

A row that can not be read is left where it is and stands for nothing: what is still the matter is raised anew over it.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

import msgspec

from postroom.core.alert import (
    CAUSES,
    MEANINGS,
    Alert,
    AlertKey,
    AlertKind,
    AlertScope,
    Cause,
    Raised,
)
from postroom.core.alertstate import Moves
from postroom.core.eventtypes import EventType
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant, format_instant
from postroom.ports.changes import Change, LogGrew
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.log import append_alone
from postroom.store.sqlite.spoiled import SPOILED, check_spoiled
from postroom.store.sqlite.unit import UnitResult, WriteLane


_RAISED: Final = "SELECT seq FROM alert ORDER BY seq"
_ONE: Final = """
    SELECT kind, scope, name, mailbox_id, since_at, figure, threshold, cause, raised_at, seq FROM alert WHERE seq = ?"""
_RAISE: Final = """
    INSERT OR REPLACE INTO alert (kind, scope, name, mailbox_id, since_at, figure, threshold, cause, raised_at, seq)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_CLEAR: Final = "DELETE FROM alert WHERE kind = ? AND scope = ? AND name = ? AND mailbox_id = ?"


class SqliteAlerts:
    """What stands."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_raised(self) -> tuple[Raised, ...]:
        """Every alert that is raised, the oldest first."""
        return await self._database.read(find_raised)

    async def move(self, moves: Moves, at: Instant) -> tuple[Raised, ...]:
        """Raise and clear, each with its event, in one transaction; what was raised."""
        weight = 2 * (len(moves.raised) + len(moves.cleared))
        return await self._database.write(Moving(moves, at), lane=WriteLane.REST, weight=weight)


def find_raised(conn: sqlite3.Connection) -> tuple[Raised, ...]:
    """Every alert that is raised."""
    every = [_find_one(conn, seq) for (seq,) in conn.execute(_RAISED).fetchall()]
    return tuple(one for one in every if one is not None)


@dataclass(frozen=True, slots=True)
class Moving:
    """The unit."""

    moves: Moves
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[tuple[Raised, ...]]:
        """What was raised."""
        changes: list[Change] = []
        for one in self.moves.cleared:
            conn.execute(_CLEAR, _place(one.alert.key))
            changes.append(self._tell(conn, EventType.ALERT_CLEARED, _cleared(one), one.alert.key))
        raised: list[Raised] = []
        for alert in self.moves.raised:
            told = self._tell(conn, EventType.ALERT_RAISED, _picture(alert), alert.key)
            judged = (alert.since, alert.figure, alert.threshold, alert.cause)
            conn.execute(_RAISE, (*_place(alert.key), *judged, self.at, told.seq))
            raised.append(Raised(alert, self.at, told.seq))
            changes.append(told)
        return UnitResult(tuple(raised), tuple(changes))

    def _tell(
        self, conn: sqlite3.Connection, type_: EventType, alert: dict[str, object], key: AlertKey
    ) -> LogGrew:
        data = msgspec.json.encode({"schema_version": 1, "alert": alert}).decode()
        return append_alone(conn, type_, key.mailbox_id or "", self.at, data)


def _picture(alert: Alert) -> dict[str, object]:
    meaning = MEANINGS[alert.key.kind]
    return {
        "kind": alert.key.kind,
        "scope": alert.key.scope,
        "name": alert.key.name,
        "since_at": format_instant(alert.since),
        "figure": alert.figure,
        "threshold": alert.threshold,
        "cause": alert.cause,
        "means": meaning.means,
        "likely": CAUSES[alert.cause],
        "to_do": meaning.to_do,
    }


def _cleared(raised: Raised) -> dict[str, object]:
    return _picture(raised.alert) | {
        "raised_at": format_instant(raised.raised_at),
        "raised_by": encode_id(Kind.EVENT, raised.seq),
        "to_do": "Nothing: it is over.",
    }


def _place(key: AlertKey) -> tuple[str, str, str, str]:
    return key.kind, key.scope, key.name, key.mailbox_id or ""


def _find_one(conn: sqlite3.Connection, seq: int) -> Raised | None:
    try:
        return _raised_of(conn.execute(_ONE, (seq,)).fetchone())
    except SPOILED as error:
        check_spoiled(error)
        return None


def _raised_of(row: sqlite3.Row) -> Raised:
    kind, scope = AlertKind(row["kind"]), AlertScope(row["scope"])
    key = AlertKey(kind, scope, row["name"], row["mailbox_id"] or None)
    since, cause = Instant(row["since_at"]), Cause(row["cause"])
    alert = Alert(key, since, row["figure"], row["threshold"], cause)
    return Raised(alert, Instant(row["raised_at"]), row["seq"])
