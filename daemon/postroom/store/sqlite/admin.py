"""What people change by hand (ports.desk.Admin), on SQLite.

One delivery or mailbox = one transaction. What acts on many acts in bites, so that the writer is never kept from
outcomes and marks: a crash between two bites leaves some done and the rest as they were, and the same call goes on.
"""

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.record import DeliveryRecord, JobRecord, Page, StagedRecord, SuppressionRecord
from postroom.ports.desk import (
    Actor,
    BulkResult,
    Cancelled,
    DeliveryFilter,
    Verdict,
    WrongState,
)
from postroom.store.sqlite.admin_cancel import BulkCancelling, Cancelling, Rescheduling
from postroom.store.sqlite.admin_mailbox import (
    NotingMailboxes,
    Pausing,
    Resuming,
    SettlingMailbox,
    Suppressing,
    Unsuppressing,
)
from postroom.store.sqlite.admin_retry import InBulk, Releasing, Resolving, Retrying
from postroom.store.sqlite.admin_thread import ResumingThread
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.reads_deliveries import find_candidates
from postroom.store.sqlite.spoiled import anyway, at_least
from postroom.store.sqlite.staged import Staging
from postroom.store.sqlite.unit import Unit, WriteLane


T = TypeVar("T")

# Each delivery writes its row, a row of history and mostly an event: 100 of them take the writer 5 to 10 ms.
BITE: Final = 100
_ROWS_EACH: Final = 3
_COUNT_AT_ONCE: Final = 1_000

_S = DeliveryState
_CANCELLABLE: Final = (_S.PENDING, _S.HELD, _S.SENDING, _S.RETRY_SCHEDULED)

_JOB: Final = "SELECT number FROM job WHERE number = ? AND expired_at IS NULL"
_DELIVERIES: Final = "SELECT number FROM delivery WHERE job = ?"


