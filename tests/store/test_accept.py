"""What a new job, a replay and a merge leave in the store, and what they are told."""

import asyncio
from pathlib import Path

import pytest

from postroom.core.body import Body, Encoding, FileSegment
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.job import Attachment, Copies, OnDuplicate, PathAttachment
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.record import StagedRecord
from postroom.ports.accepting import (
    Accepted,
    JobExpired,
    KeyReused,
    Replayed,
    StagedGone,
    UnknownThread,
)
from postroom.ports.changes import RowsWaiting, StateMoved
from postroom.ports.desk import Actor
from postroom.ports.errors import StorageFull
from postroom.store.sqlite.outbox import Outbox
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.store_host import NOON, outbox_in, rows_in
from support.store_jobs import new_job


MERGE = {"on_duplicate": OnDuplicate.MERGE, "copies": Copies.INDIVIDUAL, "key": "news"}
FILE = FileSegment("aa", 10, Encoding.BASE64)
ATTACHED = Attachment(PathAttachment("/srv/report.pdf"))


class Listener:
    def __init__(self) -> None:
        self.heard: list[object] = []

    def committed(self, changes: object) -> None:
        self.heard += changes  # type: ignore[arg-type]


async def accept(outbox: Outbox, *recipients: str, **more: object) -> Accepted:
    done = await outbox.intake.accept(new_job(outbox.intake, *recipients, **more))  # type: ignore[arg-type]
    assert isinstance(done, Accepted)
    return done


