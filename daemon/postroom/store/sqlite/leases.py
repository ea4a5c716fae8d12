"""Leases over one database: ports.leasing.Leases."""

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from postroom.core.eventtypes import EventType
from postroom.core.instant import Instant
from postroom.core.job import LeaseClaim
from postroom.core.record import Page
from postroom.ports.accepting import LeaseLost, NewJob
from postroom.ports.leasing import (
    Completed,
    CompleteResult,
    ConsumerRecord,
    DeadEvent,
    Lease,
    LeaseWish,
    Release,
    Released,
    TooManyConsumers,
    WaitingEvents,
)
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.lease_acquire import Acquiring, Extending
from postroom.store.sqlite.lease_complete import Completing, judge
from postroom.store.sqlite.lease_consumers import (
    Dropping,
    Making,
    Reviving,
    find_consumers,
    find_dead_events,
)
from postroom.store.sqlite.lease_end import BITE, Releasing, Sweeping, find_lease
from postroom.store.sqlite.lease_waiting import find_waiting
from postroom.store.sqlite.space import Space
from postroom.store.sqlite.spoiled import anyway, at_least
from postroom.store.sqlite.unit import WriteLane


_ROWS_OF_LEASE: Final = 8  # the lease, its fence, the events it shows
_ROWS_OF_REPLY: Final = 8


class SqliteLeases:
    """The lease protocol. `has_spool_file` says whether a file of this digest lies in the spool."""

    def __init__(
        self, database: Database, space: Space, has_spool_file: Callable[[str], bool]
    ) -> None:
        self._database = database
        self._space = space
        self._has_spool_file = has_spool_file

    async def acquire(self, wish: LeaseWish) -> tuple[Lease, ...] | TooManyConsumers:
        """Leases on the threads that wait longest, or those of the same attempt; empty when none waits."""
        weight = _ROWS_OF_LEASE * wish.max_threads
        unit = anyway(Acquiring(wish))
        return await self._database.write(unit, lane=WriteLane.REST, weight=weight)

    async def extend(self, claim: LeaseClaim, lease_s: float, at: Instant) -> Lease | LeaseLost:
        """Keep it for `lease_s` from now; it then shows what came in meanwhile."""
        unit = anyway(Extending(claim, lease_s, at))
        return await self._database.write(unit, lane=WriteLane.CONTROL, weight=_ROWS_OF_LEASE)

    async def release(self, claim: LeaseClaim, back: Release, at: Instant) -> Released | LeaseLost:
        """Give it back."""
        unit = anyway(Releasing(claim, back, at))
        return await self._database.write(unit, lane=WriteLane.CONTROL, weight=_ROWS_OF_LEASE)

    async def check(self, claim: LeaseClaim, at: Instant) -> Completed | LeaseLost | None:
        """What `complete` did before with this lease, or that it can do nothing; None = it is live."""
        return await self._database.read(at_least(partial(_check, claim=claim, at=at)))

    async def complete(
        self,
        claim: LeaseClaim,
        ack: Sequence[int] | None,
        replies: Sequence[NewJob | int],
        at: Instant,
    ) -> CompleteResult:
        """Acknowledge (`ack` None = all that was shown) and accept the replies, or nothing of both.

        Raises: StorageFull also where there are replies and the disk is below its reserve.
        """
        if replies:
            self._space.check()
        acked = None if ack is None else tuple(ack)
        unit = anyway(Completing(claim, acked, tuple(replies), at, self._has_spool_file))
        weight = _ROWS_OF_LEASE + _ROWS_OF_REPLY * len(replies)
        return await self._database.write(unit, lane=WriteLane.REST, weight=weight)

    async def sweep(self, at: Instant) -> Instant | None:
        """End what is due; when it is worth while to come again."""
        return await self._database.write(anyway(Sweeping(at)), lane=WriteLane.SPARE, weight=BITE)

    async def find_consumers(self) -> tuple[ConsumerRecord, ...]:
        """Every consumer."""
        return await self._database.read(at_least(find_consumers))

    async def find_waiting(self, now: Instant) -> tuple[WaitingEvents, ...]:
        """How many events wait for whom, and since when the oldest that nobody holds."""
        return await self._database.read(at_least(partial(find_waiting, now=now)))

    async def make_consumer(
        self, name: str, types: tuple[EventType, ...] | None, at: Instant, *, from_now: bool
    ) -> ConsumerRecord | TooManyConsumers:
        """Make it, or widen its types."""
        unit = anyway(Making(name, types, at, from_now))
        return await self._database.write(unit, lane=WriteLane.REST)

    async def drop_consumer(self, name: str, at: Instant) -> bool:
        """Forget it and what waits for it, and end its leases; whether it was there."""
        return await self._database.write(anyway(Dropping(name, at)), lane=WriteLane.REST)

    async def retry_event(self, seq: int, consumer: str) -> bool | None:
        """Make a dead event pending again; False when it is not dead, None when it or the consumer is unknown."""
        return await self._database.write(anyway(Reviving(seq, consumer)), lane=WriteLane.REST)

    async def find_dead_events(
        self, since: Instant | None, cursor: int | None, limit: int
    ) -> Page[DeadEvent]:
        """Events that are dead for somebody, newest first; `since` is when they died."""
        look = partial(find_dead_events, since=since, cursor=cursor, limit=limit)
        return await self._database.read(at_least(look))


def _check(
    conn: sqlite3.Connection, claim: LeaseClaim, at: Instant
) -> Completed | LeaseLost | None:
    row = find_lease(conn, claim)
    if row is not None and row["state"] == "live" and row["expires_at"] <= at:
        return LeaseLost()
    return judge(row)
