"""The outbox as the delivery loop sees it (ports.outbox.LoopStore)."""

from functools import partial
from typing import Final

from postroom.core.breaker import Breaker
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.ports.errors import StorageFull
from postroom.ports.host import Clock
from postroom.ports.looping import LoopState, MarkStopped, Outcome, Start, Started, WaitingRow
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.loop_clock import pull_in
from postroom.store.sqlite.loop_finish import end_expired, finish
from postroom.store.sqlite.loop_scopes import keep_breaker, load_state
from postroom.store.sqlite.loop_start import mark, start
from postroom.store.sqlite.loop_waiting import find_common, find_of_domain, find_queues
from postroom.store.sqlite.space import Space
from postroom.store.sqlite.spoiled import anyway
from postroom.store.sqlite.unit import WriteLane


_ROWS: Final = 4  # of a start or an outcome: delivery, history, event or buckets, job


class SqliteLoopStore:
    """What the delivery loop needs."""

    def __init__(self, database: Database, clock: Clock, space: Space) -> None:
        self._database = database
        self._clock = clock
        self._space = space

    async def load(self) -> LoopState:
        """Breakers, pauses and pace as they were left."""
        return await self._database.read(partial(load_state, now=self._clock.now()))

    async def find_waiting(
        self,
        mailbox_id: str,
        lane: Lane,
        *,
        domain: str | None,
        skip: frozenset[str],
        after: tuple[Instant, int] | None,
        limit: int,
    ) -> tuple[WaitingRow, ...]:
        """Waiting rows in the order (due_at, number), of one domain or without those to skip, due or not."""
        queue = (mailbox_id, lane)
        if domain is None:
            fn = partial(find_common, queue=queue, skip=skip, after=after, limit=limit)
        else:
            fn = partial(find_of_domain, queue=queue, domain=domain, after=after, limit=limit)
        return await self._database.read(fn)

    async def find_mailbox_queues(self) -> tuple[tuple[str, Lane], ...]:
        """Every mailbox and lane that has waiting rows."""
        return await self._database.read(find_queues)

    async def start(self, given: Start) -> Started | MarkStopped | None:
        """Take a waiting row; None when it waits no more, MarkStopped when mail for its thread must be read first."""
        unit = partial(start, given=given)
        return await self._database.write(unit, lane=WriteLane.START, weight=_ROWS)

    async def mark(self, number: int, claim: int, at: Instant) -> Instant | MarkStopped:
        """Commit "the final dot is about to go": the moment it was made, or what stops it."""
        unit = partial(mark, number=number, claim=claim, at=at)
        return await self._database.write(unit, lane=WriteLane.CONTROL)

    async def finish(self, outcome: Outcome) -> DeliveryState:
        """Record how the attempt ended; the state that it came to.

        A relay's answer is never given up: after StoreUnavailable or StorageFull the caller comes again. A full disk
        has the ballast to give for it.
        """
        unit = anyway(partial(finish, outcome=outcome))
        try:
            return await self._database.write(unit, lane=WriteLane.OUTCOME, weight=_ROWS)
        except StorageFull:
            self._space.drop_ballast()
            raise

    async def keep_breaker(self, mailbox_id: str, breaker: Breaker) -> None:
        """Remember a mailbox's breaker that moved without an outcome."""
        unit = partial(keep_breaker, mailbox_id=mailbox_id, breaker=breaker)
        await self._database.write(unit, lane=WriteLane.CONTROL)

    async def pull_in(
        self, mailbox_id: str, lane: Lane, now: Instant, latest: Instant, limit: int
    ) -> int:
        """Make retries that are due after `latest` due then, and what was due before due now; how many."""
        unit = partial(pull_in, queue=(mailbox_id, lane), now=now, latest=latest, limit=limit)
        return await self._database.write(unit, lane=WriteLane.REST, weight=limit)

    async def end_expired(self, now: Instant, limit: int) -> int:
        """Fail waiting rows whose `not_after` or lifetime is over; how many."""
        unit = anyway(partial(end_expired, now=now, limit=limit))
        return await self._database.write(unit, lane=WriteLane.REST, weight=limit)
