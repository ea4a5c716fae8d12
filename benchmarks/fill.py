"""A queue of any length in seconds: one accepted job, copied row by row in SQL while no daemon runs."""

import sqlite3
import time

from benchmarks.load import job


HOUR = 3_600_000_000  # microseconds: all are due since then
ADDRESS = "'someone-' || n || '@d' || (n % 50) || '.agent.test'"
COUNTED = (
    "WITH RECURSIVE counted (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM counted WHERE n < :count)"
)
COPIES = {
    "thread": {},
    "body": {},
    "job": {
        "body": "n",
        "idempotency_key": "'k' || n",
        "lane": ":lane",
        "trace_id": "hex(randomblob(16))",
    },
    "delivery": {
        "job": "n",
        "thread": "n",
        "lane": ":lane",
        "due_at": ":due + n",
        "recipient": ADDRESS,
        "recipient_key": ADDRESS,
        "domain": "'d' || (n % 50) || '.agent.test'",
        "message_id": "'<' || n || '@example.com>'",
    },
    "history": {"delivery": "n"},
    "idempotency": {"job": "n", "key_hash": "randomblob(32)"},
}
UNDER_WAY = {
    "state": "'sending'",
    "claim": "1",
    "date_at": ":due",
    "series_started_at": ":due",
    "marked_at": "CASE WHEN n <= 1200 THEN :due END",  # as many as there may be: slots and open outcomes
}


SENT = {
    "delivery": {
        "state": "'sent'",
        "due_at": "NULL",
        "settled_at": ":due",
        "settled_by": "'loop'",
        "reply_code": "250",
    },
    "job": {"settled_status": "'completed'", "settled_at": ":due"},
}


def fill(daemon, count, lane=1, *, is_under_way=False, is_sent=False):
    """Put `count` deliveries into the empty store of a daemon that does not run; how many seconds that took.

    They wait and are due; `is_under_way`: all are `sending`, 1,199 of them with their mark; `is_sent`: an hour ago.
    """
    daemon.start()
    daemon.post("/v1/jobs", job(0) | {"send_at": "2090-01-01T00:00:00Z"})
    daemon.stop()
    began = time.monotonic()
    conn = sqlite3.connect(daemon.state / "postroom.db", isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -400000"):
        conn.execute(f"PRAGMA {pragma}")
    given = {"count": count + 1, "lane": lane, "due": time.time_ns() // 1000 - HOUR}
    conn.execute("BEGIN")
    for table, changed in COPIES.items():
        if table == "delivery" and is_under_way:
            changed = changed | UNDER_WAY  # noqa: PLW2901
        if is_sent:
            changed = changed | SENT.get(table, {})  # noqa: PLW2901
        _copy(conn, table, changed, given)
    conn.execute("COMMIT")
    conn.close()
    return time.monotonic() - began


def _copy(conn, table, changed, given):
    names = [row[1] for row in conn.execute(f"PRAGMA table_info({table})")]
    values = [changed.get(name, "n" if name == "number" else f"t.{name}") for name in names]
    conn.execute(
        f"{COUNTED} INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)}"
        f" FROM counted, (SELECT * FROM {table} LIMIT 1) AS t",
        given,
    )
