"""Copies of a database that others write to: whole, private, and saying that they are copies."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from postroom.core.body import Body
from postroom.ports.errors import StorageFull, StoreError
from postroom.store.sqlite.copying import Copied, DatabaseCopy
from postroom.store.sqlite.inspecting import find_newest
from postroom.store.sqlite.migrate import shipped
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.store_host import NOON, outbox_in, rows_in
from support.store_jobs import new_job


ROOM = 1 << 40


def copy_of(folder: Path) -> DatabaseCopy:
    (folder / "copies").mkdir(exist_ok=True)
    return DatabaseCopy(folder / "state" / "postroom.db", folder / "copies" / "postroom.db")


def make(copying: DatabaseCopy, free: int = ROOM) -> Copied:
    return copying.make(1 << 20, lambda folder: free)


async def test_a_copy_has_what_was_committed_before_it_and_nothing_of_what_came_later(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        for _ in range(3):
            await outbox.intake.accept(new_job(outbox.intake))
        copying = copy_of(tmp_path)
        copied = make(copying)
        await outbox.intake.accept(new_job(outbox.intake))
        path = tmp_path / "copies" / "postroom.db"
        with closing(sqlite3.connect(path)) as conn:
            assert conn.execute("SELECT count(*) FROM job").fetchone() == (3,)
            found = conn.execute("SELECT is_backup, machine_id FROM instance").fetchone()
            assert found == (1, "")
        assert (copied.schema, copied.instance_id) == (
            len(shipped()),
            outbox.opened.instance_id,
        )
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert [one.name for one in path.parent.iterdir()] == ["postroom.db"]
        copying.close()
        assert not path.exists()
    assert rows_in(tmp_path, "SELECT is_backup, machine_id FROM instance") == [(0, "machine-1")]


async def test_the_writer_is_not_kept_waiting_while_a_copy_is_made(tmp_path: Path) -> None:
    """The reading transaction of a copy is open in the very moment in which somebody writes."""
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        with closing(sqlite3.connect(tmp_path / "state" / "postroom.db")) as reading:
            reading.execute("BEGIN")
            reading.execute("SELECT count(*) FROM job").fetchone()
            await outbox.intake.accept(new_job(outbox.intake))
            await outbox.database.checkpoint()  # would wait five seconds for the reader
            (waits,) = await outbox.database.write(
                lambda conn: UnitResult(conn.execute("PRAGMA busy_timeout").fetchone()),
                lane=WriteLane.REST,
            )
            assert waits == 5000
            assert outbox.database.wal_bytes() > 0
            assert reading.execute("SELECT count(*) FROM job").fetchone() == (1,)
        copying = copy_of(tmp_path)
        assert make(copying).size_bytes > 0
        copying.close()


async def test_a_copy_after_a_crash_has_what_is_only_in_the_log(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        dead = tmp_path / "dead" / "state"
        dead.mkdir(parents=True)
        for name in ("postroom.db", "postroom.db-wal"):
            (dead / name).write_bytes((tmp_path / "state" / name).read_bytes())
    copying = copy_of(dead.parent)
    make(copying)
    path = tmp_path / "dead" / "copies" / "postroom.db"
    with closing(sqlite3.connect(path)) as conn:
        assert conn.execute("SELECT count(*) FROM job").fetchone() == (1,)
    copying.close()
    assert find_newest(dead / "postroom.db") == NOON


async def test_only_files_that_a_row_names_are_listed(tmp_path: Path) -> None:
    digests = ["ab" * 32, "12" * 32, "cd" * 32]
    async with outbox_in(tmp_path, spool=frozenset(digests)):
        copying = copy_of(tmp_path)
        with closing(sqlite3.connect(tmp_path / "state" / "postroom.db")) as conn:
            conn.executemany(
                "INSERT INTO spool_file (sha256, size_bytes, refs, created_at) VALUES (?, ?, ?, 0)",
                [(digests[0], 7, 1), (digests[1], 5, 2), (digests[2], 9, 0)],
            )
            conn.commit()
        copied = make(copying)
        assert list(copying.files()) == [(digests[1], 5), (digests[0], 7)]
        assert (copied.files, copied.files_bytes) == (2, 12)
        copying.close()


async def test_without_room_nothing_is_begun(tmp_path: Path) -> None:
    async with outbox_in(tmp_path):
        copying = copy_of(tmp_path)
        with pytest.raises(StorageFull, match="bytes free"):
            make(copying, free=(1 << 20) + 4096)
        assert list((tmp_path / "copies").iterdir()) == []
        copying.close()


async def test_a_copy_that_nobody_wants_any_more_is_stopped(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        content = bytes(1 << 20)
        body = Body((content,), len(content))
        await outbox.intake.accept(new_job(outbox.intake, body=body))
        copying = copy_of(tmp_path)

        def free(folder: Path) -> int:
            assert copying._conn is not None
            copying._conn.set_progress_handler(lambda: copying.interrupt() or 0, 10)
            return ROOM

        with pytest.raises(StoreError):
            copying.make(1 << 20, free)
        copying.close()
        copying.interrupt()
        assert list((tmp_path / "copies").iterdir()) == []
