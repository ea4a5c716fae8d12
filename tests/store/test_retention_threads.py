"""Conversations go when no token that names them can be valid any more, and not while anything names them."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.retention import Retention
from postroom.store.sqlite import retention as module
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.migrate import shipped
from postroom.store.sqlite.retention import SqliteRetention, Taken
from postroom.store.sqlite.retention_threads import DroppingThreads
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.desk_store import DAY, NOW, database, memory, put, put_job, run
from support.store_host import outbox_in, rows_in


S = DeliveryState
KEPT = Retention(answers=timedelta(days=100))
OVER = 108  # and a week, since tokens end with one


async def unlink(sha256: str) -> bool:
    return True


def retention(opened: Database) -> SqliteRetention:
    return SqliteRetention(opened, KEPT, unlink, lambda: True)


def after(days: float) -> Instant:
    return Instant(NOW + int(days * DAY))


async def count(opened: Database, table: str) -> int:
    def unit(conn: sqlite3.Connection) -> UnitResult[int]:
        return UnitResult(conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608

    return await opened.write(unit, lane=WriteLane.REST)


async def act(opened: Database, statement: str) -> None:
    def unit(conn: sqlite3.Connection) -> UnitResult[None]:
        conn.execute(statement)
        return UnitResult(None)

    await opened.write(unit, lane=WriteLane.REST)


async def test_tombstones_and_threads_go_a_week_after_tokens_end_and_keys_stay(
    tmp_path: Path,
) -> None:
    async with database(tmp_path) as opened:
        await put(opened, S.SENT, keyed=True)
        await retention(opened).run(after(31))
        assert (await count(opened, "delivery"), await count(opened, "delivery_tombstone")) == (
            0,
            1,
        )
        await retention(opened).run(after(OVER - 2))
        assert (await count(opened, "delivery_tombstone"), await count(opened, "thread")) == (1, 1)
        assert (await retention(opened).run(after(OVER))).threads == 1
        assert (await count(opened, "delivery_tombstone"), await count(opened, "thread")) == (0, 0)
        assert await count(opened, "idempotency") == 1


NAMES = {
    "an id of a mail": "INSERT INTO message_ref VALUES ('support', x'00', 1, NULL, {late})",
    "an event": "INSERT INTO event (type, mailbox_id, thread, created_at, data) VALUES ('t', 'support', 1, {late}, '')",
    "a mail that is not read yet": "INSERT INTO received_thread VALUES (1, 1)",
    "a count of mails": "INSERT INTO velocity VALUES ('support', 't', 1, 1, {late})",
    "a hold": "INSERT INTO hold VALUES ('support', 'thread', '1', 1, 1, 'p', 'e', 0, 0, NULL, 0)",
}


@pytest.mark.parametrize("statement", NAMES.values(), ids=NAMES.keys())
async def test_a_thread_that_something_names_stays(statement: str, tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        await put(opened, S.SENT)
        await retention(opened).run(after(31))
        await act(opened, statement.format(late=after(OVER)))
        assert (await retention(opened).run(after(OVER))).threads == 0
        assert await count(opened, "thread") == 1


@pytest.mark.parametrize("state", [S.PENDING, S.HELD, S.UNCERTAIN])
async def test_a_thread_stays_with_its_delivery(state: DeliveryState, tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        await put(opened, state)
        await retention(opened).run(after(10_000))
        assert await count(opened, "thread") == 1


async def test_what_consumers_remember_of_a_thread_goes_with_it(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        await put(opened, S.SENT)
        await act(opened, "INSERT INTO consumer VALUES ('default', 0)")
        await act(opened, "INSERT INTO fence VALUES ('default', 1, 7), ('default', 2, 8)")
        await act(opened, "INSERT INTO thread_delay VALUES ('default', 1, 0)")
        await retention(opened).run(after(OVER))
        assert (await count(opened, "fence"), await count(opened, "thread_delay")) == (1, 0)


async def test_a_number_is_never_given_again(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        (first,) = await put(opened, S.SENT)
        await retention(opened).run(after(OVER))
        assert (await count(opened, "thread"), await count(opened, "delivery")) == (0, 0)
        (second,) = await put(opened, S.SENT)
        assert second > first


async def test_a_thread_from_a_clock_that_was_wrong_does_not_keep_those_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK", 2)
    async with database(tmp_path) as opened:
        for _ in range(4):
            await put(opened, S.SENT)
        await act(opened, "UPDATE thread SET created_at = 9000000000000000000 WHERE number = 2")
        assert (await retention(opened).run(after(OVER))).threads == 3


async def test_a_long_walk_goes_on_where_the_last_run_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_THREAD_BITES", 1)
    monkeypatch.setattr(module, "LOOK", 2)
    async with database(tmp_path) as opened:
        for _ in range(5):
            await put(opened, S.SENT)
        await act(opened, "INSERT INTO thread (mailbox_id, created_at) VALUES ('support', 0)")
        await act(
            opened,
            "INSERT INTO event (type, mailbox_id, thread, created_at, data) SELECT 'x', 's', number, 9e18, '{}' FROM thread WHERE number < 3",
        )
        kept = retention(opened)
        taken: list[Taken] = [await kept.run(after(OVER)) for _ in range(4)]
        assert [one.threads for one in taken] == [0, 2, 2, 0], "the first two are named"


def test_a_thread_that_is_named_since_it_was_looked_at_stays() -> None:
    with memory() as conn:
        put_job(conn, S.SENT)
        assert run(conn, DroppingThreads((1,))) == (0, ())
        assert conn.execute("SELECT count(*) FROM thread").fetchone()[0] == 1


async def test_a_tombstone_of_an_older_store_is_as_old_as_its_upgrade(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    path = tmp_path / "state" / "postroom.db"
    with closing(sqlite3.connect(path)) as conn:
        for script in ("PRAGMA journal_mode = WAL", *shipped()[:8]):
            conn.executescript(script)
        conn.executescript("""
            PRAGMA application_id = 1349481332; PRAGMA user_version = 8;
            INSERT INTO delivery_tombstone VALUES (1, 1, 'support', 1, x'00', '<1@example.com>', 'sent')""")
    path.chmod(0o600)
    async with outbox_in(tmp_path):
        pass
    age = "SELECT abs(created_at / 1000000 - strftime('%s', 'now')) < 3600 FROM delivery_tombstone"
    assert rows_in(tmp_path, age) == [(1,)]
