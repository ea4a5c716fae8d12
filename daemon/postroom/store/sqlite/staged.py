"""Staged uploads, and how many name each file of the spool: statements for every unit that adds or drops a name.

`refs` counts bodies, staged uploads, received messages and their attachments that name a file. A file that nobody names any more goes by `retention`.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from postroom.core.instant import Instant
from postroom.core.record import StagedRecord
from postroom.ports.arriving import StoredAttachment
from postroom.ports.errors import StoreUnavailable
from postroom.store.sqlite.unit import UnitResult


NOBODY: Final = -1  # the uid of what a stranger brought

_FILE: Final = "SELECT doomed_at FROM spool_file WHERE sha256 = ?"
_NAME: Final = """
    INSERT INTO spool_file (sha256, size_bytes, refs, created_at) VALUES (?, ?, 1, ?)
    ON CONFLICT (sha256) DO UPDATE SET refs = refs + 1"""
_STAGE: Final = """
    INSERT INTO staged (ref, sha256, filename, content_type, size_bytes, principal_uid, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
_STAGE_RECEIVED: Final = """
    INSERT INTO staged (ref, sha256, filename, content_type, size_bytes, principal_uid, created_at, received)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""

_DROP_NAME: Final = "UPDATE spool_file SET refs = refs - 1 WHERE sha256 = ? RETURNING refs"
_DROP_NAMES: Final = "UPDATE spool_file SET refs = refs - ? WHERE sha256 = ?"
_STAGED_NAMES: Final = "SELECT count(*) FROM staged WHERE sha256 = ?"
_UNSTAGE_USED: Final = "DELETE FROM staged WHERE sha256 = ? AND uses > 0 AND received IS NULL"
_RECEIVED_NAMES: Final = "SELECT sha256 FROM staged WHERE received = ?"
_UNSTAGE_RECEIVED: Final = "DELETE FROM staged WHERE received = ?"

_UNUSED: Final = """
    SELECT ref, sha256 FROM staged WHERE uses = 0 AND received IS NULL AND created_at < ?
    ORDER BY created_at LIMIT ?"""
_UNSTAGE: Final = "DELETE FROM staged WHERE ref = ?"

# A name that is damaged is no file's: its row stays aside.
IS_NAME: Final = "length(CAST(sha256 AS BLOB)) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'"
_DOOM: Final = f"""
    UPDATE spool_file SET doomed_at = ? WHERE refs = 0 AND sha256 IN
        (SELECT sha256 FROM spool_file WHERE refs = 0 AND created_at < ? AND {IS_NAME} ORDER BY created_at LIMIT ?)"""
_DOOMED: Final = f"""
    SELECT sha256 FROM spool_file WHERE refs = 0 AND doomed_at IS NOT NULL AND {IS_NAME} LIMIT ?"""
_FORGET: Final = "DELETE FROM spool_file WHERE sha256 = ? AND doomed_at IS NOT NULL"
_SPARE: Final = "UPDATE spool_file SET doomed_at = NULL, created_at = ? WHERE sha256 = ?"


@dataclass(frozen=True, slots=True)
class Staging:
    """A unit that names a file in the spool by a reference."""

    staged: StagedRecord
    principal_uid: int
    has_spool_file: Callable[[str], bool]

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[None]:
        """Nothing.

        Raises: StoreUnavailable when retention removes an equal file at this moment, or just did.
        """
        one = self.staged
        name_file(conn, one.sha256, one.size_bytes, one.created_at, self.has_spool_file)
        values = (one.ref, one.sha256, one.filename, one.content_type, one.size_bytes)
        conn.execute(_STAGE, (*values, self.principal_uid, one.created_at))
        return UnitResult(None)


def name_file(
    conn: sqlite3.Connection,
    sha256: str,
    size_bytes: int,
    at: Instant,
    has_spool_file: Callable[[str], bool],
) -> None:
    """One more names this file.

    Raises: StoreUnavailable when retention removes an equal file at this moment, or just did.
    """
    known = conn.execute(_FILE, (sha256,)).fetchone()
    is_there = has_spool_file(sha256) if known is None else known["doomed_at"] is None
    if not is_there:
        message = "an equal file was just removed: bring it again"
        raise StoreUnavailable(message)
    conn.execute(_NAME, (sha256, size_bytes, at))


def name_attachment(
    conn: sqlite3.Connection,
    attachment: StoredAttachment,
    received: int,
    at: Instant,
    has_spool_file: Callable[[str], bool],
) -> None:
    """A file that came with a received message gets its reference. Raises as `name_file`."""
    one = attachment
    name_file(conn, one.sha256, one.size_bytes, at, has_spool_file)
    values = (one.ref, one.sha256, one.filename, one.content_type, one.size_bytes)
    conn.execute(_STAGE_RECEIVED, (*values, NOBODY, at, received))


def drop_received(conn: sqlite3.Connection, received: int, raw_sha256: str | None) -> int:
    """What was received names its files no more; how many rows were written."""
    named = [sha256 for (sha256,) in conn.execute(_RECEIVED_NAMES, (received,))]
    conn.execute(_UNSTAGE_RECEIVED, (received,))
    named += [raw_sha256] if raw_sha256 is not None else []
    conn.executemany(_DROP_NAMES, [(1, sha256) for sha256 in named])
    return 2 * len(named)


def drop_name(conn: sqlite3.Connection, sha256: str) -> None:
    """One body less names this file.

    With the last body go the staged uploads that were used for it: nobody can ask for them by a job any more.
    """
    (refs,) = conn.execute(_DROP_NAME, (sha256,)).fetchone()
    (staged,) = conn.execute(_STAGED_NAMES, (sha256,)).fetchone()
    if refs == staged:
        used = conn.execute(_UNSTAGE_USED, (sha256,)).rowcount
        conn.execute(_DROP_NAMES, (used, sha256))


@dataclass(frozen=True, slots=True)
class Unstaging:
    """A unit that removes uploads which no job used, staged before an instant."""

    before: Instant
    limit: int

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[int]:
        """How many."""
        found = conn.execute(_UNUSED, (self.before, self.limit)).fetchall()
        for row in found:
            conn.execute(_UNSTAGE, (row["ref"],))
            conn.execute(_DROP_NAMES, (1, row["sha256"]))
        return UnitResult(len(found))


@dataclass(frozen=True, slots=True)
class Dooming:
    """A unit that marks files which nobody names: from its commit on nobody can name them."""

    before: Instant
    at: Instant
    limit: int

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[tuple[str, ...]]:
        """The files that are marked, those of a run that was cut off among them."""
        conn.execute(_DOOM, (self.at, self.before, self.limit))
        return UnitResult(tuple(row[0] for row in conn.execute(_DOOMED, (self.limit,))))


@dataclass(frozen=True, slots=True)
class Forgetting:
    """A unit that forgets files that were unlinked, and takes the mark from those that were not."""

    gone: tuple[str, ...]
    kept: tuple[str, ...]
    at: Instant

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[None]:
        """Nothing; what was kept is looked at again when it has aged anew."""
        conn.executemany(_FORGET, [(sha256,) for sha256 in self.gone])
        conn.executemany(_SPARE, [(self.at, sha256) for sha256 in self.kept])
        return UnitResult(None)
