"""What is old goes: jobs and their keys, events, pauses and slow-downs, each in its time."""

import hashlib
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.body import Body
from postroom.core.delivery import DeliveryState
from postroom.core.instant import MINUTE
from postroom.core.mailbox import Lane
from postroom.core.retention import Retention
from postroom.ops.depth import Depth
from postroom.ports.desk import DeliveryFilter, JobFilter
from postroom.store.sqlite.reader import SqliteReader
from postroom.store.sqlite.retention import Taken
from postroom.store.sqlite.retention_jobs import Closing
from postroom.store.sqlite.unit import WriteLane
from support.aging import NOTHING, after, retention, sql
from support.desk_store import ANN, DAY, NOW, admin_of, database, put


S = DeliveryState


@pytest.mark.parametrize(
    ("states", "kept_days"),
    [
        pytest.param([S.SENT], 30, id="sent"),
        pytest.param([S.CANCELLED, S.SKIPPED], 30, id="cancelled"),
        pytest.param([S.FAILED], 90, id="failed"),
        pytest.param([S.SENT, S.FAILED], 90, id="partly failed"),
        pytest.param([S.UNCERTAIN], None, id="in doubt"),
        pytest.param([S.SENT, S.UNCERTAIN], None, id="partly in doubt"),
        pytest.param([S.FAILED, S.UNCERTAIN], None, id="failed, partly in doubt"),
        pytest.param([S.PENDING, S.SENT], None, id="not settled"),
        pytest.param([S.HELD], None, id="held"),
    ],
)
async def test_a_job_goes_when_its_time_is_over(
    tmp_path: Path, states: list[S], kept_days: int | None
) -> None:
    async with database(tmp_path) as opened:
        await put(opened, *states, keyed=True)
        still_there = 10_000 if kept_days is None else kept_days
        assert (await retention(opened).run(after(still_there))).jobs == 0
        assert (await retention(opened).run(after(still_there + 0.1))).jobs == (
            kept_days is not None
        )
        job = await SqliteReader(opened).find_job(1)
        assert job is not None
        assert job.is_expired == (kept_days is not None)


