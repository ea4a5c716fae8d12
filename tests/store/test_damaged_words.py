"""Words and numbers of ours that a disk made others of: shown as far as they go, and nobody else waits for them."""

from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.mailbox import Lane
from postroom.ports.desk import Actor, DeliveryFilter, JobFilter
from postroom.ports.looping import Started
from postroom.store.sqlite.unit import WriteLane
from support.damaging import damage
from support.store_host import NOON, change, outbox_in, rows_in
from support.store_jobs import new_job, outcome_of, start_of, under_way


WORDS = (
    "delivery SET lane = 9",
    "delivery SET state = 'x'",
    "delivery SET evidence = 'x'",
    "job SET lane = 9",
    "job SET copies = 'x'",
    "history SET after = 'x'",
)


@pytest.mark.parametrize("word", WORDS)
async def test_a_daemon_starts_shows_all_and_sends_what_is_whole(tmp_path: Path, word: str) -> None:
    async with outbox_in(tmp_path) as outbox:
        for _ in range(2):
            await outbox.intake.accept(new_job(outbox.intake))
    change(tmp_path, f"UPDATE {word} WHERE number = 1")
    async with outbox_in(tmp_path) as outbox:
        reader = outbox.reader
        assert ("support", Lane.STANDARD, DeliveryState.PENDING) in await reader.count_by_state()
        assert await outbox.loop.find_mailbox_queues() == (("support", Lane.STANDARD),)
        jobs = await reader.find_jobs(JobFilter(), cursor=None, limit=9)
        page = await reader.find_deliveries(DeliveryFilter(), cursor=None, limit=9)
        assert (len(jobs.items), len(page.items)) == (2, 2)
        assert await reader.find_delivery(1) is not None
        assert isinstance(await outbox.loop.start(start_of(2)), Started)


async def test_one_whose_state_can_not_be_read_is_held_and_its_job_goes_on(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake, "a@x.example", "b@x.example"))
        spoil = damage("UPDATE delivery SET state = 'x' WHERE number = 1")
        await outbox.database.write(spoil, lane=WriteLane.REST)
        started = await outbox.loop.start(start_of(2))
        assert isinstance(started, Started)
        await outbox.loop.mark(2, started.claim, NOON)
        sent = outcome_of(2, started.claim, DeliveryState.SENT)
        assert await outbox.loop.finish(sent) is DeliveryState.SENT
        found = await outbox.reader.find_delivery(1)
        assert found is not None
        assert found.state is DeliveryState.HELD
        await outbox.admin.release(1, Actor(0), NOON)
        assert isinstance(await outbox.loop.start(start_of(1)), Started)


async def test_what_was_evidenced_is_sent_though_by_what_can_not_be_read(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        started = await under_way(outbox)
        await outbox.loop.mark(1, started.claim, NOON)
    change(tmp_path, "UPDATE delivery SET evidence = 'x'")
    async with outbox_in(tmp_path):
        assert rows_in(tmp_path, "SELECT state FROM delivery") == [("sent",)]


async def test_a_hold_of_no_kind_ends_with_the_others_of_its_loop(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        for scope in ("x", "thread"):
            row = f"('support', '{scope}', '1', 1, 1, 'p@x.example', 'velocity_thread', {NOON}, 0, NULL, 0)"
            spoil = damage(f"INSERT INTO hold VALUES {row}")  # noqa: S608
            await outbox.database.write(spoil, lane=WriteLane.REST)
        assert await outbox.admin.resume_thread(1, Actor(0), NOON)
    assert rows_in(tmp_path, "SELECT count(*) FROM hold") == [(0,)]


@pytest.mark.parametrize("column", ["CAST(x'ff' AS TEXT)", "'{'"])
async def test_a_condition_that_can_not_be_read_spoils_no_explanation(
    tmp_path: Path, column: str
) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        spoil = damage(f"UPDATE delivery SET if_json = {column}")  # noqa: S608
        await outbox.database.write(spoil, lane=WriteLane.REST)
        assert await outbox.reader.find_standing(1) is None
