import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.core.record import DeliveryRecord
from postroom.ports.changes import JobChanged, RowsWaiting, StateMoved
from postroom.ports.desk import BulkResult, DeliveryFilter, Verdict, WrongState
from postroom.store.sqlite.admin_cancel import Cancelling
from postroom.store.sqlite.admin_retry import Resolving, Retrying
from postroom.store.sqlite.reads_log import find_raw
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
LATER = Instant(NOW + 60_000_000)
USED_UP = {
    "reason_code": "expired",
    "series_attempts": 50,
    "series_started_at": NOW,
    "attempts": 50,
    "crashes": 2,
    "cancel_asked": 1,
    "deferrals": 3,
    "date_at": NOW,
    "reply_code": 550,
}


@pytest.fixture
def conn() -> Iterator[sqlite3.Connection]:
    with memory() as opened:
        yield opened


def test_a_redrive_begins_a_new_series_with_the_same_mail(conn: sqlite3.Connection) -> None:
    (number,) = put_job(conn, S.FAILED, delivery=USED_UP)
    before, raw = one(conn, number), find_raw(conn, number)
    record, changes = run(conn, Retrying(number, ANN, LATER))
    assert isinstance(record, DeliveryRecord)
    assert (record.state, record.due_at, record.reason_code) == (S.PENDING, LATER, None)
    assert (record.attempts, record.series_attempts, record.crashes) == (50, 0, 0)
    after = one(conn, number)
    for name in ("message_id", "date_at", "head", "thread", "deferrals", "reply_code", "claim"):
        assert after[name] == before[name]
    for name in ("series_started_at", "settled_at", "settled_by"):
        assert after[name] is None
    assert (after["cancel_asked"], after["resends"], after["doubts"]) == (0, 0, 0)
    assert raw == find_raw(conn, number)
    assert raw is not None
    assert status(conn, number) is None
    last = record.history[-1]
    assert (last.before, last.after, last.by) == (S.FAILED, S.PENDING, "uid:1000")
    assert changes == (
        StateMoved("support", Lane.STANDARD, S.FAILED, S.PENDING, None, 1),
        RowsWaiting("support", Lane.STANDARD, LATER, "example.com"),
    )


def test_a_resend_leaves_the_unanswered_mark_in_its_past(conn: sqlite3.Connection) -> None:
    (number,) = put_job(conn, S.UNCERTAIN, delivery=USED_UP)
    record, _ = run(conn, Resolving(number, ANN, LATER, Verdict.RESEND))
    assert isinstance(record, DeliveryRecord)
    assert (record.state, record.doubts, record.marked_at) == (S.PENDING, 1, None)
    after = one(conn, number)
    assert (after["resends"], after["date_at"], after["series_attempts"]) == (1, NOW, 0)
    assert status(conn, number) is None


def test_a_resend_that_is_cancelled_is_in_doubt_again_and_no_mark_is_counted_twice(
    conn: sqlite3.Connection,
) -> None:
    (number,) = put_job(conn, S.UNCERTAIN)
    for turn in range(1, 3):
        run(conn, Resolving(number, ANN, LATER, Verdict.RESEND))
        run(conn, Cancelling((number,), ANN, LATER))
        row = one(conn, number)
        assert (row["state"], row["doubts"], row["resends"]) == (S.UNCERTAIN, 1, turn)


@pytest.mark.parametrize(
    ("verdict", "after", "event"),
    [
        pytest.param(Verdict.SENT, S.SENT, "delivery.sent", id="sent"),
        pytest.param(Verdict.FAILED, S.FAILED, "delivery.failed", id="failed"),
    ],
)
def test_doubt_is_settled_by_hand(
    conn: sqlite3.Connection, verdict: Verdict, after: S, event: str
) -> None:
    (number,) = put_job(conn, S.UNCERTAIN)
    record, changes = run(conn, Resolving(number, ANN, LATER, verdict))
    assert isinstance(record, DeliveryRecord)
    assert (record.state, record.settled_by) == (after, "uid:1000")
    assert event_types(conn) == [event]
    assert status(conn, number) == ("completed" if after is S.SENT else "failed")
    assert JobChanged(1) in changes


