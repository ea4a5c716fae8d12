"""Lists of jobs, deliveries, suppressions and events: every row once in its order, and what is counted of them."""

import sqlite3
from collections.abc import Callable, Iterator

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.core.job import Address
from postroom.core.mailbox import Lane
from postroom.core.record import DeliveryRecord, JobRecord, Page
from postroom.core.status import JobStatus
from postroom.ports.desk import DeliveryFilter, JobFilter
from postroom.store.sqlite.admin_mailbox import Suppressing
from postroom.store.sqlite.reads_deliveries import (
    count_accepted,
    count_by_state,
    find_dead,
    find_deliveries,
    oldest_due,
)
from postroom.store.sqlite.reads_jobs import find_job, find_jobs
from postroom.store.sqlite.reads_log import (
    event_span,
    find_events,
    find_mailboxes,
    find_suppressions,
)
from support.desk_store import ANN, DAY, NOW, memory, put_job, run
from support.filters import DELIVERY_FILTERS, JOB_FILTERS, fill


S = DeliveryState


@pytest.fixture
def conn() -> Iterator[sqlite3.Connection]:
    with memory() as opened:
        yield opened


def pages(find: Callable[[int | None], Page[JobRecord] | Page[DeliveryRecord]]) -> list[int]:
    found: list[int] = []
    cursor: int | None = None
    while True:
        page = find(cursor)
        found.extend(item.number for item in page.items)
        cursor = page.next_cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
@pytest.mark.parametrize("by", JOB_FILTERS.values(), ids=JOB_FILTERS.keys())
def test_pages_of_jobs_hold_every_job_once_newest_first(
    conn: sqlite3.Connection, by: JobFilter, limit: int
) -> None:
    fill(conn)
    found = pages(lambda cursor: find_jobs(conn, by, cursor, limit))
    everything = [find_job(conn, number) for number in range(1, 25)]
    assert found == [job.number for job in reversed(everything) if job and meets(job, by)]


def meets(job: JobRecord, by: JobFilter) -> bool:
    states = {delivery.state for delivery in job.deliveries}
    in_progress = bool(states & {S.PENDING}) and bool(states & {S.SENT})
    return (
        by.mailbox_id in (None, job.mailbox_id)
        and by.status
        in (None, "in_progress" if in_progress else None, "partial" if S.FAILED in states else None)
        and by.thread_number in (None, *(delivery.thread_number for delivery in job.deliveries))
        and (by.since is None or job.created_at >= by.since)
    )


@pytest.mark.parametrize("limit", [1, 3, 100])
@pytest.mark.parametrize("by", DELIVERY_FILTERS.values(), ids=DELIVERY_FILTERS.keys())
def test_pages_of_deliveries_hold_every_delivery_once_newest_first(
    conn: sqlite3.Connection, by: DeliveryFilter, limit: int
) -> None:
    fill(conn)
    found = pages(lambda cursor: find_deliveries(conn, by, cursor, limit))
    everything = conn.execute("SELECT * FROM delivery ORDER BY number DESC")
    assert found == [
        row["number"]
        for row in everything
        if by.mailbox_id in (None, row["mailbox_id"])
        and by.state in (None, row["state"])
        and by.reason_code in (None, row["reason_code"])
        and by.hold_reason in (None, row["hold_reason"])
    ]
    assert found


@pytest.mark.parametrize("status", JobStatus)
def test_jobs_are_found_by_each_status(conn: sqlite3.Connection, status: JobStatus) -> None:
    states = {
        JobStatus.ACCEPTED: [S.PENDING],
        JobStatus.IN_PROGRESS: [S.RETRY_SCHEDULED],
        JobStatus.HELD: [S.HELD, S.PENDING],
        JobStatus.COMPLETED: [S.SENT],
        JobStatus.PARTIAL: [S.SENT, S.UNCERTAIN],
        JobStatus.UNCERTAIN: [S.UNCERTAIN, S.FAILED],
        JobStatus.FAILED: [S.FAILED, S.CANCELLED],
        JobStatus.CANCELLED: [S.CANCELLED, S.SKIPPED],
    }
    for each in states.values():
        put_job(conn, *each)
    page = find_jobs(conn, JobFilter(status=status), None, 10)
    (job,) = page.items
    assert {delivery.state for delivery in job.deliveries} == set(states[status])


def test_a_page_of_jobs_ends_early_when_its_jobs_are_large(conn: sqlite3.Connection) -> None:
    for _ in range(3):
        put_job(conn, *[S.PENDING] * 600)
    page = find_jobs(conn, JobFilter(), None, 10)
    assert [job.number for job in page.items] == [3, 2]
    assert page.next_cursor == 2
    assert [job.number for job in find_jobs(conn, JobFilter(), 2, 10).items] == [1]


@pytest.mark.parametrize("late", [0, 1, 59])
def test_since_finds_a_job_that_was_slow_to_accept(conn: sqlite3.Connection, late: int) -> None:
    for second in range(0, 600, 10):
        put_job(conn, S.PENDING, created_at=NOW + second * 1_000_000)
    since = Instant(NOW + 300 * 1_000_000)
    conn.execute("UPDATE job SET created_at = ? WHERE number = 25", (since + late * 1_000_000,))
    found = pages(lambda cursor: find_jobs(conn, JobFilter(since=since), cursor, 7))
    assert found == [*range(60, 30, -1), 25]


