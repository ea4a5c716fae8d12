import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.record import JobRecord
from postroom.ports.changes import JobChanged, RowsGone, RowsWaiting, StateMoved
from postroom.ports.desk import BulkResult, CancelAnswer, Cancelled, DeliveryFilter, WrongState
from postroom.store.sqlite.admin_cancel import Cancelling, Rescheduling
from postroom.store.sqlite.reader import SqliteReader
from postroom.store.sqlite.reads_deliveries import find_delivery
from support.desk_store import (
    ANN,
    NOW,
    Told,
    admin_of,
    database,
    event_types,
    memory,
    one,
    put,
    put_job,
    run,
    status,
)


S = DeliveryState
A = CancelAnswer


@pytest.fixture
def conn() -> Iterator[sqlite3.Connection]:
    with memory() as opened:
        yield opened


@pytest.mark.parametrize(
    ("before", "delivery", "answer", "after"),
    [
        pytest.param(S.PENDING, {}, A.CANCELLED, S.CANCELLED, id="waiting"),
        pytest.param(S.HELD, {}, A.CANCELLED, S.CANCELLED, id="held"),
        pytest.param(S.RETRY_SCHEDULED, {}, A.CANCELLED, S.CANCELLED, id="between two attempts"),
        pytest.param(S.SENDING, {}, A.CANCELLED, S.CANCELLED, id="under way, before the mark"),
        pytest.param(S.SENDING, {"marked_at": NOW}, A.TOO_LATE, S.SENDING, id="after the mark"),
        pytest.param(S.PENDING, {"doubts": 1}, A.UNCERTAIN, S.UNCERTAIN, id="resent and waiting"),
        pytest.param(S.SENDING, {"doubts": 2}, A.UNCERTAIN, S.UNCERTAIN, id="resent, under way"),
        pytest.param(S.SENT, {}, A.TOO_LATE, S.SENT, id="sent"),
        pytest.param(S.FAILED, {}, A.TOO_LATE, S.FAILED, id="failed"),
        pytest.param(S.SKIPPED, {}, A.TOO_LATE, S.SKIPPED, id="skipped"),
        pytest.param(S.UNCERTAIN, {}, A.UNCERTAIN, S.UNCERTAIN, id="in doubt"),
        pytest.param(S.CANCELLED, {}, A.CANCELLED, S.CANCELLED, id="cancelled before"),
    ],
)
def test_a_cancel_is_answered_by_what_it_found(
    conn: sqlite3.Connection, before: S, delivery: dict[str, object], answer: A, after: S
) -> None:
    (number,) = put_job(conn, before, delivery=delivery)
    answers, changes = run(conn, Cancelling((number,), ANN, NOW))
    assert answers == (Cancelled(number, "User@example.com", answer),)
    row = one(conn, number)
    assert row["state"] == after
    is_late = before is S.SENDING and answer is A.TOO_LATE
    assert row["cancel_asked"] == (is_late or before is S.UNCERTAIN)
    assert bool(changes) == (before != after)


def test_a_cancelled_delivery_tells_who_did_it_and_settles_its_job(
    conn: sqlite3.Connection,
) -> None:
    (number,) = put_job(conn, S.RETRY_SCHEDULED)
    _, changes = run(conn, Cancelling((number,), ANN, Instant(NOW + 1)))
    found = find_delivery(conn, number)
    assert found is not None
    assert (found.due_at, found.settled_by) == (None, "uid:1000")
    last = found.history[-1]
    assert (last.before, last.after, last.by) == (S.RETRY_SCHEDULED, S.CANCELLED, "uid:1000")
    assert (last.at, last.reason_code) == (NOW + 1, ReasonCode.CANCELLED)
    assert status(conn, number) == "cancelled"
    assert changes == (
        StateMoved(
            "support", Lane.STANDARD, S.RETRY_SCHEDULED, S.CANCELLED, ReasonCode.CANCELLED, 1
        ),
        RowsGone((number,)),
        JobChanged(1),
    )
    assert event_types(conn) == []


def test_a_cancel_that_brings_doubt_back_is_an_event(conn: sqlite3.Connection) -> None:
    (number,) = put_job(conn, S.PENDING, delivery={"doubts": 1})
    run(conn, Cancelling((number,), ANN, NOW))
    assert event_types(conn) == ["delivery.uncertain"]
    assert status(conn, number) == "uncertain"


def test_a_job_with_other_deliveries_open_stays_open(conn: sqlite3.Connection) -> None:
    first, second = put_job(conn, S.PENDING, S.SENDING, delivery={"marked_at": NOW})
    _, changes = run(conn, Cancelling((first, second), ANN, NOW))
    assert status(conn, first) is None
    assert JobChanged(1) not in changes