def test_what_was_called_failed_in_doubt_can_be_sent_again_and_keeps_its_doubt(
    conn: sqlite3.Connection,
) -> None:
    (number,) = put_job(conn, S.UNCERTAIN)
    run(conn, Resolving(number, ANN, LATER, Verdict.FAILED))
    record, _ = run(conn, Retrying(number, ANN, LATER))
    assert isinstance(record, DeliveryRecord)
    assert (record.state, record.doubts) == (S.PENDING, 1)


@pytest.mark.parametrize("state", sorted(set(S) - {S.FAILED}))
def test_only_what_failed_is_redriven(conn: sqlite3.Connection, state: S) -> None:
    (number,) = put_job(conn, state)
    wrong, changes = run(conn, Retrying(number, ANN, LATER))
    assert isinstance(wrong, WrongState)
    assert (wrong.state, changes) == (state, ())
    assert wrong.detail


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("state", sorted(set(S) - {S.UNCERTAIN}))
def test_only_doubt_is_resolved(conn: sqlite3.Connection, state: S, verdict: Verdict) -> None:
    (number,) = put_job(conn, state)
    wrong, changes = run(conn, Resolving(number, ANN, LATER, verdict))
    assert isinstance(wrong, WrongState)
    assert (wrong.state, changes) == (state, ())


@pytest.mark.parametrize(
    ("late", "is_wrong"),
    [pytest.param(-1, True, id="over"), pytest.param(1, False, id="not yet over")],
)
def test_nothing_is_sent_again_after_its_not_after(
    conn: sqlite3.Connection, late: int, *, is_wrong: bool
) -> None:
    failed, doubtful = put_job(conn, S.FAILED, S.UNCERTAIN, delivery={"not_after": LATER + late})
    for unit in (
        Retrying(failed, ANN, LATER),
        Resolving(doubtful, ANN, LATER, Verdict.RESEND),
    ):
        answer, _ = run(conn, unit)
        assert isinstance(answer, WrongState) == is_wrong


def test_doubt_can_be_settled_after_its_not_after(conn: sqlite3.Connection) -> None:
    (number,) = put_job(conn, S.UNCERTAIN, delivery={"not_after": NOW})
    record, _ = run(conn, Resolving(number, ANN, LATER, Verdict.SENT))
    assert isinstance(record, DeliveryRecord)


def test_nothing_is_sent_again_from_a_mailbox_that_is_gone(conn: sqlite3.Connection) -> None:
    (number,) = put_job(conn, S.FAILED)
    conn.execute("INSERT INTO mailbox (id, removed_at) VALUES ('support', ?)", (NOW,))
    wrong, _ = run(conn, Retrying(number, ANN, LATER))
    assert isinstance(wrong, WrongState)
    assert "mailbox" in wrong.detail


async def test_there_is_no_delivery_to_retry(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        admin = admin_of(opened)
        assert await admin.retry(7, ANN, NOW) is None
        assert await admin.resolve(7, Verdict.SENT, ANN, NOW) is None


async def test_thousands_of_dead_letters_are_sent_again_in_small_bites(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        for _ in range(2):
            await put(opened, *[S.FAILED] * 300)
        await put(opened, S.UNCERTAIN, S.SENT)
        told, admin = Told(), admin_of(opened)
        opened.watch(told)
        by = DeliveryFilter(mailbox_id="support")
        dry = await admin.retry_deliveries(by, ANN, NOW, dry_run=True, limit=10_000)
        assert (dry, told.changes) == (BulkResult(600, 0), [])
        some = await admin.retry_deliveries(by, ANN, NOW, dry_run=False, limit=250)
        assert some == BulkResult(600, 250)
        rest = await admin.retry_deliveries(by, ANN, NOW, dry_run=False, limit=10_000)
        assert rest == BulkResult(350, 350)
        assert max(told.sizes) <= 100 * 3
        done = await admin.resolve_deliveries(
            by, Verdict.FAILED, ANN, NOW, dry_run=False, limit=10_000
        )
        assert done == BulkResult(1, 1)
