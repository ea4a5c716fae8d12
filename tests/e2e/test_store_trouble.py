"""A disk that is full or fails: nothing is accepted that is not stored, and what a relay answered is not forgotten."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import aiohttp
import pytest

from postroom.core.delivery import DeliveryState
from postroom.selftest.nursery import Nursery
from postroom.store.sqlite import accept_unit, loop_finish, loop_start
from support.house import house_in
from support.post import FREE, open_post, setting, settings
from support.relay import ScriptedRelay
from support.relay_script import Default, Hold
from support.store_host import Faults, sqlite_error


WHO = "a@one.example"
JOB = {
    "mailbox_id": "support",
    "to": [WHO],
    "subject": "s",
    "text": "t",
    "idempotency_key": "k",
}


class Disk:
    """A disk that fails at one statement while `is_failing`."""

    def __init__(self, sql: str, fail: Callable[[sqlite3.Connection], None]) -> None:
        self.faults = Faults(before=self._judge)
        self.is_failing = False
        self.failures = 0
        self._sql = sql
        self._fail = fail

    def _judge(self, conn: sqlite3.Connection, sql: str) -> None:
        if self.is_failing and sql == self._sql:
            self.failures += 1
            self._fail(conn)


def full(conn: sqlite3.Connection) -> None:
    """As SQLite does it: the whole transaction goes."""
    conn.rollback()
    raise sqlite_error(sqlite3.SQLITE_FULL, "database or disk is full")


def busy(conn: sqlite3.Connection) -> None:
    raise sqlite_error(sqlite3.SQLITE_BUSY, "database is locked")


def io_error(conn: sqlite3.Connection) -> None:
    conn.rollback()
    raise sqlite_error(sqlite3.SQLITE_IOERR_WRITE, "disk I/O error")


async def test_below_the_reserve_a_job_is_answered_507_and_taken_when_there_is_room_again(
    tmp_path: Path,
) -> None:
    free = FREE
    path = tmp_path / "api.sock"
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port), store=setting(disk_free=lambda _: free)) as post,
        post.serve(path),
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session,
    ):
        old = await post.submit(to=["old@one.example"], send_at="2025-12-01T07:01:00Z")
        post.clock.advance(2)
        free = 1000
        async with session.post("http://localhost/v1/jobs", json=JOB) as answer:
            assert (answer.status, (await answer.json())["code"]) == (507, "storage_full")
        await post.run(120)
        assert await post.states(old) == {"old@one.example": "sent"}, "what was taken before goes"
        assert not relay.copies(WHO)

        free = FREE
        post.clock.advance(2)
        async with session.post("http://localhost/v1/jobs", json=JOB) as answer:
            assert answer.status == 202
        await post.quiet()
        assert relay.copies(WHO) == 1


@pytest.mark.parametrize(
    ("fail", "status"),
    [(full, 507), (busy, 503), (io_error, 503)],
    ids=["full", "busy", "I/O error"],
)
async def test_what_the_disk_did_not_take_is_not_accepted(
    fail: Callable[[sqlite3.Connection], None], status: int, tmp_path: Path
) -> None:
    disk = Disk(accept_unit._JOB, fail)
    path = tmp_path / "api.sock"
    async with (
        ScriptedRelay() as relay,
        open_post(
            settings(tmp_path, relay.port), store=setting(factory=disk.faults.factory())
        ) as post,
        post.serve(path),
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session,
    ):
        disk.is_failing = True
        async with session.post("http://localhost/v1/jobs", json=JOB) as answer:
            told = await answer.json()
            assert (answer.status, told["retryable"]) == (status, True)
        await post.run(60)
        assert not relay.connections

        disk.is_failing = False
        async with session.post("http://localhost/v1/jobs", json=JOB) as answer:
            told = await answer.json()
            assert (answer.status, told["deduplicated"]) == (202, False)
        await post.quiet()
        assert relay.copies(WHO) == 1


@pytest.mark.parametrize("fail", [full, busy, io_error])
async def test_an_answer_that_can_not_be_stored_is_kept_until_it_is_and_no_new_mark_is_made(
    fail: Callable[[sqlite3.Connection], None], tmp_path: Path
) -> None:
    disk = Disk(loop_finish._FINISH, fail)
    hold = Hold()
    async with (
        ScriptedRelay() as relay,
        open_post(
            settings(tmp_path, relay.port), store=setting(factory=disk.faults.factory())
        ) as post,
    ):
        relay.on("data", hold, Default(), recipient="b@one.example")
        second = await post.submit(to=["b@one.example"])
        await relay.until(lambda: len(relay.transactions) == 1)
        disk.is_failing = True
        first = await post.submit(to=[WHO])
        await post.until(lambda: disk.failures > 0)
        hold.release()
        await post.pass_until(lambda: disk.failures > 10)
        assert (await post.only(first)).state is DeliveryState.SENDING
        waits = await post.only(second)
        assert (waits.state, waits.marked_at) == (DeliveryState.SENDING, None)
        assert relay.copies("b@one.example") == 0, "its content waits for the mark"

        disk.is_failing = False
        post.clock.advance(1)
        await post.quiet()
        assert await post.states(first) == {WHO: "sent"}
        assert await post.states(second) == {"b@one.example": "sent"}
        assert [relay.copies(who) for who in (WHO, "b@one.example")] == [1, 1]


@pytest.mark.parametrize("fail", [full, busy, io_error])
@pytest.mark.parametrize("sql", [loop_start._START, loop_start._MARK], ids=["start", "mark"])
async def test_a_start_or_a_mark_that_can_not_be_stored_is_made_later_and_nothing_is_sent_twice(
    sql: str, fail: Callable[[sqlite3.Connection], None], tmp_path: Path
) -> None:
    disk = Disk(sql, fail)
    async with (
        ScriptedRelay() as relay,
        open_post(
            settings(tmp_path, relay.port), store=setting(factory=disk.faults.factory())
        ) as post,
    ):
        disk.is_failing = True
        job = await post.submit(to=[WHO])
        await post.pass_until(lambda: disk.failures > 3)
        assert not relay.copies(WHO)
        disk.is_failing = False
        await post.pass_until(lambda: relay.copies(WHO) == 1)
        await post.quiet()
        ended = await post.only(job)
        assert (str(ended.state), ended.attempts) == ("sent", 1)
        assert relay.copies(WHO) == 1


def take(*names: str) -> Callable[[Path], None]:
    def act(state: Path) -> None:
        for name in names:
            (state / name).unlink()

    return act


def replace(state: Path) -> None:
    shutil.copy(state / "postroom.db", state / "other")
    (state / "other").rename(state / "postroom.db")


@pytest.mark.parametrize(
    "act",
    [take("postroom.db"), take("postroom.db-wal"), take("lock"), replace, shutil.rmtree],
    ids=["database", "its log", "the lock", "another in its place", "everything"],
)
@pytest.mark.parametrize("then", ["a job", "a question"])
async def test_a_store_taken_away_under_the_daemon_ends_it_with_74_and_nothing_is_accepted(
    act: Callable[[Path], None], then: str, tmp_path: Path, nursery: Nursery
) -> None:
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        pid = await house.start()
        await house.post(to=[WHO], send_at="2099-01-01T00:00:00Z")
        act(tmp_path / "state")
        # Where the daemon's own look comes first, nobody is there to answer.
        with suppress(aiohttp.ClientError):
            if then == "a job":
                status, told = await house.ask("POST", "/jobs", JOB)
                assert (status, told["retryable"]) == (503, True)
            else:
                assert (await house.ask("GET", "/readyz"))[0] == 503
        assert await house.end(pid) == 74
        assert "was deleted or replaced" in house.log
        assert not relay.connections


async def test_while_another_program_holds_the_lock_of_the_database_it_is_not_ready(
    tmp_path: Path,
) -> None:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port)) as post,
    ):
        signals = post.joined.api.signals
        assert (await signals.readiness()).is_ready
        with closing(sqlite3.connect(tmp_path / "state" / "postroom.db", timeout=10)) as other:
            other.isolation_level = None
            other.execute("BEGIN IMMEDIATE")
            assert not (await signals.readiness()).is_ready
            other.execute("ROLLBACK")
        assert (await signals.readiness()).is_ready
