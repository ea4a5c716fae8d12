"""What was received, until it is published: the commit after which 250 may be said, and the question of what is open."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from postroom.core.instant import Instant
from postroom.core.token import TokenStatus
from postroom.ports.arriving import Arrival, ArrivalRecipient, RawFile, Received, Spoiled
from postroom.ports.changes import MailDone, MailReceived
from postroom.store.sqlite.inbox_own import find_own
from postroom.store.sqlite.spoiled import SPOILED, check_spoiled
from postroom.store.sqlite.staged import name_file
from postroom.store.sqlite.unit import UnitResult


_INSERT: Final = """
    INSERT INTO received (received_at, envelope_from, recipients, client_ip, helo, is_tls, is_trusted, raw, raw_sha256,
                          size_bytes, defects, relay_ip)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_NAMES_THREAD: Final = "INSERT OR IGNORE INTO received_thread (thread, received) VALUES (?, ?)"
_OPEN: Final = """
    SELECT number, received_at, envelope_from, recipients, client_ip, helo, is_tls, is_trusted, raw, raw_sha256,
           size_bytes, defects, relay_ip
    FROM received WHERE published_at IS NULL AND number > ? ORDER BY number LIMIT ?"""
_NUMBERS: Final = (
    "SELECT number FROM received WHERE published_at IS NULL AND number > ? ORDER BY number LIMIT ?"
)
_COUNT: Final = "SELECT count(*) FROM received WHERE published_at IS NULL"
_OLDEST: Final = (
    "SELECT received_at FROM received WHERE published_at IS NULL ORDER BY number LIMIT 1"
)
_CLOSE: Final = "UPDATE received SET published_at = ? WHERE number = ? AND published_at IS NULL"
_CLOSE_THREADS: Final = "DELETE FROM received_thread WHERE received = ?"
_IS_PENDING: Final = "SELECT EXISTS (SELECT 1 FROM received_thread WHERE thread = ?)"

_DEFECTS: Final = msgspec.json.Decoder(tuple[str, ...])
_RECIPIENTS: Final = msgspec.json.Decoder(tuple[ArrivalRecipient, ...])


@dataclass(frozen=True, slots=True)
class Receiving:
    """A unit that stores a message and its envelope."""

    arrival: Arrival
    has_spool_file: Callable[[str], bool]

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[int]:
        """Its number.

        Raises: StoreUnavailable when retention removes an equal file of the spool at this moment.
        """
        one = self.arrival
        raw, sha256, size_bytes = _columns(one.raw)
        if sha256 is not None:
            name_file(conn, sha256, size_bytes, one.at, self.has_spool_file)
        recipients = msgspec.json.encode(one.recipients).decode()
        row = (one.at, one.sender, recipients, one.client_ip, one.helo, one.is_tls, one.is_trusted)
        defects = msgspec.json.encode(one.defects).decode()
        values = (*row, raw, sha256, size_bytes, defects, one.relay_ip)
        number = conn.execute(_INSERT, values).lastrowid or 0
        for recipient in one.recipients:
            token = recipient.token
            if token is None or token.status is not TokenStatus.VALID:
                continue
            own = find_own(conn, recipient.mailbox_id, token.number)
            if own is not None:
                conn.execute(_NAMES_THREAD, (own.thread, number))
        return UnitResult(number, (MailReceived(number),))


def find_received(
    conn: sqlite3.Connection, after: int, limit: int
) -> tuple[Received | Spoiled, ...]:
    """What is not published yet, in order of receipt."""
    try:
        return tuple(map(_received, conn.execute(_OPEN, (after, limit))))
    except SPOILED as error:
        check_spoiled(error)
    numbers = [row["number"] for row in conn.execute(_NUMBERS, (after, limit))]
    return tuple(_find_one(conn, number) for number in numbers)


def close_received(conn: sqlite3.Connection, number: int, at: Instant) -> tuple[MailDone, ...]:
    """Intake is done with it: it names threads by its events only. What is told of it; nothing where it was done before."""
    closed = conn.execute(_CLOSE, (at, number))
    conn.execute(_CLOSE_THREADS, (number,))
    return (MailDone(number),) if closed.rowcount else ()


def count_waiting(conn: sqlite3.Connection) -> int:
    """How many are not published yet; a scan of those, for start-up only."""
    (count,) = conn.execute(_COUNT).fetchone()
    return int(count)


def find_oldest(conn: sqlite3.Connection) -> Instant | None:
    """When the oldest of them was received."""
    row = conn.execute(_OLDEST).fetchone()
    return None if row is None else Instant(row["received_at"])


def is_inbound_pending(conn: sqlite3.Connection, thread: int) -> bool:
    """Whether a stored message that is not published yet names the thread by a valid token."""
    return bool(conn.execute(_IS_PENDING, (thread,)).fetchone()[0])


def _columns(raw: bytes | RawFile) -> tuple[bytes | None, str | None, int]:
    if isinstance(raw, RawFile):
        return None, raw.sha256, raw.size_bytes
    return raw, None, len(raw)


def _find_one(conn: sqlite3.Connection, number: int) -> Received | Spoiled:
    try:
        return _received(conn.execute(_OPEN, (number - 1, 1)).fetchone())
    except SPOILED as error:
        check_spoiled(error)
        return Spoiled(number)


def _received(row: sqlite3.Row) -> Received:
    raw = row["raw"]
    arrival = Arrival(
        at=Instant(row["received_at"]),
        sender=row["envelope_from"],
        recipients=_RECIPIENTS.decode(row["recipients"]),
        client_ip=row["client_ip"],
        helo=row["helo"],
        is_tls=bool(row["is_tls"]),
        is_trusted=bool(row["is_trusted"]),
        raw=RawFile(row["raw_sha256"], row["size_bytes"]) if raw is None else raw,
        defects=_DEFECTS.decode(row["defects"]),
        relay_ip=row["relay_ip"],
    )
    return Received(row["number"], arrival)