async def test_a_job_of_many_is_cancelled_whole(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        told = Told()
        opened.watch(told)
        numbers = await put(opened, *[S.PENDING] * 400)
        answers = await admin_of(opened).cancel_job(1, ANN, NOW)
    assert answers is not None
    assert [answer.number for answer in answers] == numbers
    assert {answer.answer for answer in answers} == {A.CANCELLED}
    assert sum(isinstance(change, StateMoved) for change in told.changes) == 400
    assert max(told.sizes) <= 100 * 3


async def test_no_job_is_not_cancelled(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        admin = admin_of(opened)
        assert await admin.cancel_job(1, ANN, NOW) is None
        assert await admin.reschedule_job(1, NOW, ANN, NOW) is None


@pytest.mark.parametrize(
    ("by", "limit", "expected"),
    [
        pytest.param(DeliveryFilter(), 100, BulkResult(5, 4), id="all"),
        pytest.param(DeliveryFilter(mailbox_id="reports"), 100, BulkResult(1, 1), id="one mailbox"),
        pytest.param(DeliveryFilter(state=S.HELD), 100, BulkResult(1, 1), id="one state"),
        pytest.param(DeliveryFilter(state=S.SENT), 100, BulkResult(1, 0), id="what can not be"),
        pytest.param(DeliveryFilter(domain="example.com"), 3, BulkResult(5, 3), id="a limit"),
        pytest.param(DeliveryFilter(since=Instant(NOW + 1)), 9, BulkResult(0, 0), id="since"),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
async def test_deliveries_are_cancelled_in_bulk(
    tmp_path: Path, by: DeliveryFilter, limit: int, expected: BulkResult, *, dry_run: bool
) -> None:
    async with database(tmp_path) as opened:
        await put(opened, S.SENDING, delivery={"marked_at": NOW})
        await put(opened, S.PENDING, S.SENT, S.HELD, S.RETRY_SCHEDULED)
        await put(opened, S.PENDING, mailbox_id="reports")
        admin = admin_of(opened)
        result = await admin.cancel_deliveries(by, ANN, NOW, dry_run=dry_run, limit=limit)
        assert result == (BulkResult(expected.matched, 0) if dry_run else expected)
        cancelled = await SqliteReader(opened).find_deliveries(
            DeliveryFilter(state=S.CANCELLED), None, 100
        )
        assert len(cancelled.items) == result.done


def test_what_waits_is_moved_to_another_time(conn: sqlite3.Connection) -> None:
    numbers = put_job(conn, S.PENDING, S.HELD, S.RETRY_SCHEDULED, S.SENDING, S.SENT)
    later = Instant(NOW + 5)
    job, changes = run(conn, Rescheduling(1, later, ANN, NOW))
    assert isinstance(job, JobRecord)
    assert [delivery.due_at for delivery in job.deliveries] == [later, later, later, later, None]
    assert job.deliveries[3].state is S.PENDING
    waits = RowsWaiting("support", Lane.STANDARD, later, "example.com")
    assert changes == (
        *(RowsGone((numbers[0],)), waits, RowsGone((numbers[2],)), waits),
        StateMoved("support", Lane.STANDARD, S.SENDING, S.PENDING, ReasonCode.RESCHEDULED, 1),
        waits,
    )
    assert conn.execute("SELECT rescheduled_by FROM job").fetchone()[0] == "uid:1000"


def test_a_time_in_the_past_means_now(conn: sqlite3.Connection) -> None:
    put_job(conn, S.PENDING)
    job, _ = run(conn, Rescheduling(1, Instant(NOW - 5), ANN, NOW))
    assert isinstance(job, JobRecord)
    assert job.deliveries[0].due_at == NOW


@pytest.mark.parametrize(
    ("states", "delivery"),
    [
        pytest.param([S.SENT, S.FAILED], {}, id="nothing waits"),
        pytest.param([S.SENDING], {"marked_at": NOW}, id="all has its mark"),
        pytest.param([S.PENDING], {"not_after": NOW + 4}, id="beyond not_after"),
    ],
)
def test_a_job_is_not_moved_where_that_makes_no_sense(
    conn: sqlite3.Connection, states: list[S], delivery: dict[str, object]
) -> None:
    put_job(conn, *states, delivery=delivery)
    wrong, changes = run(conn, Rescheduling(1, Instant(NOW + 5), ANN, NOW))
    assert isinstance(wrong, WrongState)
    assert wrong.state in states
    assert changes == ()
