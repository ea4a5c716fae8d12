"""Who is known to a mailbox: people whose mail was accepted there, and whom it wrote to.

Only hashes of addresses are kept, as long as answers are expected (`tokens.expiry_s` after the last mail).
"""

import sqlite3
from typing import Final

from postroom.core.inmail import InMail
from postroom.core.instant import Instant
from postroom.core.matching import address_key
from postroom.store.sqlite.inbox_own import hash_address


_CAME: Final = "SELECT 1 FROM known_sender WHERE mailbox_id = ? AND address_hash = ?"
_WENT: Final = """
    SELECT 1 FROM delivery WHERE recipient_key = ? AND mailbox_id = ? AND state IN ('sent', 'uncertain') LIMIT 1"""
_WENT_LONG_AGO: Final = """
    SELECT 1 FROM delivery_tombstone
    WHERE recipient_hash = ? AND mailbox_id = ? AND state IN ('sent', 'uncertain') LIMIT 1"""
_NOTE: Final = """
    INSERT INTO known_sender (mailbox_id, address_hash, last_at) VALUES (?, ?, ?)
    ON CONFLICT (mailbox_id, address_hash) DO UPDATE SET last_at = max(last_at, excluded.last_at)"""
DROP_KNOWN: Final = """
    DELETE FROM known_sender WHERE (mailbox_id, address_hash) IN
        (SELECT mailbox_id, address_hash FROM known_sender WHERE last_at < ? ORDER BY last_at LIMIT ?)"""


def is_first_time(conn: sqlite3.Connection, mailbox_id: str, mail: InMail) -> bool:
    """Whether the mailbox knows nobody of the address in From; who has no such address is known to nobody."""
    author = mail.author
    if author is None:
        return True
    hashed = hash_address(author)
    looks = (
        (_CAME, (mailbox_id, hashed)),
        (_WENT, (address_key(author), mailbox_id)),
        (_WENT_LONG_AGO, (hashed, mailbox_id)),
    )
    return not any(conn.execute(sql, values).fetchone() for sql, values in looks)


def note_sender(conn: sqlite3.Connection, mailbox_id: str, mail: InMail, at: Instant) -> None:
    """A mail of this person was accepted."""
    if mail.author is not None:
        conn.execute(_NOTE, (mailbox_id, hash_address(mail.author), at))
