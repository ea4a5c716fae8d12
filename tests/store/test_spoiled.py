"""Documents that are damaged where they are stored: shown as such, and no reason to stop for anybody."""

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.mailbox import Lane
from postroom.core.record import DeliveryRecord
from postroom.core.retention import Retention
from postroom.ports.arriving import Doubled, Published
from postroom.ports.desk import Actor, DeliveryFilter, JobFilter
from postroom.ports.looping import Started
from postroom.store.sqlite.retention import SqliteRetention
from postroom.store.sqlite.spoiled import check_spoiled
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.arrivals import PostOffice, in_mail, token_of
from support.desk_store import DAY, NOW, Instant, database, put
from support.lease_desk import lease_desk, seqs
from support.store_host import NOON, outbox_in, rows_in, sqlite_error
from support.store_jobs import new_job, outcome_of, start_of


def damage(sql: str):  # type: ignore[no-untyped-def]
    def unit(conn: sqlite3.Connection) -> UnitResult[None]:
        conn.execute(sql)
        return UnitResult(None)

    return unit


TEXTS = (
    "delivery SET recipient",
    "delivery SET mailbox_id",
    "delivery SET domain",
    "delivery SET message_id",
    "job SET trace_id",
    "job SET metadata",
    "thread SET conversation_key",
    "thread SET metadata",
)


def spoil(text: str):  # type: ignore[no-untyped-def]
    return damage(f"UPDATE {text} = CAST(x'ff' AS TEXT) || number")


@pytest.mark.parametrize("text", TEXTS)
async def test_what_became_of_a_delivery_is_stored_whatever_is_damaged_of_it(
    tmp_path: Path, text: str
) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        await outbox.intake.accept(new_job(outbox.intake, not_after=Instant(NOON + 1)))
        started = await outbox.loop.start(start_of(1))
        assert isinstance(started, Started)
        await outbox.loop.mark(1, started.claim, NOON)
        await outbox.database.write(spoil(text), lane=WriteLane.REST)
        sent = outcome_of(1, started.claim, DeliveryState.SENT)
        assert await outbox.loop.finish(sent) is DeliveryState.SENT
        assert await outbox.loop.end_expired(Instant(NOON + 2), 10) == 1
    told = [kind for (kind,) in rows_in(tmp_path, "SELECT type FROM event ORDER BY seq")]
    assert told == ["delivery.sent", "delivery.failed"]


@pytest.mark.parametrize("text", TEXTS)
async def test_a_daemon_starts_whatever_is_damaged_of_what_a_crash_left(
    tmp_path: Path, text: str
) -> None:
    async with outbox_in(tmp_path) as outbox:
        for number in (1, 2):
            await outbox.intake.accept(new_job(outbox.intake))
            started = await outbox.loop.start(start_of(number))
            assert isinstance(started, Started)
        await outbox.loop.mark(2, started.claim, NOON)
        await outbox.database.write(spoil(text), lane=WriteLane.REST)
    async with outbox_in(tmp_path):
        states = [state for (state,) in rows_in(tmp_path, "SELECT state FROM delivery")]
        assert states == ["pending", "uncertain"]


@pytest.mark.parametrize(
    ("text", "is_set_aside"),
    [
        ("delivery SET domain", True),
        ("delivery SET mailbox_id", False),
        ("job SET mailbox_id", False),
    ],
)
async def test_where_a_bit_of_a_mailbox_or_domain_is_damaged_the_others_go(
    tmp_path: Path, text: str, *, is_set_aside: bool
) -> None:
    configured = frozenset({"support"})
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        await outbox.intake.accept(new_job(outbox.intake))
        spoilt = damage(f"UPDATE {text} = CAST(x'ff' AS TEXT) WHERE number = 1")
        await outbox.database.write(spoilt, lane=WriteLane.REST)
    async with outbox_in(tmp_path) as outbox:
        await outbox.admin.hold_missing_mailboxes(configured, NOON)
        counts = await outbox.reader.count_by_state()
        assert {mailbox for mailbox, _, _ in counts} == configured
        assert "support" in await outbox.reader.count_accepted(NOON)
        assert await outbox.loop.find_mailbox_queues() == (("support", Lane.STANDARD),)
        found = await outbox.loop.find_waiting(
            "support", Lane.STANDARD, domain=None, skip=frozenset(), after=None, limit=10
        )
        started = [await outbox.loop.start(start_of(row.number)) for row in found]
        assert isinstance(started[-1], Started)
        first = await outbox.database.read(
            lambda conn: conn.execute("SELECT hold_reason FROM delivery").fetchone()[0]
        )
        assert first == ("unreadable" if is_set_aside else None)


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


OF_THREADS = (
    "conversation_key = CAST(x'ff' AS TEXT)",
    "metadata = CAST(x'ff' AS TEXT)",
    "metadata = '{'",
)


@pytest.mark.parametrize("text", [*OF_THREADS, "mailbox_id = CAST(x'ff' AS TEXT)"])
async def test_a_damaged_thread_is_leased_and_keeps_no_other_from_whoever_asks(
    tmp_path: Path, text: str
) -> None:
    async with lease_desk(tmp_path) as desk:
        seq = await desk.event(await desk.thread())
        spoilt = damage(f"UPDATE thread SET {text}")  # noqa: S608
        await desk.outbox.database.write(spoilt, lane=WriteLane.REST)
        later = await desk.event(await desk.thread())
        first, second = await desk.lease(max_threads=2)
        assert (seqs(first), seqs(second)) == ([seq], [later])
        await desk.extend(first)
        await desk.release(first)
        desk.pass_s(3600)
        await desk.outbox.leases.sweep(desk.clock.now())
        await desk.complete(await desk.one())


@pytest.mark.parametrize(
    "text", [*(f"thread SET {one}" for one in OF_THREADS), "event SET data = '{'"]
)
async def test_an_answer_and_its_copy_come_into_a_damaged_thread(tmp_path: Path, text: str) -> None:
    async with outbox_in(tmp_path) as outbox:
        office = PostOffice(outbox)
        await office.sent()
        mail = in_mail(message_id="<1@customer.example>")
        await office.publish(mail, token_of(1))
        await outbox.database.write(damage(f"UPDATE {text}"), lane=WriteLane.REST)
        assert isinstance(await office.publish(mail, token_of(1)), Doubled)
        again = await office.publish(in_mail(message_id="<2@customer.example>"), token_of(1))
        assert isinstance(again, Published)
        assert again.thread_number == 1


async def test_a_job_whose_request_can_not_be_read_is_told_without_it(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        await outbox.database.write(damage("UPDATE job SET spec = '['"), lane=WriteLane.REST)
        found = await outbox.reader.find_job(1)
        assert found is not None
        assert (found.spec, len(found.deliveries)) == ({"unreadable": True}, 1)


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
