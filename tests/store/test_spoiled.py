"""Documents that are damaged where they are stored: shown as such, and no reason to stop for anybody."""

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.record import DeliveryRecord
from postroom.core.retention import Retention
from postroom.ports.accepting import Accepted
from postroom.ports.arriving import Doubled
from postroom.ports.desk import Actor, DeliveryFilter, JobFilter
from postroom.store.sqlite.retention import SqliteRetention
from postroom.store.sqlite.spoiled import check_spoiled
from postroom.store.sqlite.unit import WriteLane
from support.arrivals import PostOffice, in_mail, token_of
from support.damaging import damage
from support.desk_store import DAY, NOW, Instant, database, put
from support.lease_desk import lease_desk, seqs
from support.store_host import outbox_in, sqlite_error
from support.store_jobs import new_job


async def test_an_event_that_can_not_be_read_is_leased_and_says_so(tmp_path: Path) -> None:
    async with lease_desk(tmp_path) as desk:
        thread = await desk.thread()
        shown = [await desk.event(thread), await desk.event(thread)]
        spoil = damage(f"UPDATE event SET data = '{{' WHERE seq = {shown[0]}")  # noqa: S608
        await desk.outbox.database.write(spoil, lane=WriteLane.REST)
        lease = await desk.one()
        assert seqs(lease) == shown
        assert lease.events[0].data == {"unreadable": True}
        assert "text" in lease.events[1].data
        await desk.complete(lease)
        assert await desk.lease() == ()


async def test_a_thread_whose_metadata_can_not_be_read_is_leased_without_them(
    tmp_path: Path,
) -> None:
    async with lease_desk(tmp_path) as desk:
        thread = await desk.thread()
        await desk.event(thread)
        spoil = damage("UPDATE thread SET metadata = '{'")
        await desk.outbox.database.write(spoil, lane=WriteLane.REST)
        found = await desk.outbox.conversations.find_thread(thread, 9)
        assert found is not None
        assert (await desk.one()).thread.metadata == found.metadata == {}


