"""The outbox as acceptance sees it."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from postroom.core.replying import Answered
from postroom.ports.accepting import AcceptResult, KnownKey, NewJob
from postroom.store.sqlite import reads_answer
from postroom.store.sqlite.accept_key import JOB_ROW
from postroom.store.sqlite.accept_unit import accept, has_thread
from postroom.store.sqlite.counters import Counters
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.space import Space
from postroom.store.sqlite.unit import WriteLane


_KEY: Final = """
    SELECT i.job, i.request_hash, i.hash_version, i.final_status, j.spec, j.attachment_digests, j.expired_at
    FROM idempotency AS i LEFT JOIN job AS j ON j.number = i.job
    WHERE i.mailbox_id = ? AND i.key_hash = ? AND i.recipient_hash = ?"""

_ROWS_OF_JOB: Final = 3  # job, body, key
_ROWS_OF_DELIVERY: Final = 3  # delivery, history, thread


class SqliteIntake:
    """The door in (ports.outbox.Intake). `has_spool_file` says whether a file of this digest lies in the spool."""

    def __init__(
        self,
        database: Database,
        counters: Counters,
        space: Space,
        has_spool_file: Callable[[str], bool],
    ) -> None:
        self._database = database
        self._counters = counters
        self._space = space
        self._has_spool_file = has_spool_file

    def reserve(self, jobs: int, deliveries: int, threads: int) -> tuple[int, int, int]:
        """The first of so many job, delivery and thread numbers that nobody else gets."""
        return self._counters.reserve(jobs, deliveries, threads)

    async def find_key(self, mailbox_id: str, key_hash: bytes) -> KnownKey | None:
        """What this key stands for."""
        return await self._database.read(partial(_find_key, (mailbox_id, key_hash, JOB_ROW)))

    async def find_answered(self, seq: int) -> Answered | None:
        """An event with its thread as an answer needs them."""
        return await self._database.read(partial(reads_answer.find_answered, seq=seq))

    async def find_chain(self, thread_number: int) -> tuple[str, ...]:
        """Message-IDs of a thread, oldest first."""
        return await self._database.read(partial(reads_answer.find_chain, thread=thread_number))

    async def find_chains(
        self, mailbox_id: str, conversation_id: str, thread_keys: Sequence[str]
    ) -> Mapping[str, tuple[str, ...]]:
        """The same of each thread of this name that there is, by the key that tells it from the others."""
        look = partial(
            reads_answer.find_chains,
            mailbox_id=mailbox_id,
            conversation_id=conversation_id,
            keys=thread_keys,
        )
        return await self._database.read(look)

    async def has_thread(self, mailbox_id: str, number: int) -> bool:
        """Whether the mailbox has this thread."""
        return await self._database.read(partial(has_thread, mailbox_id=mailbox_id, number=number))

    async def accept(self, new: NewJob) -> AcceptResult:
        """Store a job, its deliveries, threads, key, body and events; or say what the key stands for.

        Raises: StorageFull also while the disk is below its reserve.
        """
        self._space.check()
        unit = partial(accept, new=new, has_spool_file=self._has_spool_file)
        weight = _ROWS_OF_JOB + _ROWS_OF_DELIVERY * len(new.deliveries)
        return await self._database.write(unit, lane=WriteLane.REST, weight=weight)


def _find_key(key: tuple[str, bytes, bytes], conn: sqlite3.Connection) -> KnownKey | None:
    row = conn.execute(_KEY, key).fetchone()
    if row is None:
        return None
    is_gone = (
        row["final_status"] is not None or row["spec"] is None or row["expired_at"] is not None
    )
    return KnownKey(
        job_number=row["job"],
        request_hash=row["request_hash"],
        hash_version=row["hash_version"],
        attachments=() if is_gone else _attachments(row),
        is_expired=is_gone,
    )


def _attachments(row: sqlite3.Row) -> tuple[tuple[dict[str, object], str | None], ...]:
    if row["attachment_digests"] is None:
        return ()
    spec = msgspec.json.decode(row["spec"], type=_Attachments).attachments
    digests = msgspec.json.decode(row["attachment_digests"], type=list[str | None])
    return tuple(zip(spec, digests, strict=False))


class _Attachments(msgspec.Struct):
    """The part of a stored spec that says what was attached."""

    attachments: list[dict[str, object]] = []
