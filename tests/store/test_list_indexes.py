"""No list scans or sorts: each filter is walked along its own index."""

import re
import sqlite3
from collections.abc import Callable, Iterator

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import SECOND, Instant
from postroom.store.sqlite.reads_deliveries import (
    count_accepted,
    find_candidates,
    find_dead,
    find_deliveries,
    oldest_due,
)
from postroom.store.sqlite.reads_jobs import find_job, find_jobs
from postroom.store.sqlite.reads_log import event_span, find_events, find_suppressions
from support.desk_store import NOW, memory
from support.filters import DELIVERY_FILTERS, JOB_FILTERS, fill


S = DeliveryState


@pytest.fixture
def conn() -> Iterator[sqlite3.Connection]:
    with memory() as opened:
        yield opened


QUESTIONS: dict[str, Callable[[sqlite3.Connection], object]] = {
    **{
        f"jobs by {name}": lambda conn, by=by: find_jobs(conn, by, 20, 5)
        for name, by in JOB_FILTERS.items()
    },
    **{
        f"deliveries by {name}": lambda conn, by=by: find_deliveries(conn, by, 20, 5)
        for name, by in DELIVERY_FILTERS.items()
    },
    **{
        f"candidates by {name}": lambda conn, by=by: find_candidates(conn, by, (S.FAILED,), 20, 5)
        for name, by in DELIVERY_FILTERS.items()
    },
    "dead": lambda conn: find_dead(conn, None, None, 5),
    "dead, next page": lambda conn: find_dead(
        conn, NOW, find_dead(conn, None, None, 1).next_cursor, 5
    ),
    "events": lambda conn: find_events(conn, 0, 5),
    "span of events": event_span,
    "suppressions": lambda conn: find_suppressions(conn, None, None, 5),
    "suppressions of a mailbox": lambda conn: find_suppressions(conn, "support", None, 5),
    "oldest due": lambda conn: oldest_due(conn, NOW),
    "accepted lately": lambda conn: count_accepted(conn, Instant(NOW - 3600 * SECOND)),
    "a job": lambda conn: find_job(conn, 3),
    "no job": lambda conn: find_job(conn, 999),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_a_list_never_scans_and_never_sorts(
    conn: sqlite3.Connection, question: Callable[[sqlite3.Connection], object]
) -> None:
    fill(conn)
    asked: list[str] = []
    conn.set_trace_callback(asked.append)
    question(conn)
    conn.set_trace_callback(None)
    assert asked
    for sql in dict.fromkeys(asked):
        steps = [row["detail"] for row in conn.execute(f"EXPLAIN QUERY PLAN {sql}")]
        for step in steps:
            assert "TEMP B-TREE" not in step, (sql, steps)
            assert not re.match(r"SCAN (?!CONSTANT ROW)", step) or is_bounded(sql, step), (
                sql,
                steps,
            )


INDEXES = {
    "jobs by mailbox": "job_mailbox (mailbox_id=? AND rowid>? AND rowid<?)",
    "jobs by settled": "job_status (mailbox_id=? AND settled_status=? AND rowid>? AND rowid<?)",
    "jobs by open": "job_open (mailbox_id=? AND rowid>? AND rowid<?)",
    "jobs by thread": "delivery_thread (thread=? AND job>? AND job<?)",
    "jobs by recipient": "delivery_recipient (recipient_key=? AND mailbox_id=? AND job>? AND job<?)",
    "jobs by trace": "job_trace (trace_id=? AND mailbox_id=? AND rowid>? AND rowid<?)",
    "jobs by conversation": "job_conversation (conversation_key=? AND mailbox_id=? AND rowid>? AND rowid<?)",
    "jobs by key": "job_key (idempotency_key=? AND mailbox_id=? AND rowid>? AND rowid<?)",
    "deliveries by mailbox": "delivery_state (mailbox_id=? AND state=? AND rowid>? AND rowid<?)",
    "deliveries by reason": "delivery_reason (mailbox_id=? AND reason_code=? AND rowid>? AND rowid<?)",
    "deliveries by domain": "delivery_domain (mailbox_id=? AND domain=? AND rowid>? AND rowid<?)",
    "deliveries by hold": "delivery_held (mailbox_id=? AND hold_reason=? AND rowid>? AND rowid<?)",
    "candidates by none": "delivery_state (mailbox_id=? AND state=? AND rowid>? AND rowid<?)",
    "dead, next page": "delivery_dead (settled_at>? AND settled_at<?)",
    "suppressions of a mailbox": "suppression_mailbox (mailbox_id=? AND rowid<?)",
    "oldest due": "delivery_due (mailbox_id=? AND lane=? AND due_at<?)",
}


@pytest.mark.parametrize(("name", "index"), INDEXES.items(), ids=INDEXES.keys())
def test_a_filter_is_walked_along_its_own_index(
    conn: sqlite3.Connection, name: str, index: str
) -> None:
    fill(conn)
    asked: list[str] = []
    conn.set_trace_callback(asked.append)
    QUESTIONS[name](conn)
    conn.set_trace_callback(None)
    plans = {
        row["detail"]
        for sql in dict.fromkeys(asked)
        for row in conn.execute(f"EXPLAIN QUERY PLAN {sql}")
    }
    assert any(index in plan.replace("number", "rowid") for plan in plans), plans


def is_bounded(sql: str, step: str) -> bool:
    """A walk along an index in its order that stops at a LIMIT is no scan, if nothing on the way is left out."""
    return ("LIMIT 1" in sql and "WHERE" not in sql) or "sqlite_sequence" in step
