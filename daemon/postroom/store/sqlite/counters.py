"""Numbers for rows that are still to be written: given from memory, so that a job's ids are known before its commit.

A number that was given and never stored leaves a gap, which means nothing. Every other number ever stored lies below,
also those of rows that retention took (AUTOINCREMENT remembers).
"""

import sqlite3
from typing import Final


_LAST: Final = "SELECT name, seq FROM sqlite_sequence"


class Counters:
    """The next job, delivery and thread number."""

    def __init__(self, last_job: int, last_delivery: int, last_thread: int) -> None:
        self._job = last_job + 1
        self._delivery = last_delivery + 1
        self._thread = last_thread + 1

    def reserve(self, jobs: int, deliveries: int, threads: int) -> tuple[int, int, int]:
        """The first of so many numbers each."""
        first = (self._job, self._delivery, self._thread)
        self._job += jobs
        self._delivery += deliveries
        self._thread += threads
        return first


def read_counters(conn: sqlite3.Connection) -> Counters:
    """Counters that go on from the highest numbers ever stored."""
    last = {row["name"]: row["seq"] for row in conn.execute(_LAST)}
    return Counters(last.get("job", 0), last.get("delivery", 0), last.get("thread", 0))
