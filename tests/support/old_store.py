"""Stores as older versions left them: what this version writes is put into the tables that an older one had.

await write_store(tmp_path, waiting=1_000)      # and one delivery in every state, by STORIES
make_old(tmp_path / "state" / "postroom.db", 3)
"""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.ops.host import SystemClock
from postroom.ports.desk import Actor
from postroom.store.sqlite.migrate import APPLICATION_ID, shipped
from postroom.store.sqlite.opening import HostIdentity
from postroom.store.sqlite.outbox import Outbox
from support.store_host import HERE, outbox_in
from support.store_jobs import new_job, outcome_of, start_of


# The same for who wrote the old store and who opens it: a reboot would be another story.
BOOT = "one"
_RULES = replace(HERE, host=HostIdentity("machine", BOOT))
FIRST = "sent"
# How it stands when the older version ends, and where it ends under the newer one.
STORIES = {
    FIRST: "sent",
    "failed": "failed",
    "skipped": "skipped",
    "uncertain": "uncertain",
    "retry_scheduled": "sent",
    "marked": "uncertain",
    "started": "sent",
    "cancelled": "cancelled",
    "held": "held",
}


async def write_store(folder: Path, waiting: int) -> None:
    """One mail in every state that there is, and so many that wait."""
    now = SystemClock().now()
    async with outbox_in(folder, rules=_RULES) as outbox:
        for number, name in enumerate(STORIES, 1):
            mailbox_id = "closed" if name == "held" else "support"
            await _accept(outbox, f"{name}@example.com", now, mailbox_id)
            await _bring(outbox, number, name, now)
        async with asyncio.TaskGroup() as tasks:
            for one in range(waiting):
                tasks.create_task(_accept(outbox, f"waits{one}@example.com", now))


async def kill_store(folder: Path) -> None:
    """One mail more, and its files as a daemon leaves them that is killed: the log is not in the database."""
    state = folder / "state"
    async with outbox_in(folder, rules=_RULES) as outbox:
        await _accept(outbox, "last@example.com", SystemClock().now())
        shutil.copytree(state, folder / "killed")
    assert (folder / "killed" / "postroom.db-wal").stat().st_size
    shutil.rmtree(state)
    (folder / "killed").rename(state)


async def _accept(outbox: Outbox, who: str, now: Instant, mailbox_id: str = "support") -> None:
    job = new_job(outbox.intake, who, mailbox_id=mailbox_id, due_at=now, at=now)
    await outbox.intake.accept(job)


async def _bring(outbox: Outbox, number: int, name: str, now: Instant) -> None:
    """Bring a new delivery to where its story says."""
    match name:
        case "cancelled":
            await outbox.admin.cancel_job(number, Actor(0), now)
        case "held":
            await outbox.admin.hold_missing_mailboxes(frozenset({"support"}), now)
        case "started":
            await outbox.loop.start(start_of(number, now))
        case _:
            await outbox.loop.start(start_of(number, now))
            await outbox.loop.mark(number, 1, now)
            if name != "marked":
                after = DeliveryState(name)
                due_at = now if after is DeliveryState.RETRY_SCHEDULED else None
                await outbox.loop.finish(outcome_of(number, 1, after, at=now, due_at=due_at))


def make_old(path: Path, version: int) -> None:
    """The same as that version wrote it: its tables, its columns."""
    written = path.rename(path.with_name("written.db"))
    with closing(sqlite3.connect(path)) as conn:
        for script in shipped()[:version]:
            conn.executescript(script)
        conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        conn.execute(f"PRAGMA user_version = {version}")
        conn.execute("ATTACH ? AS written", (str(written),))
        tables = conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            columns = [row[1] for row in conn.execute(f"PRAGMA table_info({table})")]
            names = ", ".join(columns)
            conn.execute(f"DELETE FROM main.{table}")  # noqa: S608
            conn.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM written.{table}")  # noqa: S608
        conn.commit()
    written.unlink()
    path.chmod(0o600)
