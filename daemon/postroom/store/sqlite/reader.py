"""Questions to the outbox (ports.desk.Reader), on SQLite: each runs whole on a read-only connection.

What is damaged in a row is shown as far as it can be read, and hides nothing beside it.
"""

import sqlite3
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from postroom.core.body import Body
from postroom.core.condition import Standing
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.core.record import (
    DeliveryRecord,
    EventRecord,
    JobRecord,
    MailboxRecord,
    Page,
    Raw,
    Retries,
    StagedRecord,
    SuppressionRecord,
)
from postroom.ports.desk import DeliveryFilter, Hold, JobFilter
from postroom.store.sqlite import conditions, reads_deliveries, reads_jobs, reads_log
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.spoiled import at_least


T = TypeVar("T")


class SqliteReader:
    """The eyes on the outbox."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_job(self, number: int) -> JobRecord | None:
        """A job with its deliveries, or its tombstone."""
        return await self._ask(partial(reads_jobs.find_job, number=number))

    async def find_jobs(self, by: JobFilter, cursor: int | None, limit: int) -> Page[JobRecord]:
        """Newest first; a page may be short and still not the last."""
        look = partial(reads_jobs.find_jobs, by=by, cursor=cursor, limit=limit)
        return await self._ask(look)

    async def find_delivery(self, number: int) -> DeliveryRecord | None:
        """A delivery with its history."""
        return await self._ask(partial(reads_deliveries.find_delivery, number=number))

    async def find_standing(self, number: int) -> Standing | None:
        """The precondition of a delivery as it stands; None where it has none, or it was judged."""
        return await self._ask(partial(conditions.find_standing, number=number))

    async def find_deliveries(
        self, by: DeliveryFilter, cursor: int | None, limit: int
    ) -> Page[DeliveryRecord]:
        """Newest first, without history."""
        look = partial(reads_deliveries.find_deliveries, by=by, cursor=cursor, limit=limit)
        return await self._ask(look)

    async def find_holds(self) -> tuple[Hold, ...]:
        """How many deliveries are held, by mailbox and reason."""
        return await self._ask(reads_deliveries.find_holds)

    async def find_retries(self, mailbox_id: str) -> tuple[Retries, ...]:
        """Why deliveries of a mailbox are tried again, by lane, of its oldest 1,000; the most frequent first."""
        return await self._ask(partial(reads_deliveries.find_retries, mailbox_id=mailbox_id))

    async def find_dead(
        self, since: Instant | None, cursor: int | None, limit: int
    ) -> Page[DeliveryRecord]:
        """What failed or is in doubt, the latest to end first; `since` is when it ended."""
        look = partial(reads_deliveries.find_dead, since=since, cursor=cursor, limit=limit)
        return await self._ask(look)

    async def find_raw(self, number: int) -> Raw | None:
        """The message of a delivery; None when it was removed by retention."""
        return await self._ask(partial(reads_log.find_raw, number=number))

    async def find_body(self, body_number: int) -> Body | None:
        """A body."""
        return await self._ask(partial(reads_log.find_body, number=body_number))

    async def find_events(self, after: int, limit: int) -> tuple[EventRecord, ...]:
        """Events with seq > `after`, in order."""
        return await self._ask(partial(reads_log.find_events, after=after, limit=limit))

    async def event_span(self) -> tuple[str, int, int]:
        """log_id, the oldest seq still there and the newest ever given (both 0 in an empty log)."""
        return await self._ask(reads_log.event_span)

    async def find_suppressions(
        self, mailbox_id: str | None, cursor: int | None, limit: int
    ) -> Page[SuppressionRecord]:
        """Suppressed addresses, newest first."""
        look = partial(
            reads_log.find_suppressions, mailbox_id=mailbox_id, cursor=cursor, limit=limit
        )
        return await self._ask(look)

    async def find_mailboxes(self) -> tuple[MailboxRecord, ...]:
        """What the store knows of every mailbox it ever had."""
        return await self._ask(reads_log.find_mailboxes)

    async def find_staged(self, ref: str) -> StagedRecord | None:
        """A staged upload."""
        return await self._ask(partial(reads_log.find_staged, ref=ref))

    async def oldest_due(self, now: Instant) -> Mapping[tuple[str, Lane], Instant]:
        """The earliest due_at <= now of each mailbox and lane that has one."""
        return await self._ask(partial(reads_deliveries.oldest_due, now=now))

    async def count_by_state(self) -> Mapping[tuple[str, Lane, DeliveryState], int]:
        """Deliveries by mailbox, lane and state; a scan, for start-up only."""
        return await self._ask(reads_deliveries.count_by_state)

    async def count_accepted(self, since: Instant) -> Mapping[str, tuple[tuple[Instant, int], ...]]:
        """Deliveries accepted since then by mailbox and minute, oldest first; for start-up only."""
        return await self._ask(partial(reads_deliveries.count_accepted, since=since))

    async def _ask(self, look: Callable[[sqlite3.Connection], T]) -> T:
        return await self._database.read(at_least(look))
