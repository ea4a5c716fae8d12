"""The whole outbox over one database: opened, recovered, and in one hand for whoever joins the parts."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postroom.ports.alerting import Alerts
from postroom.ports.desk import Admin, Reader
from postroom.ports.digesting import Digests
from postroom.ports.doubting import Doubts
from postroom.ports.errors import StorageFull
from postroom.ports.host import Clock, Entropy
from postroom.ports.inbox import Conversations, Inbox
from postroom.ports.leasing import Leases
from postroom.ports.outbox import Intake, LoopStore
from postroom.store.sqlite.admin import SqliteAdmin
from postroom.store.sqlite.alerts import SqliteAlerts
from postroom.store.sqlite.counters import read_counters
from postroom.store.sqlite.database import Database, open_database
from postroom.store.sqlite.digests import SqliteDigests
from postroom.store.sqlite.doubt_policy import SqliteDoubts
from postroom.store.sqlite.inbox import SqliteConversations, SqliteInbox
from postroom.store.sqlite.leases import SqliteLeases
from postroom.store.sqlite.opening import Opened, OpeningRules, note_clean_stop, open_store
from postroom.store.sqlite.outbox_accept import SqliteIntake
from postroom.store.sqlite.outbox_loop import SqliteLoopStore
from postroom.store.sqlite.reader import SqliteReader
from postroom.store.sqlite.space import (
    Disk,
    Inodes,
    Space,
    disk_free,
    disk_inodes,
    disk_size,
)
from postroom.store.sqlite.state_dir import (
    FILE_NAME,
    check_file_system,
    check_placed,
    locked,
    make_file,
    make_private,
)
from postroom.store.sqlite.unit import UnitResult, WriteLane


MIN_FREE_BYTES: Final = (
    256 * 1024 * 1024
)  # what is under way needs kilobytes; the rest is for the WAL and for people


@dataclass(frozen=True, slots=True)
class Outbox:
    """One store through all its ports. `warnings` are sentences for the operator about how it was found."""

    database: Database
    intake: Intake
    loop: LoopStore
    reader: Reader
    admin: Admin
    leases: Leases
    doubts: Doubts
    alerts: Alerts
    digests: Digests
    inbox: Inbox
    conversations: Conversations
    opened: Opened
    warnings: tuple[str, ...]
    space: Space

    async def keep(self) -> None:
        """What is done when there is nothing else to do: cut the WAL, lay the ballast down again."""
        await self.database.checkpoint()
        self.space.put_ballast()


@dataclass(frozen=True, slots=True)
class Setting:
    """How the store meets the host: `factory` makes the writing connection, `disk_free` says what is free, `disk_size` of how much, `disk_inodes` how many files can be made."""

    min_free_bytes: int = MIN_FREE_BYTES
    disk_free: Callable[[Path], int] = disk_free
    disk_size: Callable[[Path], int] = disk_size
    disk_inodes: Callable[[Path], Inodes] = disk_inodes
    factory: type[sqlite3.Connection] = sqlite3.Connection


@asynccontextmanager
async def open_outbox(
    state_dir: Path,
    clock: Clock,
    entropy: Entropy,
    has_spool_file: Callable[[str], bool],
    rules: OpeningRules | None = None,
    setting: Setting | None = None,
) -> AsyncIterator[Outbox]:
    """The outbox in `state_dir`, recovered, and owned until the end of the block.

    An end without an exception is a clean stop. `has_spool_file` says whether a file of this hex SHA-256 is in the
    spool; it is called on the writer's thread.

    Raises: StateRefused, AlreadyRunning, StoreUnavailable, StorageFull, StoreBroken.
    """
    rules = rules or OpeningRules()
    setting = setting or Setting()
    path = state_dir / FILE_NAME
    make_private(state_dir)
    warning = check_file_system(state_dir, accept_any=rules.accept_file_system)
    found: list[Opened] = []
    with locked(state_dir):
        check_placed(state_dir)
        make_file(path)

        def prepare(conn: sqlite3.Connection) -> None:
            found.append(open_store(conn, path, clock, entropy, rules))

        async with open_database(path, clock, prepare, setting.factory) as database:
            disk = Disk(setting.disk_free, setting.disk_size, setting.disk_inodes)
            space = Space(state_dir, clock, setting.min_free_bytes, disk)
            space.put_ballast()
            counters = await database.read(read_counters)
            yield Outbox(
                database=database,
                intake=SqliteIntake(database, counters, space, has_spool_file),
                loop=SqliteLoopStore(database, clock, space),
                reader=SqliteReader(database),
                admin=SqliteAdmin(database, has_spool_file),
                leases=SqliteLeases(database, space, has_spool_file),
                doubts=SqliteDoubts(database),
                alerts=SqliteAlerts(database),
                digests=SqliteDigests(database),
                inbox=SqliteInbox(database, counters, space, has_spool_file),
                conversations=SqliteConversations(database),
                opened=found[0],
                warnings=(*filter(None, (warning,)), *found[0].warnings),
                space=space,
            )
            await _note_stop(database, space)


async def _note_stop(database: Database, space: Space) -> None:
    """A disk that is full at the stop has the ballast to give: a stop in order must not look like a crash."""
    try:
        await database.write(_clean_stop, lane=WriteLane.REST)
    except StorageFull:
        space.drop_ballast()
        await database.write(_clean_stop, lane=WriteLane.REST)


def _clean_stop(conn: sqlite3.Connection) -> UnitResult[None]:
    note_clean_stop(conn)
    return UnitResult(None)
