"""A store of an older version, with mail that waits and a history, is upgraded at the start and goes on sending.

The other way, an older version refuses what a newer one wrote, and leaves it as it is.
"""

import asyncio
import os
import shutil
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from postroom.core.ids import Kind, encode_id
from postroom.selftest.nursery import Nursery
from postroom.store.sqlite.migrate import shipped
from support.house import house_in
from support.inward import SUPPORT, came_in, free_port, listening_at, mail, mail_to, reply_to
from support.old_store import BOOT, FIRST, STORIES, kill_store, make_old, write_store
from support.real_daemon import POSTROOM, SOURCE, env
from support.relay import ScriptedRelay
from support.store_host import rows_in


OLDER = range(1, len(shipped()))
WAITING = dict.fromkeys(OLDER, 20) | {1: 1_000}  # the whole way with a full queue


@pytest.mark.parametrize("version", OLDER)
async def test_mail_that_waited_in_an_older_store_goes_out_and_is_answered(
    version: int, tmp_path: Path, nursery: Nursery
) -> None:
    port = free_port()
    await write_store(tmp_path, waiting=1)
    make_old(tmp_path / "state" / "postroom.db", version)
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery, more=listening_at(port)) as house,
    ):
        await house.start(boot_id=BOOT)
        assert (tmp_path / "state" / f"postroom.db.v{version}").exists()
        sent, waited = (encode_id(Kind.JOB, number) for number in (1, len(STORIES) + 1))
        assert await house.settled(waited) == {"waits0@example.com": "sent"}
        assert await house.states(sent) == {f"{FIRST}@example.com": "sent"}
        (found,) = (await house.deliveries(sent)).values()
        assert (found["feedback"], found["attempts"]) == ("none", 1)
        assert [row["to"] for row in found["history"]] == ["pending", "sending", "sent"]

        who = "waits0@example.com"
        ids = {"In-Reply-To": (await house.deliveries(waited))[who]["message_id"]}
        content = mail("Thanks.", From=who, To=SUPPORT, Subject="Another subject", **ids)
        assert (await mail_to(port, content, SUPPORT, sender=who)).startswith("250")
        (event,) = await came_in(house)
        assert event["thread"]["matched_by"] == "in_reply_to"
        assert event["answers"]["job_id"] == waited
        assert event["authentication"]["signals"]["first_time_sender"] is False
        new = await house.post(to=["new@example.com"])
        assert await house.settled(new["id"]) == {"new@example.com": "sent"}
        assert reply_to(relay.transactions[-1]).startswith("support-r-")


@pytest.mark.parametrize("version", OLDER)
async def test_a_full_queue_of_an_older_store_loses_nothing_and_sends_nothing_twice(
    version: int, tmp_path: Path, nursery: Nursery
) -> None:
    waiting = [f"waits{one}@example.com" for one in range(WAITING[version])]
    await write_store(tmp_path, len(waiting))
    make_old(tmp_path / "state" / "postroom.db", version)
    goes_out = [*waiting, *(f"{one}@example.com" for one in ("retry_scheduled", "started"))]
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery) as house,
    ):
        pid = await house.start(boot_id=BOOT)
        await house.until(lambda: len(relay.transactions) >= len(goes_out), timeout_s=50)
        assert await house.stop(pid) == 0
    assert Counter(who for one in relay.transactions for who in one.recipients) == Counter(goes_out)
    assert dict(rows_in(tmp_path, "SELECT recipient, state FROM delivery")) == {
        **{f"{name}@example.com": state for name, state in STORIES.items()},
        **dict.fromkeys(waiting, "sent"),
    }
    with closing(sqlite3.connect(tmp_path / "state" / f"postroom.db.v{version}")) as copy:
        assert copy.execute("SELECT count(*) FROM delivery WHERE state = 'pending'").fetchone() == (
            len(waiting),
        )


@pytest.mark.parametrize("is_killed", [False, True], ids=["after a stop", "after a kill"])
async def test_an_older_version_refuses_a_newer_store_and_leaves_it_as_it_is(
    tmp_path: Path, nursery: Nursery, *, is_killed: bool
) -> None:
    await write_store(tmp_path, waiting=3)
    if is_killed:
        await kill_store(tmp_path)
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery) as house,
    ):
        before = _everything_in(tmp_path / "state")
        code, said = await asyncio.to_thread(_older, tmp_path, "run")
        assert code == os.EX_CONFIG, said
        assert f"was written by a later postroom (its version is {len(shipped())}" in said
        assert "install that one again, or put the copy from before its upgrade in place" in said
        assert relay.connections == []
        assert _everything_in(tmp_path / "state") == before
        await house.start(boot_id=BOOT)
        for one in range(3 + is_killed):
            job = encode_id(Kind.JOB, len(STORIES) + 1 + one)
            assert set((await house.settled(job)).values()) == {"sent"}


async def test_who_goes_back_to_an_older_version_restores_what_was_saved_before(
    tmp_path: Path, nursery: Nursery
) -> None:
    await write_store(tmp_path, waiting=3)
    make_old(tmp_path / "state" / "postroom.db", OLDER[-1])
    backup = str(tmp_path / "before.tar")
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery) as house,
    ):
        code, said = await asyncio.to_thread(_older, tmp_path, "backup", backup)
        assert code == 0, said
        pid = await house.start(boot_id=BOOT)
        last = encode_id(Kind.JOB, len(STORIES) + 3)
        assert await house.settled(last) == {"waits2@example.com": "sent"}
        assert await house.stop(pid) == 0
        code, said = await asyncio.to_thread(_older, tmp_path, "restore", backup, "--replace")
        assert code == 0, said
    assert rows_in(tmp_path, "PRAGMA user_version") == [(OLDER[-1],)]
    assert rows_in(tmp_path, "SELECT is_backup FROM instance") == [(1,)]
    waits = "SELECT count(*) FROM delivery WHERE state = 'pending'"
    assert rows_in(tmp_path, waits) == [(3,)]


def _older(folder: Path, *words: str) -> tuple[int, str]:
    """The program as it was before it had the last migration: how it ends, and what it says."""
    older = folder / "older"
    if not older.exists():
        shutil.copytree(SOURCE, older, ignore=shutil.ignore_patterns("__pycache__"))
        max((older / "postroom/store/sqlite/migrations").glob("*.sql")).unlink()
    done = subprocess.run(
        [*POSTROOM, *words, "--config", str(folder / "postroom.toml")],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env=env(PYTHONPATH=str(older)),
    )
    return done.returncode, done.stdout + done.stderr


def _everything_in(state: Path) -> tuple[set[str], list[str]]:
    """The files that hold mail, and every row of the database with its log."""
    files = {one.name for one in state.iterdir() if not one.name.endswith(("-wal", "-shm"))}
    with closing(sqlite3.connect(f"file:{state / 'postroom.db'}?mode=ro", uri=True)) as conn:
        version = conn.execute("PRAGMA user_version").fetchone()
        return files | {f"version {version}"}, list(conn.iterdump())
