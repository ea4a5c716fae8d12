"""What is done now and then: what age takes, keys noted as in use, the write-ahead log cut short. Seldom: idle stays idle."""

from datetime import timedelta
from typing import Final

from postroom.core.instant import micros
from postroom.ports.errors import StoreBroken, StoreError
from postroom.service.joined import Joined
from postroom.service.tools import Tools
from postroom.store.sqlite.outbox import Outbox
from postroom.store.sqlite.retention import LOOK, SqliteRetention


_EVERY: Final = timedelta(minutes=15)
_NOTE_KEYS: Final = timedelta(days=1)
_ORPHAN_AGE: Final = timedelta(days=1)  # no accept takes that long
_FILE_BITES: Final = (
    8  # a run looks for so many bites of named files, and the next goes on from there
)
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
        self._retention = SqliteRetention(
            outbox.database,
            joined.current.settings.retention,
            self._remove,
            self._may_doom,
        )

    async def run(self) -> None:
        """Do it every quarter of an hour."""
        wait = _AT_FIRST
        while True:
            await self._tools.clock.sleep(wait.total_seconds())
            await self._once()
            wait = _EVERY

    async def take_old(self) -> None:
        """Take what has outlived its time, in small bites; told. Raises StoreError."""
        await self._note_keys()
        self._retention.keep(self._current.settings.retention)
        taken = await self._retention.run(self._tools.clock.now())
        files = taken.files + await self._sweep()
        if taken.jobs or taken.events or taken.received or taken.threads or files:
            self._tools.chronicle.retention_removed(
                taken.jobs, taken.events, taken.received, taken.threads, files
            )

    async def look_for_missing(self) -> None:
        """Files that rows name and that are not there: what needs them ends, and a person should know before."""
        for _ in range(_FILE_BITES):
            named = await self._retention.find_named()
            missing = await self._staging.find_missing(named) if named else ()
            if missing and (lost := await self._retention.find_still_named(missing)):
                self._tools.chronicle.spool_missing(len(lost), lost[0])
            if len(named) < LOOK:
                return

    async def _once(self) -> None:
        """Whatever fails of it keeps nothing else from being done: a log that is cut is room on a disk that is full."""
        is_doubted = self._trust.is_doubted()
        if is_doubted:
            self._tools.chronicle.clock_doubted()
        of_age = () if is_doubted else (self.take_old, self.look_for_missing)
        for step in (*of_age, self._outbox.keep):
            try:
                await step()
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

    async def _sweep(self) -> int:
        """Remove files of the spool that no row names; the spool keeps what was put in within the hour."""
        if not self._may_doom():
            return 0
        old = await self._staging.find_older(_ORPHAN_AGE)
        unnamed = await self._retention.find_unnamed(old)
        return sum([await self._remove(sha256) for sha256 in unnamed])

    async def _remove(self, sha256: str) -> bool:
        """Whether it is gone. One that can not be removed is told, and keeps no other from going."""
        try:
            return await self._staging.remove(sha256)
        except StoreError as error:
            self._tools.chronicle.store_refused(error)
            return False
