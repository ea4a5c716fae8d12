"""Questions about jobs: one with its deliveries, or what retention left of it; lists. Functions of a reading connection."""

import sqlite3
from operator import itemgetter
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.job import Copies
from postroom.core.mailbox import Lane
from postroom.core.record import JobRecord, Page
from postroom.core.status import JobStatus, job_status
from postroom.ports.desk import JobFilter
from postroom.store.sqlite import rows
from postroom.store.sqlite.keyset import Walk, each_mailbox, job_window, newest


# A page of jobs with 1,000 recipients each would be a million rows: it ends with the job that reaches this many.
_DELIVERIES_IN_PAGE: Final = 1_000

_ONE: Final = f"SELECT {rows.JOB} FROM job WHERE number = ? AND expired_at IS NULL"
_DELIVERIES: Final = f"SELECT {rows.DELIVERY} FROM delivery WHERE job = ?"
_TOMBSTONE: Final = """
    SELECT job AS number, mailbox_id, final_status, job_created_at AS created_at FROM idempotency
    WHERE job = ? AND final_status IS NOT NULL LIMIT 1"""
_STATES: Final = """
    SELECT """ + ", ".join(
    f"EXISTS (SELECT 1 FROM delivery WHERE job = :job AND state = '{state}')"
    for state in DeliveryState
)

_WINDOW: Final = "number < :before AND number >= :floor ORDER BY number DESC LIMIT :limit"
_ALL: Final = f"SELECT number FROM job WHERE {_WINDOW}"
_BY_MAILBOX: Final = f"SELECT number FROM job WHERE mailbox_id = :mailbox_id AND {_WINDOW}"
_BY_TRACE: Final = f"""
    SELECT number FROM job WHERE mailbox_id = :mailbox_id AND trace_id = :value AND {_WINDOW}"""
_BY_KEY: Final = f"""
    SELECT number FROM job WHERE mailbox_id = :mailbox_id AND idempotency_key = :value AND {_WINDOW}"""
_BY_CONVERSATION: Final = f"""
    SELECT number FROM job WHERE mailbox_id = :mailbox_id AND conversation_key = :value AND {_WINDOW}"""
_SETTLED: Final = f"""
    SELECT number FROM job WHERE mailbox_id = :mailbox_id AND settled_status = :value AND {_WINDOW}"""
_OPEN: Final = f"""
    SELECT number FROM job WHERE mailbox_id = :mailbox_id AND settled_status IS NULL AND {_WINDOW}"""
_BY_RECIPIENT: Final = """
    SELECT job FROM delivery
    WHERE mailbox_id = :mailbox_id AND recipient_key = :value AND job < :before AND job >= :floor
    GROUP BY job ORDER BY job DESC LIMIT :limit"""
_BY_THREAD: Final = """
    SELECT job FROM delivery WHERE thread = :value AND job < :before AND job >= :floor
    GROUP BY job ORDER BY job DESC LIMIT :limit"""

_OPEN_STATUS: Final = frozenset({JobStatus.ACCEPTED, JobStatus.IN_PROGRESS, JobStatus.HELD})


def find_job(conn: sqlite3.Connection, number: int) -> JobRecord | None:
    """A job with its deliveries, or its tombstone."""
    row = conn.execute(_ONE, (number,)).fetchone()
    return _tombstone(conn, number) if row is None else _whole(conn, row)


def find_jobs(
    conn: sqlite3.Connection, by: JobFilter, cursor: int | None, limit: int
) -> Page[JobRecord]:
    """A page of the jobs that the filter meets, newest first; it may be short and still not the last."""
    window = job_window(conn, by.since, cursor, limit)
    numbers = newest(conn, _walks(conn, by), window)
    items: list[JobRecord] = []
    room = _DELIVERIES_IN_PAGE
    for number in numbers:
        job = _load(conn, number, by)
        if job is not None:
            items.append(job)
            room -= len(job.deliveries)
        if room <= 0:
            return Page(tuple(items), number)
    return Page(tuple(items), numbers[-1] if len(numbers) == limit else None)


def _walks(conn: sqlite3.Connection, by: JobFilter) -> list[Walk]:
    sql, value = _statement(by)
    if sql in (_ALL, _BY_THREAD):
        return [Walk(sql, {"value": value})]
    return [
        Walk(sql, {"mailbox_id": mailbox_id, "value": value})
        for mailbox_id in each_mailbox(conn, by.mailbox_id)
    ]


def _statement(by: JobFilter) -> tuple[str, object]:
    plain = _ALL if by.mailbox_id is None else _BY_MAILBOX
    status = _SETTLED if by.status not in _OPEN_STATUS else _OPEN
    choices: tuple[tuple[str, object], ...] = (
        (status, by.status),
        (_BY_THREAD, by.thread_number),
        (_BY_RECIPIENT, by.recipient and by.recipient.casefold()),
        (_BY_TRACE, by.trace_id),
        (_BY_CONVERSATION, by.conversation_id),
        (_BY_KEY, by.idempotency_key),
    )
    return next((choice for choice in choices if choice[1] is not None), (plain, None))


def _load(conn: sqlite3.Connection, number: int, by: JobFilter) -> JobRecord | None:
    if by.status in _OPEN_STATUS and _status(conn, number) != by.status:
        return None
    row = conn.execute(_ONE, (number,)).fetchone()
    if row is None or (by.since is not None and row["created_at"] < by.since):
        return None
    if by.mailbox_id not in (None, row["mailbox_id"]):
        return None
    return _whole(conn, row)


def _status(conn: sqlite3.Connection, number: int) -> JobStatus:
    found = conn.execute(_STATES, {"job": number}).fetchone()
    return job_status(state for state, has in zip(DeliveryState, found, strict=True) if has)


def _whole(conn: sqlite3.Connection, row: sqlite3.Row) -> JobRecord:
    found = conn.execute(_DELIVERIES, (row["number"],)).fetchall()
    found.sort(key=itemgetter("number"))  # the index has them by state
    return rows.job_of(row, tuple(rows.delivery_of(delivery) for delivery in found))


def _tombstone(conn: sqlite3.Connection, number: int) -> JobRecord | None:
    row = conn.execute(_TOMBSTONE, (number,)).fetchone()
    if row is None:
        return None
    return JobRecord(
        number=number,
        mailbox_id=row["mailbox_id"],
        created_at=Instant(row["created_at"]),
        trace_id="",
        idempotency_key="",
        conversation_id=None,
        lane=Lane.STANDARD,
        copies=Copies.CONVERSATION,
        spec={},
        deliveries=(),
        is_expired=True,
        final_status=row["final_status"],
    )
