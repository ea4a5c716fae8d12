"""However much is old, each step of retention writes few rows, so that nobody waits long behind it."""

import sqlite3
from collections import Counter
from pathlib import Path

from postroom.core.delivery import DeliveryState
from postroom.core.instant import MINUTE, Instant
from postroom.core.retention import Retention
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.retention import BITE, SqliteRetention
from postroom.store.sqlite.unit import Unit, UnitResult, WriteLane
from support.desk_store import DAY, NOW, database, put


# A thousand and more of everything that ages; each event waits for two consumers.
OLD = f"""
    INSERT INTO consumer VALUES ('a', 0), ('b', 0);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
        INSERT INTO thread (mailbox_id, created_at) SELECT 's', {NOW} FROM n;
    INSERT INTO event (type, mailbox_id, thread, created_at, data)
        SELECT 'reply.received', 's', number, {NOW}, '{{}}' FROM thread;
    INSERT INTO pending (consumer, seq, mailbox_id, thread) SELECT name, seq, 's', thread FROM event, consumer;
    INSERT INTO fence (consumer, thread, fence) SELECT name, number, 1 FROM thread, consumer;
    INSERT INTO thread_delay (consumer, thread, not_before) SELECT name, number, 1 FROM thread, consumer;
    INSERT INTO spool_file SELECT printf('%064x', number), 5, 1, {NOW}, NULL FROM thread;
    INSERT INTO staged (ref, sha256, size_bytes, filename, content_type, principal_uid, created_at)
        SELECT 'att_' || number, printf('%064x', number), 5, 'a', 'text/plain', 0, {NOW} FROM thread;
    INSERT INTO pace_bucket SELECT 'm:s', {NOW} / {MINUTE} - number, 1, 1 FROM thread;
    INSERT INTO delivery_tombstone SELECT number + 5000, 1, 's', number, x'00', '<1@example.com>', 'sent', {NOW} FROM thread;
"""  # noqa: S608


class Counting(Database):
    """Counts what each unit writes."""

    def __init__(self, opened: Database) -> None:
        self.opened = opened
        self.read = opened.read  # type: ignore[method-assign]
        self.written: Counter[str] = Counter()

    async def write(  # type: ignore[override]
        self, unit: Unit[object], *, lane: WriteLane, weight: int = 1
    ) -> object:
        def counted(conn: sqlite3.Connection) -> UnitResult[object]:
            before = conn.total_changes
            done = unit(conn)
            name = type(unit).__name__
            self.written[name] = max(self.written[name], conn.total_changes - before)
            return done

        return await self.opened.write(counted, lane=lane, weight=weight)


async def unlink(sha256: str) -> bool:
    return True


def _fill(conn: sqlite3.Connection) -> UnitResult[None]:
    for statement in OLD.split(";\n"):
        conn.execute(statement)
    return UnitResult(None)


async def test_no_step_writes_more_than_200_rows(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        await opened.write(_fill, lane=WriteLane.REST)
        await put(opened, *[DeliveryState.SENT] * 700, keyed=True)
        for _ in range(300):
            await put(opened, DeliveryState.FAILED)
        counting = Counting(opened)
        kept = SqliteRetention(counting, Retention(), unlink, lambda: True)
        taken = await kept.run(Instant(NOW + 500 * DAY))
        assert (taken.jobs, taken.events, taken.staged, taken.files) == (301, 1200, 1200, 1200)
        assert (taken.threads, taken.buckets) == (2200, 1200)
        assert {name: rows for name, rows in counting.written.items() if rows > BITE} == {}
