"""What is done now and then, with the real store and spool on a fake clock."""

import asyncio
import errno
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from postroom.core.token import make_key
from postroom.ops.tokenkeys import KeyRing
from postroom.service.housekeeping import Housekeeping
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.clock import breathe
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay


DAY = 86_400


@asynccontextmanager
async def at_work(folder: Path, ring: KeyRing | None = None) -> AsyncIterator[Post]:
    async with ScriptedRelay() as relay, open_post(settings(folder, relay.port), ring=ring) as post:
        keeping = Housekeeping(post.tools, post.outbox, post.joined)
        task = asyncio.get_running_loop().create_task(keeping.run())
        try:
            yield post
        finally:
            if task.done():
                task.result()
            task.cancel()


async def passing(post: Post, is_so: Callable[[], bool]) -> None:
    """Days pass until it is so, sixty at most."""
    for _ in range(60):
        await post.run(DAY)
        for _ in range(30):  # reading and removing happens in threads, on real time
            await breathe()
            if is_so():
                return
    raise AssertionError


async def test_files_that_no_row_names_go_after_a_day_and_named_ones_stay(tmp_path: Path) -> None:
    report = tmp_path / "report.csv"
    report.write_bytes(b"day,sum\n")
    async with at_work(tmp_path) as post:
        orphan = await post.joined.staging.keep_bytes(b"nobody names me")
        job = await post.submit(to=["a@example.com"], attachments=[{"path": str(report)}])
        await post.quiet()
        assert await post.states(job) == {"a@example.com": "sent"}
        spool = tmp_path / "state" / "spool"
        before = {path.name for path in spool.glob("??/*")}
        assert orphan in before
        await post.run(900)
        assert {path.name for path in spool.glob("??/*")} == before
        await passing(post, lambda: not (spool / orphan[:2] / orphan).exists())
        assert {path.name for path in spool.glob("??/*")} == before - {orphan}


async def test_a_clock_that_jumped_ten_years_takes_nothing(tmp_path: Path) -> None:
    async with at_work(tmp_path) as post:
        job = await post.submit(to=["a@example.com"])
        await post.quiet()
        post.clock.jump(10 * 365 * DAY)
        await post.run(900)
        assert "clock.doubted" in post.log.getvalue()
        assert await post.states(job) == {"a@example.com": "sent"}
        for _ in range(
            40
        ):  # it is cut while the writer is idle: one of the next quarters finds it so
            await post.run(900)
            for _ in range(30):
                await breathe()
            if not post.outbox.database.wal_bytes():
                break
        assert post.outbox.database.wal_bytes() == 0, "the log is cut all the same"
        assert post.joined.trust.is_doubted()


async def test_what_outlived_its_time_is_taken_and_told(tmp_path: Path) -> None:
    async with at_work(tmp_path) as post:
        job = await post.submit(to=["a@example.com"], idempotency_key="k")
        await post.quiet()
        await passing(post, lambda: "retention.removed" in post.log.getvalue())
        found = await post.outbox.reader.find_job(job)
        assert found is None or found.is_expired
        assert await post.submit(to=["a@example.com"], idempotency_key="k") == job


async def test_a_key_in_use_is_noted_every_day_so_that_none_is_forgotten_that_signed(
    tmp_path: Path,
) -> None:
    key = make_key(b"k" * 32)
    async with at_work(tmp_path, KeyRing((key,), frozenset())) as post:
        inbox, clock = post.outbox.inbox, post.clock
        assert await inbox.remember_keys((key,), clock.now(), timedelta(days=400)) == ()
        await post.run(60)
        await passing_days(post, 5)
        within = timedelta(days=2)
        assert await inbox.remember_keys((), clock.now(), within) == (key.fingerprint,)


async def passing_days(post: Post, days: int) -> None:
    """So many days, with time for what is done in each."""
    for _ in range(days):
        await post.run(DAY)
        for _ in range(30):
            await breathe()


async def test_files_that_are_not_there_any_more_are_told(tmp_path: Path) -> None:
    report = tmp_path / "report.csv"
    report.write_bytes(b"day,sum\n")
    async with at_work(tmp_path) as post:
        await post.submit(to=["a@example.com"], attachments=[{"path": str(report)}])
        await post.quiet()
        (path,) = (tmp_path / "state" / "spool").glob("??/*")
        await post.run(60)
        assert "spool.missing" not in post.log.getvalue()
        path.unlink()
        await passing(post, lambda: '"event": "spool.missing"' in post.log.getvalue())
        line = next(one for one in post.log.getvalue().splitlines() if "spool.missing" in one)
        assert f'"files": 1, "sha256": "{path.name}"' in line


async def test_a_file_that_is_taken_while_it_is_looked_for_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report.csv"
    report.write_bytes(b"day,sum\n")
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        await post.submit(to=["a@example.com"], attachments=[{"path": str(report)}])
        await post.quiet()
        keeping = Housekeeping(post.tools, post.outbox, post.joined)
        find_missing = post.joined.staging.find_missing

        async def find_late(digests: Sequence[str]) -> tuple[str, ...]:
            for path in (tmp_path / "state" / "spool").glob("??/*"):
                path.unlink()
            await post.outbox.database.write(_forget_files, lane=WriteLane.REST)
            return await find_missing(digests)

        monkeypatch.setattr(post.joined.staging, "find_missing", find_late)
        await keeping.look_for_missing()
        assert "spool.missing" not in post.log.getvalue()


@pytest.mark.parametrize("step", ["stat", "listdir", "scandir", "unlink"])
async def test_a_file_that_the_disk_does_not_give_keeps_nothing_else_from_being_done(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report.csv"
    report.write_bytes(b"day,sum\n")
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        await post.submit(to=["a@example.com"], attachments=[{"path": str(report)}])
        await post.quiet()
        (named,) = (tmp_path / "state" / "spool").glob("??/*")
        orphans = [await post.joined.staging.keep_bytes(bytes([n])) for n in range(9)]
        bad = {named.name, orphans[0], orphans[0][:2]}
        call = getattr(os, step)

        def broken(path: object, *given: Any, **named: Any) -> Any:
            if isinstance(path, str | os.PathLike) and Path(path).name in bad:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return call(path, *given, **named)

        monkeypatch.setattr(os, step, broken)
        post.clock.advance(2 * DAY)
        keeping = Housekeeping(post.tools, post.outbox, post.joined)
        await keeping._once()
        monkeypatch.undo()
        left = set(orphans) - set(await post.joined.staging.find_missing(orphans))
        assert left <= {orphans[0], *(one for one in orphans if one[:2] == orphans[0][:2])}
        assert post.outbox.database.wal_bytes() == 0, "what came after it was done, too"


def _forget_files(conn: sqlite3.Connection) -> UnitResult[None]:
    conn.execute("UPDATE spool_file SET refs = 0, doomed_at = 1")
    return UnitResult(None)
