"""Our own deliveries as answers name them: by the number in a token, by Message-ID, by what a relay called them.

What retention took is found by its tombstone: number, job, thread and a hash of the recipient are all that is needed.
"""

import hashlib
import sqlite3
from dataclasses import dataclass
from typing import Final

from postroom.core.matching import address_key


_COLUMNS: Final = "number, job, thread, recipient, recipient_key, message_id"
_LIVE: Final = f"SELECT {_COLUMNS} FROM delivery WHERE number = ? AND mailbox_id = ?"
_BURIED: Final = """
    SELECT number, job, thread, recipient_hash, message_id FROM delivery_tombstone WHERE number = ? AND mailbox_id = ?"""
# A conversation has one Message-ID for all its recipients, of whom there are at most 100.
_LIVE_BY_ID: Final = (
    f"SELECT {_COLUMNS} FROM delivery WHERE message_id = ? AND mailbox_id = ? LIMIT 100"
)
_BURIED_BY_ID: Final = """
    SELECT number, job, thread, recipient_hash, message_id FROM delivery_tombstone
    WHERE message_id = ? AND mailbox_id = ? LIMIT 100"""
_REF: Final = "SELECT thread, delivery FROM message_ref WHERE mailbox_id = ? AND id_hash = ?"
_ADD_REF: Final = """
    INSERT OR IGNORE INTO message_ref (mailbox_id, id_hash, thread, delivery, created_at) VALUES (?, ?, ?, ?, ?)"""

_HASH_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Own:
    """A delivery of ours; `recipients` are hashes of the addresses that are its own, `recipient` is the address itself.

    None = retention took it.
    """

    number: int
    job: int
    thread: int
    message_id: str
    recipients: frozenset[bytes]
    recipient: str | None = None

    def is_recipient(self, address: str) -> bool:
        """Whether it went to this address."""
        return hash_address(address) in self.recipients


@dataclass(frozen=True, slots=True)
class Named:
    """What a Message-ID names: a thread, and deliveries of ours in it, if it is one of theirs."""

    thread: int
    own: tuple[Own, ...]

    def pick(self, sender: str) -> Own | None:
        """The one that went to the sender, else any."""
        fitting = (one for one in self.own if one.is_recipient(sender))
        return next(fitting, self.own[0] if self.own else None)


def find_own(conn: sqlite3.Connection, mailbox_id: str, number: int) -> Own | None:
    """The delivery of this mailbox with this number."""
    row = conn.execute(_LIVE, (number, mailbox_id)).fetchone()
    if row is not None:
        return _live(row)
    row = conn.execute(_BURIED, (number, mailbox_id)).fetchone()
    return None if row is None else _buried(row)


def find_named(conn: sqlite3.Connection, mailbox_id: str, message_id: str) -> Named | None:
    """What this normalised Message-ID names in this mailbox."""
    own = find_sent_as(conn, mailbox_id, message_id)
    if own:
        return Named(own[0].thread, own)
    row = conn.execute(_REF, (mailbox_id, hash_id(message_id))).fetchone()
    if row is None:
        return None
    if row["delivery"] is None:
        return Named(row["thread"], ())
    found = find_own(conn, mailbox_id, row["delivery"])
    return Named(row["thread"], () if found is None else (found,))


def find_sent_as(conn: sqlite3.Connection, mailbox_id: str, message_id: str) -> tuple[Own, ...]:
    """The deliveries that we gave this Message-ID."""
    wanted = (message_id, mailbox_id)
    live = tuple([_live(row) for row in conn.execute(_LIVE_BY_ID, wanted)])
    return (*live, *[_buried(row) for row in conn.execute(_BURIED_BY_ID, wanted)])


def add_ref(
    conn: sqlite3.Connection,
    mailbox_id: str,
    message_id: str,
    thread: int,
    delivery: int | None,
    at: int,
) -> None:
    """Remember that a normalised Message-ID names this thread; the first to say so is believed."""
    conn.execute(_ADD_REF, (mailbox_id, hash_id(message_id), thread, delivery, at))


def hash_id(message_id: str) -> bytes:
    """As `message_ref` has it."""
    return hashlib.sha256(message_id.encode()).digest()[:_HASH_BYTES]


def hash_address(address: str) -> bytes:
    """As tombstones have it."""
    return hashlib.sha256(address_key(address).encode()).digest()


def _live(row: sqlite3.Row) -> Own:
    keys = frozenset({hash_address(row["recipient"]), hash_address(row["recipient_key"])})
    return Own(row["number"], row["job"], row["thread"], row["message_id"], keys, row["recipient"])


def _buried(row: sqlite3.Row) -> Own:
    keys = frozenset({bytes(row["recipient_hash"])})
    return Own(row["number"], row["job"], row["thread"], row["message_id"], keys)
