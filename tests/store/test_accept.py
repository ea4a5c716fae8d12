"""What a new job leaves in the store, and what it is told."""

from pathlib import Path

import pytest

from postroom.core.body import Body, Encoding, FileSegment
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.job import Attachment, Copies, PathAttachment
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.record import StagedRecord
from postroom.ports.accepting import StagedGone, UnknownThread
from postroom.ports.changes import RowsWaiting, StateMoved
from postroom.ports.desk import Actor
from postroom.ports.errors import StorageFull
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.store_host import NOON, outbox_in, rows_in
from support.store_jobs import Listener, accept, new_job


FILE = FileSegment("aa", 10, Encoding.BASE64)
ATTACHED = Attachment(PathAttachment("/srv/report.pdf"))


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