def test_dead_letters_are_told_by_when_they_ended(conn: sqlite3.Connection) -> None:
    ended = [3, 1, 2, 2, 9]
    numbers = [put_job(conn, S.FAILED, at=NOW + moment * DAY)[0] for moment in ended]
    put_job(conn, S.SENT, S.CANCELLED, at=NOW + 5 * DAY)
    expected = [numbers[index] for index in (4, 0, 3, 2, 1)]
    for limit in (1, 2, 10):
        assert pages(lambda cursor, limit=limit: find_dead(conn, None, cursor, limit)) == expected
    recent = pages(lambda cursor: find_dead(conn, Instant(NOW + 2 * DAY), cursor, 1))
    assert recent == expected[:4]


def test_a_page_of_dead_letters_goes_on_after_its_last_was_redriven(
    conn: sqlite3.Connection,
) -> None:
    numbers = [put_job(conn, S.UNCERTAIN, at=NOW + n)[0] for n in range(4)]
    page = find_dead(conn, None, None, 2)
    conn.execute(
        "UPDATE delivery SET state = 'pending', settled_at = NULL WHERE number = ?",
        (page.next_cursor,),
    )
    assert [item.number for item in find_dead(conn, None, page.next_cursor, 5).items] == numbers[
        1::-1
    ]


def test_the_oldest_due_is_told_for_each_mailbox_and_lane(conn: sqlite3.Connection) -> None:
    put_job(conn, S.PENDING, S.RETRY_SCHEDULED, delivery={"due_at": NOW - 5})
    put_job(conn, S.PENDING, delivery={"due_at": NOW - 9, "lane": 0})
    put_job(conn, S.PENDING, mailbox_id="reports", delivery={"due_at": NOW + 1})
    put_job(conn, S.HELD, mailbox_id="held", delivery={"due_at": NOW - 1})
    assert oldest_due(conn, NOW) == {
        ("support", Lane.STANDARD): NOW - 5,
        ("support", Lane.HIGH): NOW - 9,
    }


def test_deliveries_are_counted_by_mailbox_lane_and_state(conn: sqlite3.Connection) -> None:
    put_job(conn, S.PENDING, S.PENDING, S.SENT)
    put_job(conn, S.PENDING, mailbox_id="reports", delivery={"lane": 2})
    assert count_by_state(conn) == {
        ("support", Lane.STANDARD, S.PENDING): 2,
        ("support", Lane.STANDARD, S.SENT): 1,
        ("reports", Lane.BULK, S.PENDING): 1,
    }


def test_what_was_accepted_lately_is_counted_by_mailbox_and_minute(
    conn: sqlite3.Connection,
) -> None:
    for age_s in [9999] * 20 + [3700, 130, 125, 5]:
        put_job(conn, S.SENT, S.PENDING, delivery={"created_at": NOW - age_s * SECOND})
    put_job(conn, S.SENT, mailbox_id="reports", delivery={"created_at": NOW - 60 * SECOND})
    found = count_accepted(conn, Instant(NOW - 3600 * SECOND))
    assert {box: sum(count for _, count in minutes) for box, minutes in found.items()} == {
        "support": 6,
        "reports": 1,
    }
    assert [at for at, _ in found["support"]] == sorted(at for at, _ in found["support"])
    assert found["support"][-1] == (NOW - 5 * SECOND, 2)


def test_suppressions_are_listed_newest_first(conn: sqlite3.Connection) -> None:
    for mailbox, name in (("", "a"), ("support", "b"), ("reports", "c"), ("support", "d")):
        run(conn, Suppressing(mailbox, f"{name}@example.com", "asked", ANN, NOW))
    first = find_suppressions(conn, None, None, 3)
    assert [one.address[0] for one in first.items] == ["d", "c", "b"]
    rest = find_suppressions(conn, None, first.next_cursor, 3)
    assert ([one.address[0] for one in rest.items], rest.next_cursor) == (["a"], None)
    assert [one.address[0] for one in find_suppressions(conn, "support", None, 9).items] == [
        "d",
        "b",
    ]
    assert Address("A@Example.com").key == "a@example.com"


def test_the_log_tells_where_it_begins_and_ends(conn: sqlite3.Connection) -> None:
    assert event_span(conn) == ("log", 0, 0)
    for _ in range(3):
        conn.execute(
            "INSERT INTO event (type, mailbox_id, created_at, data) VALUES ('delivery.sent', 'support', ?, '{\"a\":1}')",
            (NOW,),
        )
    conn.execute("DELETE FROM event WHERE seq = 1")
    assert event_span(conn) == ("log", 2, 3)
    assert [(event.seq, event.data) for event in find_events(conn, 2, 10)] == [(3, {"a": 1})]
    conn.execute("DELETE FROM event")
    assert event_span(conn) == ("log", 4, 3)


def test_a_mailbox_that_the_store_never_saw_has_no_rows(conn: sqlite3.Connection) -> None:
    fill(conn)
    assert find_jobs(conn, JobFilter(mailbox_id="nobody"), None, 5) == Page((), None)
    assert find_mailboxes(conn) == ()
