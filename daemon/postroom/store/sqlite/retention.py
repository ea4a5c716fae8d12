"""What age takes: content and history of settled jobs, events, what was received, uploads, pace buckets, unnamed files.

It never takes what answers need (CONTRACT §8 `[retention]`): keys for ever, with the job's final status; as long as
tokens are valid, of every delivery its number, thread, mailbox, recipient hash and Message-ID, and the threads. A job
with a delivery that is uncertain, held or not settled does not age. Small bites: each unit writes at most 200 rows, goes
alone, and rests while others wait (WriteLane.SPARE).

A job goes in three steps, each safe to be the last before a crash: it is closed (`expired_at`; from then on answers
come from its tombstone and nobody changes it), its deliveries go, its row and body go. A file goes as HAZARDS §1.1
has it: doomed in a transaction that sees no name for it, unlinked, forgotten.

Known limits: the clock is believed; who doubts it does not call this.
"""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, TypeVar

from postroom.core.instant import MINUTE, Instant, micros
from postroom.core.matching import WEAK_FOR
from postroom.core.retention import Retention
from postroom.core.status import JobStatus
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.inbox_known import DROP_KNOWN
from postroom.store.sqlite.retention_inbox import (
    DROP_REFS,
    MEMORY,
    DroppingEvents,
    DroppingReceived,
)
from postroom.store.sqlite.retention_jobs import Closing, OldJobs, Removing, find_closed, find_old
from postroom.store.sqlite.retention_threads import (
    DROP_TOMBSTONES,
    DroppingThreads,
    OldThreads,
    find_forgotten,
)
from postroom.store.sqlite.spoiled import anyway
from postroom.store.sqlite.staged import IS_NAME, Dooming, Forgetting, Unstaging
from postroom.store.sqlite.unit import Unit, UnitResult, WriteLane


T = TypeVar("T")

# Rows that one unit writes: what a disk does in 5 ms. A delivery leaves ten indexes, a mail its pages, a thread the fences
# and delays of its consumers, an upload a row and a name less of its file.
BITE: Final = 200
_JOBS_BITE: Final = 50
_MAILS_BITE: Final = 100
_UPLOADS_BITE: Final = 80
_THREADS_BITE: Final = 40
LOOK: Final = 500  # rows that are only looked at

# A token is valid to the end of the week in which its time is over.
_WEEK: Final = timedelta(days=7)
# A run looks at so many bites of threads, and the next one goes on from there: a million are looked at in a day.
_THREAD_BITES: Final = 24

_PACE_KEPT: Final = timedelta(hours=24, minutes=1)
# What lies in the spool without a name may be about to get one: no accept takes a day.
_SPOOL_KEPT: Final = timedelta(days=1)

_DROP_BUCKETS: Final = """
    DELETE FROM pace_bucket WHERE (scope, minute, lane) IN
        (SELECT scope, minute, lane FROM pace_bucket WHERE minute < ? ORDER BY minute LIMIT ?)"""
_DROP_PAUSES: Final = """
    DELETE FROM domain_pause WHERE (mailbox_id, domain) IN
        (SELECT mailbox_id, domain FROM domain_pause WHERE until_at < ? LIMIT ?)"""
_DROP_SPEEDS: Final = """
    DELETE FROM slowing WHERE (relay_id, domain) IN
        (SELECT relay_id, domain FROM slowing WHERE told_at < ? LIMIT ?)"""


_NAMED: Final = "SELECT sha256 FROM spool_file WHERE sha256 IN ({marks})"
_ALIVE: Final = f"{_NAMED} AND refs > 0 AND doomed_at IS NULL"
_NEXT_NAMED: Final = f"""
    SELECT sha256 FROM spool_file WHERE sha256 > ? AND refs > 0 AND doomed_at IS NULL AND {IS_NAME}
    ORDER BY sha256 LIMIT ?"""
_IS_DAMAGED: Final = f"SELECT EXISTS (SELECT 1 FROM spool_file WHERE NOT ({IS_NAME}))"


@dataclass(frozen=True, slots=True)
class Taken:
    """How much one run took; `buckets` are minutes of pace, pauses and slow-downs."""

    jobs: int
    events: int
    staged: int
    files: int
    buckets: int
    received: int = 0
    threads: int = 0


