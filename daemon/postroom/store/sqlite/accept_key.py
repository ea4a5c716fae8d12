"""What an idempotency key stands for, judged inside the accepting transaction (CONTRACT §3, replay and merge).

Most jobs are new, so that their key is written and not looked for: what it meets says that it is known.
"""

import hashlib
import sqlite3
from typing import Final

import msgspec

from postroom.core.job import OnDuplicate
from postroom.ports.accepting import AcceptResult, JobExpired, KeyReused, NewJob, Replayed


JOB_ROW: Final = b""  # the recipient_hash of the row that names the job

_FIND: Final = """
    SELECT i.job, i.request_hash, i.hash_version, i.final_status, j.attachment_digests, j.expired_at, j.body
    FROM idempotency AS i LEFT JOIN job AS j ON j.number = i.job
    WHERE i.mailbox_id = ? AND i.key_hash = ? AND i.recipient_hash = ?"""
_FIND_RECIPIENTS: Final = """
    SELECT recipient_hash FROM idempotency WHERE mailbox_id = ? AND key_hash = ? AND recipient_hash <> ?"""
_INSERT: Final = """
    INSERT INTO idempotency (mailbox_id, key_hash, recipient_hash, job, request_hash, hash_version, minted)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
_TAKE: Final = f"{_INSERT} ON CONFLICT DO NOTHING"
_GIVE_BACK: Final = "DELETE FROM idempotency WHERE mailbox_id = ? AND key_hash = ?"
_IS_MINTED: Final = """
    SELECT minted FROM idempotency WHERE mailbox_id = ? AND key_hash = ? AND recipient_hash = ?"""


def take_key(conn: sqlite3.Connection, new: NewJob) -> bool:
    """Let a new key stand for this job, for ever, or as long as the job if we minted it; False: it is known."""
    names = (new.job.mailbox_id, new.key_hash)
    row = (*names, JOB_ROW, new.number, new.request_hash, new.hash_version, new.is_key_minted)
    if not conn.execute(_TAKE, row).rowcount:
        return False
    if new.job.on_duplicate is OnDuplicate.MERGE:
        keys = tuple(one.recipient_key for one in new.deliveries)
        add_recipients(conn, new, new.number, keys)
    return True


def give_back_key(conn: sqlite3.Connection, new: NewJob) -> None:
    """Forget a key that was taken just now."""
    conn.execute(_GIVE_BACK, (new.job.mailbox_id, new.key_hash))


def find_key_row(conn: sqlite3.Connection, new: NewJob) -> sqlite3.Row:
    """The row of the job that this known key stands for."""
    row: sqlite3.Row = conn.execute(_FIND, (new.job.mailbox_id, new.key_hash, JOB_ROW)).fetchone()
    return row


def judge_replay(row: sqlite3.Row, new: NewJob) -> AcceptResult:
    """The answer to a job whose key is known."""
    is_same = is_same_request(row, new) and not _differ(row["attachment_digests"], new)
    return Replayed(row["job"], is_gone(row)) if is_same else KeyReused(row["job"])


def judge_merge(row: sqlite3.Row, new: NewJob, *, has_new_recipients: bool) -> AcceptResult | None:
    """The answer to a merge that can add nothing; None when it may go on."""
    if not is_same_request(row, new):
        return KeyReused(row["job"])
    if is_gone(row):
        return (
            JobExpired(row["job"]) if has_new_recipients else Replayed(row["job"], is_expired=True)
        )
    return None


def find_known_recipients(conn: sqlite3.Connection, new: NewJob) -> frozenset[bytes]:
    """Hashes of all recipients that this key has reached."""
    rows = conn.execute(_FIND_RECIPIENTS, (new.job.mailbox_id, new.key_hash, JOB_ROW))
    return frozenset(row["recipient_hash"] for row in rows)


def add_recipients(
    conn: sqlite3.Connection, new: NewJob, job: int, recipient_keys: tuple[str, ...]
) -> None:
    """Remember recipients of a merge as long as its key."""
    names = (new.job.mailbox_id, new.key_hash)
    (is_minted,) = conn.execute(_IS_MINTED, (*names, JOB_ROW)).fetchone()
    told = (job, JOB_ROW, new.hash_version, is_minted)
    rows = [(*names, hash_recipient(key), *told) for key in recipient_keys]
    conn.executemany(_INSERT, rows)


def hash_recipient(recipient_key: str) -> bytes:
    """What is kept of a recipient after retention."""
    return hashlib.sha256(recipient_key.encode("utf-8", "surrogatepass")).digest()


def is_same_request(row: sqlite3.Row, new: NewJob) -> bool:
    """Whether the request was hashed to the same, in the same version."""
    return (row["request_hash"], row["hash_version"]) == (new.request_hash, new.hash_version)


def is_gone(row: sqlite3.Row) -> bool:
    """Whether only a tombstone is left, or retention is just making one."""
    return row["final_status"] is not None or row["body"] is None or row["expired_at"] is not None


def _differ(stored: str | None, new: NewJob) -> bool:
    """Whether some attachment has other bytes; one that can not be read now is compared by its name, in the hash."""
    if stored is None:
        return False
    before = msgspec.json.decode(stored, type=list[str | None])
    pairs = zip(before, new.attachment_digests, strict=False)
    return any(a is not None and b is not None and a != b for a, b in pairs)
