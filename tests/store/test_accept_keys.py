"""A key that comes again: replays and merges, what each leaves in the store, and what it is told."""

import asyncio
from pathlib import Path

import pytest

from postroom.core.job import Attachment, Copies, OnDuplicate, PathAttachment
from postroom.ports.accepting import Accepted, JobExpired, KeyReused, Replayed
from postroom.ports.desk import Actor
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.store_host import NOON, outbox_in, rows_in
from support.store_jobs import accept, new_job


MERGE = {"on_duplicate": OnDuplicate.MERGE, "copies": Copies.INDIVIDUAL, "key": "news"}
ATTACHED = Attachment(PathAttachment("/srv/report.pdf"))


async def test_fifty_at_once_under_one_key_make_one_job(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(outbox.intake.accept(new_job(outbox.intake, key="k")))
                for _ in range(50)
            ]
        answers = [task.result() for task in tasks]
    accepted = [answer for answer in answers if isinstance(answer, Accepted)]
    assert len(accepted) == 1
    assert answers.count(Replayed(accepted[0].number, is_expired=False)) == 49
    assert rows_in(tmp_path, "SELECT count(*) FROM job") == [(1,)]


async def test_a_client_that_went_away_finds_its_job_again_by_its_key(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox, asyncio.TaskGroup() as group:
        task = group.create_task(outbox.intake.accept(new_job(outbox.intake, key="k")))
        await asyncio.get_running_loop().run_in_executor(None, int)
        task.cancel()
    async with outbox_in(tmp_path) as outbox:
        again = await outbox.intake.accept(new_job(outbox.intake, key="k"))
    assert again == Replayed(1, is_expired=False)


@pytest.mark.parametrize(
    ("before", "now", "is_same"),
    [
        (("d1",), ("d1",), True),
        (("d1",), ("d2",), False),
        (("d1",), (None,), True),
        ((None,), ("d2",), True),
    ],
    ids=["same bytes", "other bytes", "gone now", "was unreadable"],
)
async def test_a_replay_compares_the_bytes_of_attachments_as_far_as_they_can_be_read(
    tmp_path: Path, before: tuple[str | None, ...], now: tuple[str | None, ...], *, is_same: bool
) -> None:
    async with outbox_in(tmp_path) as outbox:
        first = await accept(outbox, key="k", attachments=(ATTACHED,), digests=before)
        twin = new_job(outbox.intake, key="k", attachments=(ATTACHED,), digests=now)
        answer = await outbox.intake.accept(twin)
        known = await outbox.intake.find_key("support", twin.key_hash or b"")
        assert answer == (
            Replayed(first.number, is_expired=False) if is_same else KeyReused(first.number)
        )
        assert known is not None
        assert known.attachments == (({"path": "/srv/0"}, before[0]),)


async def test_another_job_under_a_known_key_is_refused_and_in_another_mailbox_it_is_new(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        first = await accept(outbox, key="k")
        other = await outbox.intake.accept(new_job(outbox.intake, key="k", request="another"))
        elsewhere = await outbox.intake.accept(new_job(outbox.intake, key="k", mailbox_id="sales"))
    assert other == KeyReused(first.number)
    assert isinstance(elsewhere, Accepted)


async def test_a_merge_adds_only_who_is_new_with_the_first_jobs_content(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        first = await accept(outbox, "a@x.example", "b@x.example", text="first", **MERGE)
        rerun = await accept(outbox, "b@x.example", "c@x.example", text="rerun", **MERGE)
        assert rerun.number == first.number
        assert rerun.already == 1
        assert len(rerun.deliveries) == 1
        raw = await outbox.reader.find_raw(rerun.deliveries[0].number)
        assert raw is not None
        body = await outbox.reader.find_body(raw.body_number)
        assert body is not None
        assert b"first" in bytes(body.segments[0])  # type: ignore[arg-type]
        nobody = await accept(outbox, "a@x.example", "c@x.example", **MERGE)
        assert (nobody.deliveries, nobody.already) == ((), 2)
        other = new_job(outbox.intake, "d@x.example", request="another", **MERGE)  # type: ignore[arg-type]
        assert await outbox.intake.accept(other) == KeyReused(first.number)


async def test_a_merge_after_retention_knows_whom_it_reached(tmp_path: Path) -> None:
    def retain(conn):  # type: ignore[no-untyped-def]
        conn.execute("UPDATE idempotency SET final_status = 'completed'")
        return UnitResult(None)

    async with outbox_in(tmp_path) as outbox:
        first = await accept(outbox, "a@x.example", **MERGE)
        await outbox.database.write(retain, lane=WriteLane.REST)
        same = await outbox.intake.accept(new_job(outbox.intake, "a@x.example", **MERGE))  # type: ignore[arg-type]
        more = await outbox.intake.accept(new_job(outbox.intake, "b@x.example", **MERGE))  # type: ignore[arg-type]
    assert same == Replayed(first.number, is_expired=True)
    assert more == JobExpired(first.number)


async def test_a_merge_opens_a_settled_job_again(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        first = await accept(outbox, "a@x.example", **MERGE)
        await outbox.admin.cancel_job(first.number, Actor(0), NOON)
        assert rows_in(tmp_path, "SELECT settled_status FROM job") == [("cancelled",)]
        await accept(outbox, "b@x.example", **MERGE)
        assert rows_in(tmp_path, "SELECT settled_status, settled_at FROM job") == [(None, None)]