async def test_an_event_of_a_thread_whose_metadata_can_not_be_read_is_whole_but_for_them(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        office = PostOffice(outbox)
        done = await office.sent(metadata=(("run", "7"),))
        for table in ("job", "thread"):
            spoil = damage(f"UPDATE {table} SET metadata = '{{'")  # noqa: S608
            await outbox.database.write(spoil, lane=WriteLane.REST)
        await office.published(in_mail(), token_of(done.deliveries[0].number))
        await office.sent(thread_number=done.deliveries[0].thread_number)
        sent, came, again = await outbox.reader.find_events(0, 9)
        assert sent.data["metadata"] == {"run": "7"}
        assert came.data["thread"]["metadata"] == again.data["thread"]["metadata"] == {}
        assert came.data["message"]["subject"] == "Re: Report"


async def test_an_event_that_can_not_be_read_stops_no_answer_to_another_of_its_thread(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        office = PostOffice(outbox)
        (delivery,) = (await office.sent()).deliveries
        for subject in ("Re: Report", "Re: Report, again"):
            await office.published(in_mail(subject=subject), token_of(delivery.number))
        _, broken, whole = await outbox.reader.find_events(0, 9)
        spoil = damage(f"UPDATE event SET data = '{{' WHERE seq = {broken.seq}")  # noqa: S608
        await outbox.database.write(spoil, lane=WriteLane.REST)
        found = await outbox.intake.find_answered(whole.seq)
        sent = await outbox.reader.find_delivery(delivery.number)
        assert found is not None
        assert sent is not None
        assert (found.subject, found.chain[0]) == ("Re: Report, again", sent.message_id)
        assert await outbox.intake.find_chain(delivery.thread_number) == found.chain
        other = await outbox.intake.find_answered(broken.seq)
        assert other is not None
        assert (other.kind, other.thread_number) == (None, delivery.thread_number)


async def test_a_second_copy_of_a_mail_whose_event_can_not_be_read_is_taken_as_one(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        office = PostOffice(outbox)
        await office.published(in_mail())
        await outbox.database.write(damage("UPDATE event SET data = '{'"), lane=WriteLane.REST)
        assert isinstance(await office.publish(in_mail()), Doubled)
        assert await outbox.inbox.find_received(0, 9) == ()


async def test_a_job_whose_request_can_not_be_read_is_told_without_it(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        await outbox.database.write(damage("UPDATE job SET spec = '['"), lane=WriteLane.REST)
        found = await outbox.reader.find_job(1)
        assert found is not None
        assert (found.spec, len(found.deliveries)) == ({"unreadable": True}, 1)


async def test_a_delivery_whose_request_can_not_be_read_is_told_without_its_subject(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path) as outbox:
        taken = await outbox.intake.accept(new_job(outbox.intake))
        assert isinstance(taken, Accepted)
        await outbox.database.write(damage("UPDATE job SET spec = '['"), lane=WriteLane.REST)
        (told,) = taken.deliveries
        one = await outbox.reader.find_delivery(told.number)
        (listed,) = (await outbox.reader.find_deliveries(DeliveryFilter("support"), None, 9)).items
        thread = await outbox.conversations.find_thread(told.thread_number, 9)
        assert one is not None
        assert thread is not None
        assert [found.subject for found in (one, listed, *thread.deliveries)] == [None] * 3


async def test_age_takes_a_job_whose_body_can_not_be_read_and_leaves_its_files(
    tmp_path: Path,
) -> None:
    removed: list[str] = []

    async def unlink(sha256: str) -> bool:
        removed.append(sha256)
        return True

    rules = Retention(sent=timedelta(days=30))
    async with database(tmp_path) as opened:
        await put(opened, DeliveryState.SENT, segments="{")
        retention = SqliteRetention(opened, rules, unlink, lambda: True)
        taken = await retention.run(Instant(NOW + 40 * DAY))
    assert (taken.jobs, removed) == (1, [])


@pytest.mark.parametrize(
    "text",
    [
        *(f"delivery SET {one}" for one in ("recipient_key", "message_id", "mailbox_id", "state")),
        *(f"job SET {one}" for one in ("mailbox_id", "trace_id", "settled_status", "spec")),
        "body SET segments",
    ],
)
async def test_age_takes_what_is_whole_whatever_text_of_another_is_damaged(
    tmp_path: Path, text: str
) -> None:
    async def unlink(_: str) -> bool:
        return True

    rules = Retention(sent=timedelta(days=30))
    async with database(tmp_path) as opened:
        for _ in range(2):
            await put(opened, DeliveryState.SENT)
        spoil = damage(f"UPDATE {text} = CAST(x'ff' AS TEXT) WHERE number = 1")
        await opened.write(spoil, lane=WriteLane.REST)
        retention = SqliteRetention(opened, rules, unlink, lambda: True)
        taken = await retention.run(Instant(NOW + 40 * DAY))
        assert taken.jobs >= 1
        assert (await retention.run(Instant(NOW + 41 * DAY))).jobs == 0


def test_an_error_of_sqlite_is_not_the_rows_fault() -> None:
    check_spoiled(ValueError("no word of ours"))
    with pytest.raises(sqlite3.OperationalError):
        check_spoiled(sqlite_error(sqlite3.SQLITE_IOERR, "disk I/O error"))


@pytest.mark.parametrize(
    "spoil",
    [
        "recipient = CAST(x'61ff' AS TEXT)",
        "message_id = CAST(x'ff' AS TEXT)",
        "reply_text = CAST(x'ff' AS TEXT)",
        "reason_code = 'x'",
        "hold_reason = 'x'",
        "feedback = 'x'",
        "stage = 'x'",
    ],
)
async def test_a_delivery_that_can_not_be_read_is_listed_and_can_be_acted_upon(
    spoil: str, tmp_path: Path
) -> None:
    async with outbox_in(tmp_path) as outbox:
        for key in ("one", "two"):
            await outbox.intake.accept(new_job(outbox.intake, key=key))
        held = "UPDATE delivery SET state = 'held', hold_reason = 'unreadable'"
        for sql in (held, f"UPDATE delivery SET {spoil} WHERE number = 1"):  # noqa: S608
            await outbox.database.write(damage(sql), lane=WriteLane.REST)
        reader, admin, actor = outbox.reader, outbox.admin, Actor(0)
        found = await reader.find_delivery(1)
        job = await reader.find_job(1)
        page = await reader.find_deliveries(
            DeliveryFilter(state=DeliveryState.HELD), cursor=None, limit=9
        )
        jobs = await reader.find_jobs(JobFilter(), cursor=None, limit=9)
        assert found is not None
        assert job is not None
        assert (len(job.deliveries), len(page.items), len(jobs.items)) == (1, 2, 2)
        assert found.hold_reason is HoldReason.UNREADABLE
        assert sum(one.deliveries for one in await reader.find_holds()) == 2
        freed = await admin.release(1, actor, NOW)
        assert isinstance(freed, DeliveryRecord)
        answers = await admin.cancel_job(1, actor, NOW)
        assert answers is not None
        assert [one.answer for one in answers] == ["cancelled"]


async def test_a_request_that_can_not_be_read_hides_no_list(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        await outbox.database.write(damage("UPDATE job SET spec = '['"), lane=WriteLane.REST)
        found = await outbox.reader.find_delivery(1)
        page = await outbox.reader.find_deliveries(DeliveryFilter(), cursor=None, limit=9)
        assert found is not None
        assert (found.subject, len(page.items)) == (None, 1)
