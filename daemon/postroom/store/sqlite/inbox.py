"""The inbox (ports.inbox), on SQLite: what came in until it is published, and questions about it afterwards."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from postroom.core.instant import Instant
from postroom.core.record import ThreadRecord
from postroom.core.token import Key
from postroom.ports.arriving import Arrival, Publication, PublishResult, RawFile, Received, Spoiled
from postroom.store.sqlite import inbox_receive, reads_inbox
from postroom.store.sqlite.counters import Counters
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.hold_steps import SettlingHolds
from postroom.store.sqlite.holds import BITE
from postroom.store.sqlite.inbox_event import prepare
from postroom.store.sqlite.inbox_keys import RememberingKeys, has_issued
from postroom.store.sqlite.inbox_publish import Publishing
from postroom.store.sqlite.inbox_receive import Receiving
from postroom.store.sqlite.space import Space
from postroom.store.sqlite.spoiled import anyway, at_least
from postroom.store.sqlite.unit import WriteLane


_ROWS: Final = 13  # of a publication: event, pending, thread, copy, ids, clues, sender, files


class SqliteInbox:
    """The door in for mail. `has_spool_file` says whether a file of this digest lies in the spool."""

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

    async def receive(self, arrival: Arrival) -> int:
        """Store a message and its envelope; its number.

        Raises: StorageFull also while the disk is below its reserve.
        """
        self._space.check()
        unit = Receiving(arrival, self._has_spool_file)
        weight = 2 + len(arrival.recipients)
        return await self._database.write(unit, lane=WriteLane.REST, weight=weight)

    async def find_received(self, after: int, limit: int) -> tuple[Received | Spoiled, ...]:
        """Messages that are not published yet, with number > `after`, in order of receipt."""
        look = partial(inbox_receive.find_received, after=after, limit=limit)
        return await self._database.read(look)

    async def count_waiting(self) -> int:
        """How many are not published yet; a scan of those, for start-up only."""
        return await self._database.read(inbox_receive.count_waiting)

    async def find_oldest(self) -> Instant | None:
        """When the oldest of those was received; None where all are published."""
        return await self._database.read(inbox_receive.find_oldest)

    async def publish(self, publication: Publication) -> PublishResult:
        """Find the thread, write event, facts and what is pending for consumers; after the last one of a message it is done."""
        prepared = prepare(publication)
        _, _, thread = self._counters.reserve(0, 0, 1)
        unit = anyway(Publishing(prepared, thread, self._has_spool_file))
        return await self._database.write(unit, lane=WriteLane.REST, weight=_ROWS)

    async def settle_holds(self, at: Instant) -> bool:
        """Go one step on with what loops began to hold or to free; False when nothing is left of it."""
        unit = anyway(SettlingHolds(at))
        return await self._database.write(unit, lane=WriteLane.SPARE, weight=BITE)

    async def remember_keys(
        self, keys: Sequence[Key], at: Instant, validity: timedelta
    ) -> tuple[str, ...]:
        """Note the keys that are in use, the first of which issues tokens; what is missing of those that did."""
        unit = RememberingKeys(tuple(keys), at, validity)
        return await self._database.write(unit, lane=WriteLane.CONTROL)

    async def has_issued(self) -> bool:
        """Whether any key ever issued tokens in this store."""
        return await self._database.read(has_issued)


class SqliteConversations:
    """Questions about what came in (ports.inbox.Conversations): each runs whole on a read-only connection."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_event_raw(self, seq: int) -> bytes | RawFile | None:
        """What was received, to the byte."""
        look = partial(reads_inbox.find_event_raw, seq=seq)
        return await self._database.read(at_least(look))

    async def find_thread(self, number: int, limit: int) -> ThreadRecord | None:
        """A thread with its latest deliveries and events, at most `limit` of each, in their order."""
        look = partial(reads_inbox.find_thread, number=number, limit=limit)
        return await self._database.read(at_least(look))

    async def is_inbound_pending(self, thread_number: int) -> bool:
        """Whether a stored message that is not published yet names the thread by a valid token."""
        look = partial(inbox_receive.is_inbound_pending, thread=thread_number)
        return await self._database.read(at_least(look))
