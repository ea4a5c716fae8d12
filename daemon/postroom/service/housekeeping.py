"""What is done now and then: what age takes, keys noted as in use, the write-ahead log cut short. Seldom: idle stays idle."""

from datetime import timedelta
from typing import Final

from postroom.core.instant import micros
from postroom.ports.errors import StoreBroken, StoreError
from postroom.service.joined import Joined
from postroom.service.tools import Tools
from postroom.store.sqlite.outbox import Outbox
from postroom.store.sqlite.retention import SqliteRetention


_EVERY: Final = timedelta(minutes=15)
_NOTE_KEYS: Final = timedelta(days=1)
_ORPHAN_AGE: Final = timedelta(days=1)  # no accept takes that long
_AT_FIRST: Final = timedelta(seconds=60)  # a restart has better things to do


class Housekeeping:
    """Runs until it is cancelled."""

    def __init__(self, tools: Tools, outbox: Outbox, joined: Joined) -> None:
        self._tools = tools
        self._outbox = outbox
        self._staging = joined.staging
        self._current = joined.current
        self._trust = joined.trust
        self._backups = joined.backups
        self._noted_at = tools.clock.monotonic()  # the start noted them

    async def run(self) -> None:
        """Do it every quarter of an hour."""
        wait = _AT_FIRST
        while True:
            await self._tools.clock.sleep(wait.total_seconds())
            await self._once()
            wait = _EVERY

    async def _once(self) -> None:
        try:
            if self._trust.is_doubted():
                self._tools.chronicle.clock_doubted()
            else:
                await self._take_old()
        except StoreBroken:
            raise
        except StoreError as error:
            self._tools.chronicle.store_refused(error)
        await self._keep()

    async def _take_old(self) -> None:
        await self._note_keys()
        kept = self._current.settings.retention
        retention = SqliteRetention(
            self._outbox.database, kept, self._staging.remove, self._may_doom
        )
        taken = await retention.run(self._tools.clock.now())
        files = taken.files + await self._sweep(retention)
        if taken.jobs or taken.events or taken.received or files:
            self._tools.chronicle.retention_removed(taken.jobs, taken.events, taken.received, files)

    async def _keep(self) -> None:
        """Whatever else failed or waits: a log that is cut is room on a disk that is full."""
        try:
            await self._outbox.keep()
        except StoreBroken:
            raise
        except StoreError as error:
            self._tools.chronicle.store_refused(error)

    async def _note_keys(self) -> None:
        """Once a day: a key is known to have signed addresses until the last time that this was said."""
        clock, current = self._tools.clock, self._current
        is_due = clock.monotonic() - self._noted_at >= micros(_NOTE_KEYS)
        if current.ring.keys and is_due:
            validity = current.settings.tokens.expiry
            await self._outbox.inbox.remember_keys(current.ring.keys, clock.now(), validity)
            self._noted_at = clock.monotonic()

    def _may_doom(self) -> bool:
        return not self._backups.is_under_way

    async def _sweep(self, retention: SqliteRetention) -> int:
        """Remove files of the spool that no row names; the spool keeps what was put in within the hour."""
        if not self._may_doom():
            return 0
        old = await self._staging.find_older(_ORPHAN_AGE)
        unnamed = await retention.find_unnamed(old)
        return sum([await self._staging.remove(sha256) for sha256 in unnamed])
