"""Damage that is found at the start, and what is taken away under a store that is open."""

from pathlib import Path

import pytest

from postroom.core.instant import SECOND
from postroom.ports.errors import StateRefused, StoreBroken
from support.clock import HandClock
from support.store_host import NOON, change, open_once, outbox_in, rows_in
from support.store_jobs import new_job


async def test_damage_is_found_after_an_unclean_stop(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        for _ in range(200):
            await outbox.intake.accept(new_job(outbox.intake))
    change(tmp_path, "UPDATE instance SET clean_stop = 0")
    path = tmp_path / "state" / "postroom.db"
    (root,) = rows_in(tmp_path, "SELECT rootpage FROM sqlite_master WHERE name = 'delivery'")
    data = bytearray(path.read_bytes())
    start = (int(str(root[0])) - 1) * 4096
    data[start + 8 : start + 2000] = b"\xff" * 1992
    path.write_bytes(data)
    with pytest.raises(StoreBroken):
        await open_once(tmp_path)


class HastyClock(HandClock):
    """Two seconds pass whenever somebody looks."""

    def monotonic(self) -> int:
        self.move(2 * SECOND)
        return super().monotonic()


async def test_a_store_too_large_to_check_in_time_is_opened_with_a_warning(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        for _ in range(40):
            recipients = [f"user{n}@x.example" for n in range(50)]
            await outbox.intake.accept(new_job(outbox.intake, *recipients))
    change(tmp_path, "UPDATE instance SET clean_stop = 0")
    async with outbox_in(tmp_path, HastyClock(NOON)) as outbox:
        assert any("only a part of it was checked" in warning for warning in outbox.warnings)


@pytest.mark.parametrize("name", ["postroom.db", "postroom.db-wal", "lock"])
@pytest.mark.parametrize("then", ["gone", "another file"])
async def test_nothing_is_accepted_into_a_store_that_the_next_start_will_not_find(
    tmp_path: Path, name: str, then: str
) -> None:
    lost = tmp_path / "state" / name
    with pytest.raises(StoreBroken, match="the daemon has to end"):  # noqa: PT012
        async with outbox_in(tmp_path) as outbox:
            await outbox.intake.accept(new_job(outbox.intake))
            copy = lost.read_bytes()
            lost.unlink()
            if then == "another file":
                (tmp_path / "other").write_bytes(copy)
                (tmp_path / "other").rename(lost)
            with pytest.raises(StoreBroken, match=f"{name} was deleted or replaced"):
                await outbox.intake.accept(new_job(outbox.intake))
            await outbox.database.wait_broken()


@pytest.mark.parametrize("name", ["postroom.db", "postroom.db-wal", "lock"])
async def test_while_nothing_is_written_the_heartbeat_finds_what_was_taken_away(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(StoreBroken, match="the daemon has to end"):  # noqa: PT012
        async with outbox_in(tmp_path) as outbox:
            await outbox.intake.accept(new_job(outbox.intake))
            assert await outbox.database.probe() == 0
            (tmp_path / "state" / name).unlink()
            with pytest.raises(StoreBroken, match=f"{name} was deleted or replaced"):
                await outbox.database.probe()
            await outbox.database.wait_broken()


@pytest.mark.parametrize("left", ["no file", "an empty file"])
async def test_a_log_without_its_database_is_never_emptied(tmp_path: Path, left: str) -> None:
    state = tmp_path / "state"
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        log = (state / "postroom.db-wal").read_bytes()
    (state / "postroom.db-wal").write_bytes(log)
    (state / "postroom.db").unlink()
    if left == "an empty file":
        (state / "postroom.db").touch()
    with pytest.raises(StateRefused, match="put the file back"):
        await open_once(tmp_path)
    assert (state / "postroom.db-wal").read_bytes() == log
    (state / "postroom.db-wal").unlink()
    await open_once(tmp_path)
