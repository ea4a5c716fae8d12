"""A store on a real SQLite with rows put in by hand, for tests of questions and of what people change."""

import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from postroom.core.delivery import UNSETTLED, DeliveryState
from postroom.core.instant import Instant
from postroom.core.status import job_status
from postroom.ports.changes import Change
from postroom.ports.desk import Actor
from postroom.store.sqlite.admin import SqliteAdmin
from postroom.store.sqlite.database import Database, open_database
from postroom.store.sqlite.migrate import shipped
from postroom.store.sqlite.unit import Unit, UnitResult, WriteLane
from support.clock import HandClock


T = TypeVar("T")

NOW = Instant(1_790_000_000_000_000)
DAY = 86_400_000_000
ANN = Actor(1000)

_PREPARE = """
    INSERT INTO instance VALUES (1, 'i', 'log', 0, 'm', 'b', 0, 0);
"""


class Told:
    """An observer that keeps what it was told."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.sizes: list[int] = []

    def committed(self, changes: Sequence[Change]) -> None:
        self.changes.extend(changes)
        self.sizes.append(len(changes))


def prepare(conn: sqlite3.Connection) -> None:
    conn.row_factory = sqlite3.Row
    conn.execute("PRAGMA foreign_keys = ON")
    conn.executescript("PRAGMA journal_mode = WAL;" + "".join(shipped()) + _PREPARE)


@contextmanager
def memory() -> Iterator[sqlite3.Connection]:
    conn = sqlite3.connect(":memory:", isolation_level=None)
    try:
        prepare(conn)
        yield conn
    finally:
        conn.close()


@asynccontextmanager
async def database(path: Path) -> AsyncIterator[Database]:
    async with open_database(path / "postroom.db", HandClock(NOW), prepare) as opened:
        yield opened


def admin_of(database: Database) -> SqliteAdmin:
    """The hands on a store whose spool has every file."""
    return SqliteAdmin(database, lambda sha256: True)


async def put(database: Database, *states: DeliveryState, **columns: Any) -> list[int]:
    """A job put in through the writer."""
    return await database.write(
        lambda conn: UnitResult(put_job(conn, *states, **columns)), lane=WriteLane.REST
    )


def run(conn: sqlite3.Connection, unit: Unit[T]) -> tuple[T, tuple[Change, ...]]:
    """What the writer would answer, and tell."""
    result = unit(conn)
    return result.value, result.changes


def put_job(conn: sqlite3.Connection, *states: DeliveryState, **columns: Any) -> list[int]:
    """A job with deliveries in these states; the numbers of the deliveries."""
    given = {
        "mailbox_id": "support",
        "created_at": NOW,
        "trace_id": "trace",
        "idempotency_key": "key",
        "conversation_key": None,
        "keyed": False,
        "segments": None,
        "at": NOW,
        **columns,
    }
    is_open = any(state in UNSETTLED for state in states)
    status = None if is_open else job_status(states)
    job = conn.execute(
        """INSERT INTO job (mailbox_id, principal_uid, created_at, trace_id, idempotency_key, conversation_key, lane,
               copies, spec, settled_status, settled_at)
           VALUES (:mailbox_id, 1, :created_at, :trace_id, :idempotency_key, :conversation_key, 1,
               'individual', '{"subject":"Hi"}', :status, :settled_at)
           RETURNING number""",
        {**given, "status": status, "settled_at": None if is_open else given["at"]},
    ).fetchone()[0]
    conn.execute("INSERT INTO body VALUES (?, x'4869', ?, 2, 1)", (job, given["segments"]))
    conn.execute("UPDATE job SET body = number WHERE number = ?", (job,))
    if given["keyed"]:
        conn.execute(
            "INSERT INTO idempotency VALUES (?, ?, x'', ?, x'00', 1, NULL, NULL, 0)",
            (given["mailbox_id"], given["idempotency_key"].encode(), job),
        )
    return [put_delivery(conn, job, state, given) for state in states]


def put_delivery(
    conn: sqlite3.Connection, job: int, state: DeliveryState, given: dict[str, Any]
) -> int:
    thread = conn.execute(
        "INSERT INTO thread (mailbox_id, created_at) VALUES (?, ?) RETURNING number",
        (given["mailbox_id"], given["created_at"]),
    ).fetchone()[0]
    settled = state not in UNSETTLED
    values = {
        "job": job,
        "mailbox_id": given["mailbox_id"],
        "lane": 1,
        "recipient": "User@example.com",
        "recipient_key": "user@example.com",
        "domain": "example.com",
        "state": state,
        "hold_reason": "operator" if state == "held" else None,
        "due_at": None if settled else NOW,
        "thread": thread,
        "message_id": f"<{thread}@example.com>",
        "head": b"Subject: Hi\r\n",
        "has_attachments": 0,
        "created_at": given["created_at"],
        "settled_at": given["at"] if settled else None,
        "settled_by": "loop" if settled else None,
        "marked_at": NOW if state == "uncertain" else None,
        **given.get("delivery", {}),
    }
    names, marks = ", ".join(values), ", ".join(f":{name}" for name in values)
    number: int = conn.execute(
        f"INSERT INTO delivery ({names}) VALUES ({marks}) RETURNING number",  # noqa: S608
        values,
    ).fetchone()[0]
    conn.execute(
        "INSERT INTO history (delivery, before, after, at, by) VALUES (?, NULL, 'pending', ?, 'accept')",
        (number, given["created_at"]),
    )
    if settled:
        conn.execute(
            "INSERT INTO history (delivery, before, after, at, by) VALUES (?, 'sending', ?, ?, 'loop')",
            (number, state, given["at"]),
        )
    return number


def one(conn: sqlite3.Connection, number: int) -> sqlite3.Row:
    """A delivery's row."""
    row: sqlite3.Row = conn.execute("SELECT * FROM delivery WHERE number = ?", (number,)).fetchone()
    return row


def status(conn: sqlite3.Connection, number: int) -> str | None:
    """The stored status of a delivery's job."""
    sql = (
        "SELECT settled_status FROM job WHERE number = (SELECT job FROM delivery WHERE number = ?)"
    )
    found: str | None = conn.execute(sql, (number,)).fetchone()[0]
    return found


def event_types(conn: sqlite3.Connection) -> list[str]:
    return [row[0] for row in conn.execute("SELECT type FROM event ORDER BY seq")]