class SqliteAdmin:
    """The hands on the outbox."""

    def __init__(self, database: Database, has_spool_file: Callable[[str], bool]) -> None:
        """`has_spool_file` says whether a file of this hex SHA-256 is in the spool, on the writer's thread."""
        self._database = database
        self._has_spool_file = has_spool_file

    async def cancel_job(
        self, number: int, actor: Actor, at: Instant
    ) -> tuple[Cancelled, ...] | None:
        """Take back what has no mark. None when there is no such job."""
        numbers = await self._database.read(partial(_deliveries_of, number=number))
        if numbers is None:
            return None
        answers: list[Cancelled] = []
        for bite in _bites(numbers):
            unit = Cancelling(bite, actor, at)
            told = await self._control(unit, weight=_ROWS_EACH * len(bite))
            answers.extend(told)
        return tuple(answers)

    async def cancel_deliveries(
        self, by: DeliveryFilter, actor: Actor, at: Instant, *, dry_run: bool, limit: int
    ) -> BulkResult:
        """Cancel all that a filter meets and that is not settled."""
        unit_of = None if dry_run else partial(BulkCancelling, actor=actor, at=at)
        return await self._in_bulk(by, _CANCELLABLE, limit, unit_of)

    async def reschedule_job(
        self, number: int, send_at: Instant, actor: Actor, at: Instant
    ) -> JobRecord | WrongState | None:
        """Move what never was tried and what waits for a retry to another time."""
        return await self._control(Rescheduling(number, send_at, actor, at))

    async def retry(
        self, number: int, actor: Actor, at: Instant
    ) -> DeliveryRecord | WrongState | None:
        """Redrive a failed delivery: a new series, same identity and content."""
        return await self._control(Retrying(number, actor, at))

    async def retry_deliveries(
        self, by: DeliveryFilter, actor: Actor, at: Instant, *, dry_run: bool, limit: int
    ) -> BulkResult:
        """Redrive all that a filter meets and that failed."""

        def unit_of(numbers: tuple[int, ...]) -> InBulk:
            return InBulk(tuple(Retrying(number, actor, at) for number in numbers))

        return await self._in_bulk(by, (_S.FAILED,), limit, None if dry_run else unit_of)

    async def release(
        self, number: int, actor: Actor, at: Instant
    ) -> DeliveryRecord | WrongState | None:
        """Let a held delivery go, when its time comes."""
        return await self._control(Releasing(number, actor, at))

    async def release_deliveries(
        self, by: DeliveryFilter, actor: Actor, at: Instant, *, dry_run: bool, limit: int
    ) -> BulkResult:
        """Let all go that a filter meets and that is held."""

        def unit_of(numbers: tuple[int, ...]) -> InBulk:
            return InBulk(tuple(Releasing(number, actor, at) for number in numbers))

        return await self._in_bulk(by, (_S.HELD,), limit, None if dry_run else unit_of)

    async def resolve(
        self, number: int, verdict: Verdict, actor: Actor, at: Instant
    ) -> DeliveryRecord | WrongState | None:
        """Settle an uncertain delivery by hand."""
        return await self._control(Resolving(number, actor, at, verdict))

    async def resolve_deliveries(
        self,
        by: DeliveryFilter,
        verdict: Verdict,
        actor: Actor,
        at: Instant,
        *,
        dry_run: bool,
        limit: int,
    ) -> BulkResult:
        """Settle all that a filter meets and that is in doubt."""

        def unit_of(numbers: tuple[int, ...]) -> InBulk:
            return InBulk(tuple(Resolving(number, actor, at, verdict) for number in numbers))

        return await self._in_bulk(by, (_S.UNCERTAIN,), limit, None if dry_run else unit_of)

    async def pause(self, mailbox_id: str, reason: str, actor: Actor, at: Instant) -> None:
        """An operator's pause; it ends only by `resume`."""
        await self._control(Pausing(mailbox_id, reason, actor, at))

    async def resume(self, mailbox_id: str, actor: Actor, at: Instant) -> None:
        """End the pause, and close the breaker of the mailbox."""
        await self._control(Resuming(mailbox_id, actor))

    async def resume_thread(self, number: int, actor: Actor, at: Instant) -> bool:
        """End what a loop holds in a thread; whether there is such a thread."""
        return await self._control(ResumingThread(number, actor, at))

    async def suppress(
        self, mailbox_id: str | None, address: str, reason: str, actor: Actor, at: Instant
    ) -> SuppressionRecord:
        """Write to this address no more; mailbox None = from no mailbox."""
        return await self._control(Suppressing(mailbox_id or "", address, reason, actor, at))

    async def unsuppress(self, mailbox_id: str | None, address: str) -> bool:
        """Allow it again; whether it was suppressed."""
        return await self._control(Unsuppressing(mailbox_id or "", address))

    async def stage(self, staged: StagedRecord, principal_uid: int) -> None:
        """Name a file that already lies in the spool."""
        unit = Staging(staged, principal_uid, self._has_spool_file)
        await self._database.write(unit, lane=WriteLane.REST, weight=2)

    async def hold_missing_mailboxes(self, configured: frozenset[str], at: Instant) -> None:
        """Hold what waits for mailboxes that are gone, free what waits for those that came back."""
        known = await self._control(NotingMailboxes(configured, at))
        for mailbox_id in known:
            await self.settle_mailbox(mailbox_id, at)

    async def note_mailboxes(self, configured: frozenset[str], at: Instant) -> None:
        """Remember which mailboxes there are."""
        await self._control(NotingMailboxes(configured, at))

    async def settle_mailbox(self, mailbox_id: str, at: Instant) -> None:
        """Hold what waits for a mailbox that is gone, free what was held for one that is there."""
        unit = anyway(SettlingMailbox(mailbox_id, at, BITE))
        while await self._database.write(unit, lane=WriteLane.REST, weight=_ROWS_EACH * BITE):
            pass

    async def _control(self, unit: Unit[T], weight: int = _ROWS_EACH) -> T:
        return await self._database.write(anyway(unit), lane=WriteLane.CONTROL, weight=weight)

    async def _in_bulk(
        self,
        by: DeliveryFilter,
        states: tuple[DeliveryState, ...],
        limit: int,
        unit_of: Callable[[tuple[int, ...]], Unit[int]] | None,
    ) -> BulkResult:
        """Everything that the filter meets is counted, so that a caller knows what is left; `limit` are acted on."""
        matched = done = 0
        cursor: int | None = None
        while True:
            room = min(BITE, limit - matched) if unit_of is not None and matched < limit else 0
            most = room or _COUNT_AT_ONCE
            look = partial(find_candidates, by=by, states=states, cursor=cursor, limit=most)
            page: Page[int] = await self._database.read(at_least(look))
            matched += len(page.items)
            if unit_of is not None and room and page.items:
                weight = _ROWS_EACH * len(page.items)
                unit = anyway(unit_of(page.items))
                done += await self._database.write(unit, lane=WriteLane.REST, weight=weight)
            cursor = page.next_cursor
            if cursor is None:
                break
        return BulkResult(matched, done)


def _bites(numbers: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [numbers[start : start + BITE] for start in range(0, len(numbers), BITE)]


def _deliveries_of(conn: sqlite3.Connection, number: int) -> tuple[int, ...] | None:
    if conn.execute(_JOB, (number,)).fetchone() is None:
        return None
    return tuple(sorted(row[0] for row in conn.execute(_DELIVERIES, (number,))))