async def test_a_job_is_there_whole_when_accept_returns(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        done = await accept(
            outbox, "alice@example.com", "bob@example.org", metadata=(("run", "7"),)
        )
        job = await outbox.reader.find_job(done.number)
        assert job is not None
        assert [one.recipient for one in job.deliveries] == ["alice@example.com", "bob@example.org"]
        assert {one.state for one in job.deliveries} == {DeliveryState.PENDING}
        assert "text" not in job.spec
        first = await outbox.reader.find_delivery(job.deliveries[0].number)
        assert first is not None
        assert [(row.before, row.after, row.by) for row in first.history] == [
            (None, DeliveryState.PENDING, "uid:1000")
        ]
        raw = await outbox.reader.find_raw(first.number)
        assert raw is not None
        body = await outbox.reader.find_body(raw.body_number)
        assert body is not None
        assert body.segments == (b"Content-Type: text/plain\r\n\r\nHello\r\n",)


async def test_memory_hears_what_waits_where(tmp_path: Path) -> None:
    listener = Listener()
    async with outbox_in(tmp_path) as outbox:
        outbox.database.watch(listener)
        await accept(
            outbox, "a@example.com", "b@example.com", "c@example.org", lane=Lane.HIGH, due_at=NOON
        )
    assert listener.heard == [
        RowsWaiting("support", Lane.HIGH, NOON, "example.com"),
        RowsWaiting("support", Lane.HIGH, NOON, "example.org"),
        StateMoved("support", Lane.HIGH, None, DeliveryState.PENDING, None, 3),
    ]


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


async def test_one_conversation_is_one_thread_and_with_individual_copies_one_for_each_recipient(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        one = await accept(outbox, "a@x.example", "b@x.example", conversation_id="c")
        two = await accept(outbox, "b@x.example", conversation_id="c")
        elsewhere = await accept(outbox, "a@x.example", conversation_id="c", mailbox_id="sales")
        assert len({d.thread_number for d in (*one.deliveries, *two.deliveries)}) == 1
        assert elsewhere.deliveries[0].thread_number != one.deliveries[0].thread_number
        own = {"conversation_id": "c", "copies": Copies.INDIVIDUAL}
        first = await accept(outbox, "a@x.example", "b@x.example", **own)
        second = await accept(outbox, "B@x.example", **own)
        a, b = (d.thread_number for d in first.deliveries)
        assert a != b
        assert second.deliveries[0].thread_number == b


async def test_a_thread_is_continued_and_one_of_another_mailbox_is_unknown(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        first = await accept(outbox)
        thread = first.deliveries[0].thread_number
        second = await accept(outbox, thread_number=thread)
        assert second.deliveries[0].thread_number == thread
        other = new_job(outbox.intake, mailbox_id="sales", thread_number=thread)
        assert await outbox.intake.accept(other) == UnknownThread()


async def test_a_suppressed_recipient_fails_at_once_and_the_others_go(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.admin.suppress(None, "Gone@x.example", "bounced", Actor(0), NOON)
        done = await accept(outbox, "gone@x.example", "here@x.example")
        assert [(d.state, d.reason_code) for d in done.deliveries] == [
            (DeliveryState.FAILED, ReasonCode.RECIPIENT_SUPPRESSED),
            (DeliveryState.PENDING, None),
        ]
        events = await outbox.reader.find_events(0, 10)
        assert [event.type for event in events] == ["delivery.failed"]
        alone = await accept(outbox, "gone@x.example")
        status = rows_in(tmp_path, "SELECT settled_status FROM job WHERE number = ?", alone.number)
        assert status == [("failed",)]


async def test_a_spool_file_is_named_or_the_job_is_told_to_stage_again(tmp_path: Path) -> None:
    body = Body((b"head\r\n", FILE, FILE, b"tail\r\n"), 99)
    count = "SELECT sha256, refs FROM spool_file"
    async with outbox_in(tmp_path, spool=frozenset({"aa"})) as outbox:
        for refs in (1, 2):
            await accept(outbox, body=body, attachments=(ATTACHED,), digests=("aa",))
            assert rows_in(tmp_path, count) == [("aa", refs)]
        missing = Body((FileSegment("bb", 1, Encoding.NONE),), 1)
        job = new_job(outbox.intake, key="k", body=missing)
        assert await outbox.intake.accept(job) == StagedGone("bb")
        pinned = Body((FileSegment("bb", 1, Encoding.NONE, path="/srv/x"),), 1)
        await accept(outbox, body=pinned)
        assert rows_in(tmp_path, count) == [("aa", 2)]
        assert (await outbox.intake.find_key("support", job.key_hash or b"")) is None


async def test_a_file_that_is_being_removed_is_not_named_any_more(tmp_path: Path) -> None:
    def doom(conn):  # type: ignore[no-untyped-def]
        conn.execute("UPDATE spool_file SET doomed_at = 1")
        return UnitResult(None)

    async with outbox_in(tmp_path, spool=frozenset({"aa"})) as outbox:
        await accept(outbox, body=Body((FILE,), 10))
        await outbox.database.write(doom, lane=WriteLane.REST)
        again = new_job(outbox.intake, body=Body((FILE,), 10))
        assert await outbox.intake.accept(again) == StagedGone("aa")


async def test_a_staged_upload_that_is_used_is_counted_and_one_that_is_gone_is_said(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path, spool=frozenset({"aa"})) as outbox:
        staged = StagedRecord("att_1", "aa", 10, "a.pdf", "application/pdf", NOON)
        await outbox.admin.stage(staged, 1000)
        await accept(outbox, body=Body((FILE,), 10), staged_refs=("att_1",))
        assert rows_in(tmp_path, "SELECT uses FROM staged") == [(1,)]
        gone = new_job(outbox.intake, staged_refs=("att_2",))
        assert await outbox.intake.accept(gone) == StagedGone("att_2")


async def test_below_the_reserve_no_job_is_stored_but_what_is_under_way_is(tmp_path: Path) -> None:
    free = [1 << 40]
    async with outbox_in(tmp_path, free=lambda directory: free[0]) as outbox:
        first = await accept(outbox)
        free[0] = 1000
        outbox.space.drop_ballast()
        with pytest.raises(StorageFull, match="1000 bytes are free"):
            await accept(outbox)
        assert await outbox.admin.cancel_job(first.number, Actor(0), NOON)


async def test_numbers_go_on_after_a_restart_also_where_rows_were_taken(tmp_path: Path) -> None:
    def take(conn):  # type: ignore[no-untyped-def]
        conn.execute("DELETE FROM history")
        conn.execute("DELETE FROM delivery")
        conn.execute("DELETE FROM job")
        return UnitResult(None)

    async with outbox_in(tmp_path) as outbox:
        await accept(outbox, "a@x.example", "b@x.example")
        await outbox.database.write(take, lane=WriteLane.REST)
    async with outbox_in(tmp_path) as outbox:
        assert outbox.intake.reserve(1, 1, 1) == (2, 3, 2)


async def test_what_never_was_committed_is_not_there(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        bad = new_job(outbox.intake, due_at=Instant(1 << 80))
        with pytest.raises(OverflowError):
            await outbox.intake.accept(bad)
    for table in ("job", "delivery", "body", "thread", "history"):
        assert rows_in(tmp_path, f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608
