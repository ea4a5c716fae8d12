"""HAZARDS Q13 and Q14: who is told ok, and whose row is there, when something fails inside a group."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from postroom.ports.changes import Change, JobChanged
from postroom.ports.errors import StorageFull, StoreBroken, StoreError, StoreUnavailable
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.store_host import Faults, sqlite_error
from support.store_probe import insert, probe_database, stored_in, until


N = 5


async def ask(database: Database, units: list[object]) -> list[object]:
    """The answers of units that form one group, values and exceptions."""

    async def one(unit: object) -> object:
        try:
            return await database.write(unit, lane=WriteLane.REST)  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 - the answer, whatever it is
            return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(unit)) for unit in units]
    return [task.result() for task in tasks]


def full(conn: sqlite3.Connection) -> None:
    """As SQLite does it: the whole transaction is rolled back, and then there is an error."""
    conn.execute("ROLLBACK")
    raise sqlite_error(sqlite3.SQLITE_FULL, "database or disk is full")


def io_error(conn: sqlite3.Connection) -> None:
    conn.execute("ROLLBACK")
    raise sqlite_error(sqlite3.SQLITE_IOERR_WRITE, "disk I/O error")


def full_but_open(conn: sqlite3.Connection) -> None:
    raise sqlite_error(sqlite3.SQLITE_FULL, "database or disk is full")


def constraint(conn: sqlite3.Connection) -> None:
    conn.execute("INSERT INTO probe (k) VALUES (1000), (1000)")


def bug(conn: sqlite3.Connection) -> None:
    message = "a bug in a unit"
    raise ZeroDivisionError(message)


INSIDE = [
    (full, StorageFull),
    (full_but_open, StorageFull),
    (io_error, StoreUnavailable),
    (constraint, StoreError),
    (bug, ZeroDivisionError),
]


@pytest.mark.parametrize("k", range(N))
@pytest.mark.parametrize(("fault", "told"), INSIDE, ids=[fault.__name__ for fault, _ in INSIDE])
async def test_who_is_told_ok_is_stored_and_only_the_culprit_is_not(
    tmp_path: Path, fault: Callable[[sqlite3.Connection], None], told: type[Exception], k: int
) -> None:
    faults = Faults()
    async with probe_database(tmp_path, faults) as database:
        units = [insert(n, fault) if n == k else insert(n) for n in range(N)]
        answers = await ask(database, units)
    assert isinstance(answers[k], told)
    ok = [answer for answer in answers if isinstance(answer, int)]
    assert ok == [n for n in range(N) if n != k]
    assert stored_in(tmp_path) == ok


async def test_a_group_in_which_nothing_fails_pays_for_no_savepoints(tmp_path: Path) -> None:
    faults = Faults()
    async with probe_database(tmp_path, faults) as database:
        faults.statements.clear()
        await ask(database, [insert(n) for n in range(N)])
        assert [sql.split()[0] for sql in faults.statements] == [
            *("BEGIN", *["INSERT"] * N, "COMMIT")
        ]


@pytest.mark.parametrize("k", range(N))
async def test_two_that_break_the_transaction_cost_only_themselves(tmp_path: Path, k: int) -> None:
    other = (k + 2) % N
    async with probe_database(tmp_path) as database:
        units = [insert(n, full) if n in {k, other} else insert(n) for n in range(N)]
        answers = await ask(database, units)
    ok = [answer for answer in answers if isinstance(answer, int)]
    assert ok == [n for n in range(N) if n not in {k, other}]
    assert stored_in(tmp_path) == ok


@pytest.mark.parametrize("is_done", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize(
    ("code", "told"),
    [
        (sqlite3.SQLITE_FULL, StorageFull),
        (sqlite3.SQLITE_BUSY, StoreUnavailable),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreBroken),
        (sqlite3.SQLITE_CORRUPT, StoreBroken),
    ],
    ids=["full", "busy", "io error", "corrupt"],
)
async def test_nobody_is_told_ok_when_the_commit_fails(
    tmp_path: Path, code: int, told: type[Exception], *, is_done: bool
) -> None:
    faults = Faults()
    async with probe_database(tmp_path, faults) as database:
        fail_commits(faults, 1, code, is_done=is_done)
        answers = await ask(database, [insert(n) for n in range(N)])
        assert [type(answer) for answer in answers] == [told] * N
        if not is_done:
            assert stored_in(tmp_path) == []
        if told is StoreBroken:
            async with asyncio.timeout(5):
                await database.wait_broken()
            with pytest.raises(StoreBroken):
                await database.write(insert(99), lane=WriteLane.OUTCOME)
        else:
            assert await database.write(insert(99), lane=WriteLane.OUTCOME) == 99


async def test_when_the_second_of_the_lone_commits_breaks_the_store_the_first_is_still_ok(
    tmp_path: Path,
) -> None:
    faults = Faults()
    async with probe_database(tmp_path, faults) as database:
        fail_commits(faults, 2, sqlite3.SQLITE_IOERR_FSYNC, is_done=False)
        units = [insert(n, full) if n == N - 1 else insert(n) for n in range(N)]
        answers = await ask(database, units)
    assert answers[0] == 0
    assert [type(answer) for answer in answers[1:-1]] == [StoreBroken] * (N - 2)
    assert stored_in(tmp_path) == [0]


async def test_what_waits_behind_a_broken_store_is_told_so(tmp_path: Path) -> None:
    faults = Faults()
    async with probe_database(tmp_path, faults) as database:
        go = threading.Event()

        def wait_and_fail(conn: sqlite3.Connection, sql: str) -> None:
            if sql == "COMMIT":
                assert go.wait(5)
                raise sqlite_error(sqlite3.SQLITE_IOERR_FSYNC, "disk I/O error")

        faults.before = wait_and_fail
        async with asyncio.TaskGroup() as group:
            first = group.create_task(ask(database, [insert(1)]))
            await until(lambda: "COMMIT" in faults.statements)
            second = group.create_task(ask(database, [insert(2)]))
            await until(lambda: database.stats().waiting == 1)
            go.set()
    assert [type(answer) for answer in first.result() + second.result()] == [StoreBroken] * 2
    assert stored_in(tmp_path) == []


async def test_a_disk_that_is_really_full_is_told_to_the_one_who_filled_it(tmp_path: Path) -> None:
    def fill(conn: sqlite3.Connection) -> None:
        pages = conn.execute("PRAGMA page_count").fetchone()[0]
        conn.execute(f"PRAGMA max_page_count = {pages}")
        try:
            conn.executemany("INSERT INTO probe (k) VALUES (?)", ((n,) for n in range(100, 9000)))
        finally:
            conn.execute("PRAGMA max_page_count = 1000000")

    async with probe_database(tmp_path) as database:
        answers = await ask(database, [insert(1), insert(2, fill), insert(3)])
    assert isinstance(answers[1], StorageFull)
    assert stored_in(tmp_path) == [1, 3]


def fail_commits(faults: Faults, nth: int, code: int, *, is_done: bool) -> None:
    """The nth COMMIT from now on fails, without or after having done its work."""
    left = [nth]

    def fail(conn: sqlite3.Connection, sql: str) -> None:
        if sql == "COMMIT":
            left[0] -= 1
            if left[0] == 0:
                raise sqlite_error(code, "injected")

    if is_done:
        faults.after = fail
    else:
        faults.before = fail


class Deaf:
    """Follows the store in memory, and fails at it."""

    def committed(self, changes: Sequence[Change]) -> None:
        raise ZeroDivisionError


async def test_memory_that_can_not_follow_the_store_ends_the_daemon_and_leaves_nobody_waiting(
    tmp_path: Path,
) -> None:
    def unit(conn: sqlite3.Connection) -> UnitResult[int]:
        return UnitResult(insert(1)(conn).value, (JobChanged(7),))

    async with probe_database(tmp_path) as database, asyncio.timeout(5):
        database.watch(Deaf())
        assert await database.write(unit, lane=WriteLane.REST) == 1
        assert await database.wait_broken() == "Deaf could not follow a commit: ZeroDivisionError"
        with pytest.raises(StoreBroken):
            await database.write(insert(2), lane=WriteLane.REST)
    assert stored_in(tmp_path) == [1]
