"""The addresses that a report ends: an entry in the suppression list, in the transaction of the report's own event.

Only what a genuine and valid return-path token proves ends an address, and only where it is the delivery's own: whoever
knows a Message-ID must not be able to silence a mailbox (CONTRACT §6.4). What a person wrote into the list stays as it is.
"""

import sqlite3
from typing import Final

from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant
from postroom.core.matching import address_key
from postroom.ports.changes import RecipientSuppressed
from postroom.store.sqlite.inbox_report import Told


_SUPPRESS: Final = """
    INSERT INTO suppression (mailbox_id, address_key, address, reason, by, created_at) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (address_key, mailbox_id) DO NOTHING RETURNING number"""


def suppress_told(
    conn: sqlite3.Connection, mailbox_id: str, told: Told, seq: int, at: Instant
) -> tuple[RecipientSuppressed, ...]:
    """Suppress whom the report ends; nothing where it ends nobody, or the address is on the list."""
    ended = told.suppression
    if ended is None:
        return ()
    by = f"report:{encode_id(Kind.EVENT, seq)}"
    values = (mailbox_id, address_key(ended.address), ended.address, ended.reason, by, at)
    if conn.execute(_SUPPRESS, values).fetchone() is None:
        return ()
    own = ended.own
    return (RecipientSuppressed(mailbox_id, own.job, own.number, ended.address, ended.reason, by),)