async def test_a_job_with_a_key_leaves_a_tombstone(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        reader = SqliteReader(opened)
        (number,) = await put(opened, S.SENT, keyed=True)
        whole = await reader.find_delivery(number)
        assert whole is not None
        await retention(opened).run(after(31))
        job = await reader.find_job(1)
        assert job is not None
        assert (job.number, job.mailbox_id, job.created_at) == (1, "support", NOW)
        assert (job.is_expired, job.final_status, job.deliveries) == (True, "completed", ())
        assert (await reader.find_jobs(JobFilter(), None, 9)).items == ()
        assert (await reader.find_deliveries(DeliveryFilter(), None, 9)).items == ()
        assert await reader.find_delivery(number) is None
        assert await reader.find_raw(number) is None
        assert await reader.find_body(1) is None
        assert await sql(opened, "SELECT * FROM delivery_tombstone") == [
            (
                number,
                1,
                "support",
                whole.thread_number,
                hashlib.sha256(b"user@example.com").digest(),
                whole.message_id,
                "sent",
                NOW,
            )
        ]
        for table in ("job", "delivery", "history", "body"):
            assert await sql(opened, f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608
        assert await sql(opened, "SELECT count(*) FROM thread") == [(1,)]


async def test_a_job_whose_key_we_minted_leaves_none(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        await put(opened, S.SENT)
        minted = "INSERT OR IGNORE INTO idempotency (mailbox_id, key_hash, recipient_hash, job, request_hash, hash_version, minted) VALUES ('support', x'01', x'', 1, x'02', 1, 1)"
        await sql(opened, minted)
        await retention(opened).run(after(31))
        assert await SqliteReader(opened).find_job(1) is None
        assert await sql(opened, "SELECT count(*) FROM idempotency") == [(0,)]


async def test_large_jobs_and_many_go_in_small_bites_and_depth_follows(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        reader = SqliteReader(opened)
        await put(opened, *[S.SENT] * 400, keyed=True)
        for _ in range(250):
            await put(opened, S.SENT)
        await put(opened, S.PENDING)
        depth = Depth(await reader.count_by_state())
        opened.watch(depth)
        assert await retention(opened).run(after(31)) == Taken(251, 0, 0, 0, 0)
        assert depth.counts() == {("support", Lane.STANDARD, S.PENDING): 1}
        assert depth.counts() == await reader.count_by_state()
        assert await retention(opened).run(after(31)) == NOTHING


async def test_a_job_that_a_crash_left_half_removed_goes_in_the_next_run(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        (number, _) = await put(opened, S.FAILED, S.SENT, keyed=True)
        await opened.write(Closing((1,), "partial", after(91)), lane=WriteLane.REST)
        job = await SqliteReader(opened).find_job(1)
        assert job is not None
        assert job.is_expired
        assert await admin_of(opened).retry(number, ANN, NOW) is None
        assert await admin_of(opened).cancel_job(1, ANN, NOW) is None
        assert (await retention(opened).run(after(0))).jobs == 1
        assert await sql(opened, "SELECT count(*) FROM delivery") == [(0,)]


async def test_a_job_redriven_meanwhile_stays(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        (number,) = await put(opened, S.FAILED)
        await admin_of(opened).retry(number, ANN, after(91))
        closed = await opened.write(Closing((1,), "failed", after(91)), lane=WriteLane.REST)
        assert closed == ()


async def test_a_body_stays_while_another_job_has_it(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        await put(opened, S.SENT)
        await put(opened, S.PENDING)
        await sql(opened, "UPDATE job SET body = 1")
        await retention(opened).run(after(31))
        assert await SqliteReader(opened).find_body(1) == Body((b"Hi",), 2)


async def test_old_events_and_old_minutes_go(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        for moment in (NOW, NOW + DAY):
            await sql(
                opened,
                "INSERT INTO event (type, mailbox_id, created_at, data) VALUES ('delivery.sent', 's', ?, '{}')",
                moment,
            )
        minute = NOW // MINUTE
        for past in (0, 24 * 60, 24 * 60 + 1, 24 * 60 + 2):
            await sql(
                opened, "INSERT INTO pace_bucket VALUES ('m:support', ?, 1, 1)", minute - past
            )
        assert await retention(opened).run(NOW) == Taken(0, 0, 0, 0, 1)
        assert await retention(opened).run(after(30.5)) == Taken(0, 1, 0, 0, 3)
        assert await SqliteReader(opened).event_span() == ("log", 2, 2)


async def test_pauses_of_domains_that_are_long_over_go(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        for domain, until in (("over.example", NOW), ("paused.example", NOW + 3 * DAY)):
            await sql(
                opened,
                "INSERT INTO domain_pause VALUES ('support', ?, ?, 'domain.deferred')",
                domain,
                until,
            )
        assert await retention(opened).run(after(1)) == NOTHING
        assert await retention(opened).run(after(1.1)) == Taken(0, 0, 0, 0, 1)
        assert await retention(opened).run(after(2)) == NOTHING


async def test_slow_downs_that_nobody_complained_of_for_a_day_go(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        for domain, told_at in (("", NOW), ("slow.example", NOW + 3 * DAY)):
            await sql(
                opened,
                "INSERT INTO slowing VALUES ('main', ?, 'rate.limited', 20, 4, 0.5, 0, ?)",
                domain,
                told_at,
            )
        assert await retention(opened).run(after(1)) == NOTHING
        assert await retention(opened).run(after(1.1)) == Taken(0, 0, 0, 0, 1)
        assert await retention(opened).run(after(2)) == NOTHING


def test_the_defaults_are_those_of_the_contract() -> None:
    assert Retention() == Retention(
        sent=timedelta(days=30),
        failed=timedelta(days=90),
        events=timedelta(days=30),
        staged=timedelta(days=1),
    )
