"""A full disk: outcomes get the room of the ballast, and a stop is a clean one."""

import sqlite3
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.ports.errors import StorageFull
from support.store_host import Faults, outbox_in, sqlite_error
from support.store_jobs import new_job, outcome_of, start_of


async def test_an_outcome_that_finds_the_disk_full_gets_the_room_of_the_ballast(
    tmp_path: Path,
) -> None:
    ballast, faults = tmp_path / "state" / "ballast", Faults()

    def full(conn: sqlite3.Connection, sql: str) -> None:
        if sql == "COMMIT" and ballast.exists():
            raise sqlite_error(sqlite3.SQLITE_FULL, "database or disk is full")

    async with outbox_in(tmp_path, faults=faults) as outbox:
        assert ballast.stat().st_size == 16 * 1024 * 1024
        await outbox.intake.accept(new_job(outbox.intake))
        await outbox.loop.start(start_of(1))
        faults.before = full
        with pytest.raises(StorageFull):
            await outbox.loop.finish(outcome_of(1, 1, DeliveryState.SENT))
        assert not ballast.exists()
        again = await outbox.loop.finish(outcome_of(1, 1, DeliveryState.SENT))
        assert again is DeliveryState.SENT
        faults.before = Faults().before
        await outbox.keep()
        assert ballast.exists()


async def test_a_stop_on_a_full_disk_is_a_clean_stop(tmp_path: Path) -> None:
    ballast, faults = tmp_path / "state" / "ballast", Faults()

    def full(conn: sqlite3.Connection, sql: str) -> None:
        if sql == "COMMIT" and ballast.exists():
            raise sqlite_error(sqlite3.SQLITE_FULL, "database or disk is full")

    async with outbox_in(tmp_path, faults=faults):
        faults.before = full
    assert not ballast.exists()
    async with outbox_in(tmp_path) as outbox:
        assert outbox.opened.recovered.was_clean_stop