class SqliteRetention:
    """Takes what is old.

    `unlink` removes a file of the spool by its hex SHA-256 and says True when it is gone; False when somebody is
    just putting an equal one there, which then stays. No file is doomed while `may_doom` says no: somebody copies them.
    """

    def __init__(
        self,
        database: Database,
        kept: Retention,
        unlink: Callable[[str], Awaitable[bool]],
        may_doom: Callable[[], bool],
    ) -> None:
        self._database = database
        self._kept = kept
        self._unlink = unlink
        self._may_doom = may_doom
        self._file = ""  # and that over files behind this one
        self._thread = 0  # the walk over threads goes on behind this one

    def keep(self, kept: Retention) -> None:
        """From now on keep things for so long."""
        self._kept = kept

    async def run(self, now: Instant) -> Taken:
        """Take everything that is old at `now`."""
        jobs = await self._take_jobs(now)
        events = await self._repeat(DroppingEvents(_before(now, self._kept.events), BITE))
        received = await self._repeat(
            DroppingReceived(_before(now, self._kept.events), _MAILS_BITE)
        )
        answers = self._kept.answers + _WEEK
        of_answers = [(sql, answers) for sql in (DROP_REFS, DROP_KNOWN, DROP_TOMBSTONES)]
        for sql, age in (*MEMORY, *of_answers):
            await self._repeat(_Dropping(sql, _before(now, age)))
        threads = await self._take_threads(_before(now, max(answers, WEAK_FOR)))
        staged = await self._repeat(Unstaging(_before(now, self._kept.staged), _UPLOADS_BITE))
        minute = _before(now, _PACE_KEPT) // MINUTE
        buckets = await self._repeat(_Dropping(_DROP_BUCKETS, minute))
        for sql in (_DROP_PAUSES, _DROP_SPEEDS):
            buckets += await self._repeat(_Dropping(sql, _before(now, _PACE_KEPT)))
        files = await self._take_files(now)
        return Taken(jobs, events, staged, files, buckets, received, threads)

    async def find_unnamed(self, digests: Sequence[str]) -> tuple[str, ...]:
        """Those of these hex SHA-256 that no row names: what a crash or a refused job left in the spool."""
        found: list[str] = []
        for at in range(0, len(digests), LOOK):
            some = digests[at : at + LOOK]
            named = await self._database.read(partial(_find_named, digests=some))
            found += [sha256 for sha256 in some if sha256 not in named]
        # A damaged name may be that of any of these.
        is_sure = not found or not await self._database.read(_is_any_damaged)
        return tuple(found) if is_sure else ()

    async def find_named(self) -> tuple[str, ...]:
        """The hex SHA-256 of the next files that rows name; the walk goes on with each call, and begins anew at the end."""
        found = await self._database.read(partial(_next_named, after=self._file, limit=LOOK))
        self._file = found[-1] if len(found) == LOOK else ""
        return found

    async def find_still_named(self, digests: Sequence[str]) -> tuple[str, ...]:
        """Those of these that rows still name, and that are not just being removed."""
        named = await self._database.read(partial(_find_named, digests=digests, sql=_ALIVE))
        return tuple(sha256 for sha256 in digests if sha256 in named)

    async def _take_jobs(self, now: Instant) -> int:
        taken = 0
        while closed := await self._database.read(partial(find_closed, limit=_JOBS_BITE)):
            taken += await self._remove(closed)
        sent, failed = _before(now, self._kept.sent), _before(now, self._kept.failed)
        for status, before in (
            (JobStatus.COMPLETED, sent),
            (JobStatus.CANCELLED, sent),
            (JobStatus.PARTIAL, failed),
            (JobStatus.FAILED, failed),
        ):
            taken += await self._take_status(status, before, now)
        return taken

    async def _take_status(self, status: JobStatus, before: Instant, now: Instant) -> int:
        taken = 0
        after: tuple[int, int] | None = (0, 0)
        while after is not None:
            look = partial(find_old, status=status, before=before, after=after, limit=_JOBS_BITE)
            old: OldJobs = await self._database.read(look)
            closed = await self._write(Closing(old.numbers, status, now), 2 * len(old.numbers))
            taken += await self._remove(closed)
            after = old.after
        return taken

    async def _remove(self, closed: tuple[int, ...]) -> int:
        left = closed
        while left:
            left = await self._write(Removing(left, _JOBS_BITE), _JOBS_BITE)
        return len(closed)

    async def _take_threads(self, before: Instant) -> int:
        taken = 0
        for _ in range(_THREAD_BITES):
            look = partial(find_forgotten, before=before, after=self._thread, limit=LOOK)
            old: OldThreads = await self._database.read(look)
            for at in range(0, len(old.numbers), _THREADS_BITE):
                some = DroppingThreads(old.numbers[at : at + _THREADS_BITE])
                taken += await self._write(some, BITE)
            self._thread = old.after
            if not self._thread:
                break
        return taken

    async def _take_files(self, now: Instant) -> int:
        taken = 0
        dooming = Dooming(_before(now, _SPOOL_KEPT), now, BITE)
        while self._may_doom() and (doomed := await self._write_names(dooming, BITE)):
            gone = tuple([sha256 for sha256 in doomed if await self._unlink(sha256)])
            kept = tuple(sha256 for sha256 in doomed if sha256 not in gone)
            await self._write_names(Forgetting(gone, kept, now), BITE)
            taken += len(gone)
        return taken

    async def _repeat(self, unit: Unit[int]) -> int:
        total = 0
        while done := await self._write(unit, BITE):
            total += done
        return total

    async def _write(self, unit: Unit[T], weight: int) -> T:
        """What is damaged grows old like the rest, and keeps no other."""
        return await self._write_names(anyway(unit), weight)

    async def _write_names(self, unit: Unit[T], weight: int) -> T:
        """The same of names of files, which are removed as they stand or not at all."""
        return await self._database.write(unit, lane=WriteLane.SPARE, weight=weight)


@dataclass(frozen=True, slots=True)
class _Dropping:
    """A unit that deletes rows below a bound."""

    sql: str
    before: int

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[int]:
        """How many."""
        return UnitResult(conn.execute(self.sql, (self.before, BITE)).rowcount)


def _before(now: Instant, age: timedelta) -> Instant:
    return Instant(now - micros(age))


def _next_named(conn: sqlite3.Connection, after: str, limit: int) -> tuple[str, ...]:
    return tuple(sha256 for (sha256,) in conn.execute(_NEXT_NAMED, (after, limit)))


def _is_any_damaged(conn: sqlite3.Connection) -> bool:
    return bool(conn.execute(_IS_DAMAGED).fetchone()[0])


def _find_named(
    conn: sqlite3.Connection, digests: Sequence[str], sql: str = _NAMED
) -> frozenset[str]:
    marks = ", ".join("?" * len(digests))
    rows = conn.execute(sql.format(marks=marks), tuple(digests))
    return frozenset(sha256 for (sha256,) in rows)
