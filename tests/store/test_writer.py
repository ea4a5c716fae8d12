"""One writer: groups, order, patience, and callers that go away."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from postroom.ports.changes import Change, JobChanged
from postroom.ports.errors import StoreUnavailable
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.clock import HandClock
from support.slow_commit import SlowCommit
from support.store_host import Faults
from support.store_probe import insert, probe_database, stored_in, until


async def test_nobody_is_answered_before_the_commit_returns_and_64_share_three_commits(
    tmp_path: Path,
) -> None:
    slow = SlowCommit()
    async with probe_database(tmp_path, slow.faults) as database, asyncio.TaskGroup() as group:
        with slow.held():
            first = group.create_task(database.write(insert(0), lane=WriteLane.REST))
            await slow.reached()
            others = [
                group.create_task(database.write(insert(n), lane=WriteLane.REST))
                for n in range(1, 64)
            ]
            await until(lambda: database.stats().waiting == 63)
            assert not first.done()
            assert stored_in(tmp_path) == []
        assert [await task for task in (first, *others)] == list(range(64))
        assert slow.count <= 3
    assert stored_in(tmp_path) == list(range(64))


async def test_a_caller_that_goes_away_leaves_its_unit_and_does_not_disturb_the_others(
    tmp_path: Path,
) -> None:
    slow = SlowCommit()
    async with probe_database(tmp_path, slow.faults) as database, asyncio.TaskGroup() as group:
        with slow.held():
            gone = group.create_task(database.write(insert(1), lane=WriteLane.REST))
            await slow.reached()
            queued = group.create_task(database.write(insert(2), lane=WriteLane.REST))
            stays = group.create_task(database.write(insert(3), lane=WriteLane.REST))
            await until(lambda: database.stats().waiting == 2)
            gone.cancel()
            queued.cancel()
        assert await stays == 3
    assert gone.cancelled()
    assert queued.cancelled()
    assert stored_in(tmp_path) == [1, 2, 3]


async def test_outcomes_go_before_starts_and_starts_before_new_jobs(tmp_path: Path) -> None:
    slow = SlowCommit()
    order: list[str] = []

    def note(name: str):  # type: ignore[no-untyped-def]
        def unit(conn: sqlite3.Connection) -> UnitResult[None]:
            order.append(name)
            return UnitResult(None)

        return unit

    lanes = [
        ("accept", WriteLane.REST),
        ("start", WriteLane.START),
        ("cancel", WriteLane.CONTROL),
        ("outcome", WriteLane.OUTCOME),
    ]
    async with probe_database(tmp_path, slow.faults) as database, asyncio.TaskGroup() as group:
        with slow.held():
            group.create_task(database.write(insert(0), lane=WriteLane.REST))
            await slow.reached()
            for name, lane in lanes:
                group.create_task(database.write(note(name), lane=lane))
            await until(lambda: database.stats().waiting == 4)
            assert database.stats().outcomes_open == 1
    assert order == ["cancel", "outcome", "start", "accept"]
    assert database.stats().outcomes_open == 0


async def test_what_nobody_waits_for_goes_alone_and_takes_a_quarter_of_the_time(
    tmp_path: Path,
) -> None:
    slow, clock = SlowCommit(), HandClock()
    order: list[str] = []

    def note(name: str):  # type: ignore[no-untyped-def]
        def unit(conn: sqlite3.Connection) -> UnitResult[None]:
            order.append(name)
            clock.move(10_000)
            return UnitResult(None)

        return unit

    async with (
        probe_database(tmp_path, slow.faults, clock) as database,
        asyncio.TaskGroup() as group,
    ):
        with slow.held():
            group.create_task(database.write(insert(0), lane=WriteLane.REST))
            await slow.reached()
            for name in ("old 1", "old 2", "old 3"):
                group.create_task(database.write(note(name), lane=WriteLane.SPARE))
            for n in range(4):
                group.create_task(
                    database.write(note(f"job {n}"), lane=WriteLane.REST, weight=2000)
                )
            await until(lambda: database.stats().waiting == 7)
            before = database.stats().commits
    assert order == ["old 1", "job 0", "job 1", "job 2", "old 2", "job 3", "old 3"]
    assert database.stats().commits - before == 8


def in_the_file(directory: Path) -> list[int]:
    """What the file alone says, without its WAL."""
    copy = directory / "copy"
    copy.mkdir(exist_ok=True)
    shutil.copy(directory / "probe.db", copy)
    return stored_in(copy)


async def test_what_nobody_waits_for_pays_for_its_own_checkpoint(tmp_path: Path) -> None:
    async with probe_database(tmp_path) as database:
        await database.write(insert(1), lane=WriteLane.SPARE)
        assert in_the_file(tmp_path) == [1]
        await database.write(insert(2), lane=WriteLane.REST)
        assert in_the_file(tmp_path) == [1]
        await database.write(insert(3), lane=WriteLane.SPARE)
        assert in_the_file(tmp_path) == [1, 2, 3]


async def test_a_checkpoint_that_fails_takes_nothing_back(tmp_path: Path) -> None:
    failed: list[str] = []

    def fail(conn: sqlite3.Connection, sql: str) -> None:
        if "wal_checkpoint(PASSIVE)" in sql:
            failed.append(sql)
            message = "disk I/O error"
            raise sqlite3.OperationalError(message)

    async with probe_database(tmp_path, Faults(before=fail)) as database:
        assert await database.write(insert(1), lane=WriteLane.SPARE) == 1
        assert len(failed) == 1
        assert await database.write(insert(2), lane=WriteLane.REST) == 2
    assert stored_in(tmp_path) == [1, 2]


async def test_the_age_of_the_oldest_uncommitted_outcome_is_known(tmp_path: Path) -> None:
    slow, clock = SlowCommit(), HandClock()
    async with (
        probe_database(tmp_path, slow.faults, clock) as database,
        asyncio.TaskGroup() as group,
    ):
        with slow.held():
            group.create_task(database.write(insert(0), lane=WriteLane.OUTCOME))
            await slow.reached()
            clock.move(2_500_000)
            assert database.stats().oldest_outcome == 2_500_000
    assert database.stats().oldest_outcome == 0


async def test_a_group_ends_after_20_ms_of_work_and_the_rest_follows_in_order(
    tmp_path: Path,
) -> None:
    clock, slow = HandClock(), SlowCommit()
    order: list[int] = []

    def work(n: int) -> Callable[[sqlite3.Connection], None]:
        def then(conn: sqlite3.Connection) -> None:
            order.append(n)
            clock.move(15_000)

        return then

    async with (
        probe_database(tmp_path, slow.faults, clock) as database,
        asyncio.TaskGroup() as group,
    ):
        for n in range(6):
            group.create_task(database.write(insert(n, work(n)), lane=WriteLane.REST))
    assert order == list(range(6))
    assert slow.count == 3


async def test_a_group_holds_at_most_2000_rows(tmp_path: Path) -> None:
    slow = SlowCommit()
    async with probe_database(tmp_path, slow.faults) as database, asyncio.TaskGroup() as group:
        for n in range(4):
            group.create_task(database.write(insert(n), lane=WriteLane.REST, weight=900))
        group.create_task(database.write(insert(9), lane=WriteLane.REST, weight=5000))
    assert slow.count == 3


class Witness:
    """Notes what it is told, and which callers are still asleep then."""

    def __init__(self) -> None:
        self.seen: list[tuple[Sequence[Change], list[bool]]] = []
        self.callers: list[asyncio.Task[object]] = []

    def committed(self, changes: Sequence[Change]) -> None:
        self.seen.append((changes, [task.done() for task in self.callers]))


async def test_memory_hears_of_the_changes_of_a_commit_before_its_callers_wake(
    tmp_path: Path,
) -> None:
    witness = Witness()

    def unit(conn: sqlite3.Connection) -> UnitResult[None]:
        return UnitResult(None, (JobChanged(7),))

    def broken(conn: sqlite3.Connection) -> UnitResult[None]:
        raise ZeroDivisionError

    async def fails(database: Database) -> None:
        with pytest.raises(ZeroDivisionError):
            await database.write(broken, lane=WriteLane.REST)

    async with probe_database(tmp_path) as database, asyncio.TaskGroup() as group:
        database.watch(witness)
        witness.callers = [
            group.create_task(database.write(unit, lane=WriteLane.REST)),
            group.create_task(database.write(unit, lane=WriteLane.REST)),
            group.create_task(fails(database)),
        ]
    assert [(list(changes), woke) for changes, woke in witness.seen] == [
        ([JobChanged(7), JobChanged(7)], [False, False, False])
    ]


async def test_closing_finishes_what_waits_and_refuses_what_comes(tmp_path: Path) -> None:
    async with probe_database(tmp_path) as database, asyncio.TaskGroup() as group:
        waiting = [
            group.create_task(database.write(insert(n), lane=WriteLane.REST)) for n in range(9)
        ]
        await until(lambda: database.stats().waiting > 0 or database.stats().units > 0)
        await database.close()
        assert [task.result() for task in waiting] == list(range(9))
        with pytest.raises(StoreUnavailable):
            await database.write(insert(10), lane=WriteLane.REST)
    assert stored_in(tmp_path) == list(range(9))


async def test_a_read_sees_one_snapshot_and_can_not_write(tmp_path: Path) -> None:
    async with probe_database(tmp_path) as database:
        await database.write(insert(1), lane=WriteLane.REST)
        assert await database.read(lambda conn: conn.execute("SELECT k FROM probe").fetchone()[0])
        with pytest.raises(Exception, match="readonly"):
            await database.read(lambda conn: conn.execute("DELETE FROM probe"))


async def test_the_log_is_cut_when_there_is_nothing_else_to_do(tmp_path: Path) -> None:
    async with probe_database(tmp_path) as database:
        await database.write(insert(1), lane=WriteLane.REST)
        assert database.wal_bytes() > 0
        await database.checkpoint()
        assert database.wal_bytes() == 0
        assert await database.probe() == 0
    assert stored_in(tmp_path) == [1]


async def test_what_the_promises_rest_on_is_set(tmp_path: Path) -> None:
    def settings(conn: sqlite3.Connection) -> UnitResult[list[object]]:
        names = ("journal_mode", "synchronous", "foreign_keys", "temp_store")
        return UnitResult([conn.execute(f"PRAGMA {name}").fetchone()[0] for name in names])

    async with probe_database(tmp_path) as database:
        assert await database.write(settings, lane=WriteLane.REST) == ["wal", 2, 1, 2]
