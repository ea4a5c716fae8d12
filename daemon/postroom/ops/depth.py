"""How much waits where, and who waits for a job to settle: memory that follows the store, told of every commit.

Depth answers the queue limit at acceptance and the numbers of `stats` without a question to the store, which would
be a scan. It is seeded once at start, after recovery and before anything is accepted; from then on it is told of
every commit (ports.changes), so that it never runs ahead of the store. Both live on the loop's thread.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

from postroom.core.delivery import UNSETTLED, DeliveryState
from postroom.core.mailbox import Lane
from postroom.core.record import JobRecord
from postroom.ports.changes import Change, JobChanged, StateMoved
from postroom.ports.desk import Reader


Place = tuple[str, Lane, DeliveryState]


class Depth:
    """Deliveries by mailbox, lane and state; an Observer."""

    def __init__(self, seed: Mapping[Place, int]) -> None:
        self._by_place: Counter[Place] = Counter()
        self._unsettled: Counter[str] = Counter()
        for place, count in seed.items():
            self._add(place, count)

    def committed(self, changes: Sequence[Change]) -> None:
        """Count what moved."""
        for change in changes:
            if isinstance(change, StateMoved):
                self._move(change)

    def depth(self, mailbox_id: str) -> int:
        """How many deliveries of this mailbox are not settled: what `limits.queued` bounds."""
        return self._unsettled[mailbox_id]

    def counts(self) -> Mapping[Place, int]:
        """All counts above zero, as of now."""
        return dict(self._by_place)

    def _move(self, moved: StateMoved) -> None:
        if moved.before is not None:
            self._add((moved.mailbox_id, moved.lane, moved.before), -moved.count)
        if moved.after is not None:
            self._add((moved.mailbox_id, moved.lane, moved.after), moved.count)

    def _add(self, place: Place, count: int) -> None:
        mailbox_id, _, state = place
        self._by_place[place] += count
        if not self._by_place[place]:
            del self._by_place[place]
        if state in UNSETTLED:
            self._unsettled[mailbox_id] += count


class Settled:
    """Lets a caller wait until a job is settled; an Observer."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._watches: dict[int, set[asyncio.Event]] = {}

    def committed(self, changes: Sequence[Change]) -> None:
        """Wake whoever waits for one of these jobs."""
        for change in changes:
            if isinstance(change, JobChanged):
                for watch in self._watches.get(change.number, ()):
                    watch.set()

    async def wait(self, number: int, timeout_s: float) -> JobRecord | None:
        """The job once it is settled, or as it stands after `timeout_s` seconds; None when there is no such job."""
        watch = asyncio.Event()
        self._watches.setdefault(number, set()).add(watch)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._follow(number, watch)
        except TimeoutError:
            return await self._reader.find_job(number)
        finally:
            self._forget(number, watch)

    async def _follow(self, number: int, watch: asyncio.Event) -> JobRecord | None:
        while True:
            watch.clear()
            job = await self._reader.find_job(number)
            if job is None or _is_settled(job):
                return job
            await watch.wait()

    def _forget(self, number: int, watch: asyncio.Event) -> None:
        self._watches[number].discard(watch)
        if not self._watches[number]:
            del self._watches[number]


def _is_settled(job: JobRecord) -> bool:
    return all(delivery.state not in UNSETTLED for delivery in job.deliveries)
