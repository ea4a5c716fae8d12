"""Completing a lease: acknowledge and accept the replies, in one transaction or not at all.

Answers in the lease's own thread carry the lease, so that each is judged as if its holder had sent it. What can not be accepted undoes the
whole call to a savepoint, and the lease lives on. What was done is kept with the lease, for whoever asks again.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from postroom.core.instant import Instant
from postroom.core.job import LeaseClaim
from postroom.ports.accepting import Accepted, AcceptResult, LeaseLost, NewJob, Replayed
from postroom.ports.changes import Change, ThreadWaits
from postroom.ports.leasing import Completed, CompleteResult, NotShown, ReplyStopped
from postroom.store.sqlite.accept_unit import accept
from postroom.store.sqlite.lease_end import end, end_due, find_lease
from postroom.store.sqlite.lease_rows import read_seqs, seqs_text
from postroom.store.sqlite.unit import UnitResult


_ACK: Final = """
    DELETE FROM pending WHERE consumer = ? AND seq IN (SELECT value FROM json_each(?))"""
_LEFT: Final = """
    SELECT 1 FROM pending WHERE consumer = ? AND thread = ? AND dead_at IS NULL LIMIT 1"""


class _Done(msgspec.Struct):
    """What a lease's row keeps of its completion."""

    acked: tuple[int, ...]
    jobs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Completing:
    """A unit that completes a lease."""

    claim: LeaseClaim
    ack: tuple[int, ...] | None
    replies: Sequence[NewJob | int]
    at: Instant
    has_spool_file: Callable[[str], bool]

    def __call__(self, conn: sqlite3.Connection) -> UnitResult[CompleteResult]:
        """What was done, or why nothing was."""
        changes = end_due(conn, self.at, self.claim)
        row = find_lease(conn, self.claim)
        before = judge(row)
        if row is None or before is not None:
            return UnitResult(before or LeaseLost(), tuple(changes))
        shown = read_seqs(row["shown"])
        acked = shown if self.ack is None else tuple(sorted(set(self.ack)))
        strange = tuple(seq for seq in acked if seq not in shown)
        if strange:
            return UnitResult(NotShown(strange), tuple(changes))
        answered = self._accept_all(conn, row["thread"])
        if isinstance(answered, ReplyStopped):
            return UnitResult(answered, tuple(changes))
        conn.execute(_ACK, (row["consumer"], seqs_text(acked)))
        done = _Done(acked, answered.jobs)
        end(conn, row["number"], "completed", self.at, result=msgspec.json.encode(done).decode())
        changes += answered.changes
        if conn.execute(_LEFT, (row["consumer"], row["thread"])).fetchone():
            changes.append(ThreadWaits(row["consumer"], row["thread"]))
        completed = Completed(acked, answered.jobs, answered.results, is_repeat=False)
        return UnitResult(completed, tuple(changes))

    def _accept_all(self, conn: sqlite3.Connection, thread: int) -> "_Answered | ReplyStopped":
        """Accept the replies; of none of them anything is left when one can not be accepted."""
        made = _Answered((), (), ())
        conn.execute("SAVEPOINT replies")
        for index, reply in enumerate(self.replies):
            if isinstance(reply, int):
                made = made.and_known(reply)
                continue
            is_here = reply.answers is not None and reply.job.thread_number == thread
            held = replace(reply, lease=reply.lease or self.claim) if is_here else reply
            one = accept(conn, held, self.has_spool_file)
            if not isinstance(one.value, Accepted | Replayed):
                conn.execute("ROLLBACK TO replies")
                conn.execute("RELEASE replies")
                return ReplyStopped(index, one.value)
            made = made.and_new(one.value.number, one.value, one.changes)
        conn.execute("RELEASE replies")
        return made


@dataclass(frozen=True, slots=True)
class _Answered:
    """The replies so far."""

    jobs: tuple[int, ...]
    results: tuple[AcceptResult, ...]
    changes: tuple[Change, ...]

    def and_known(self, job: int) -> "_Answered":
        """With a job that was there before."""
        return replace(self, jobs=(*self.jobs, job))

    def and_new(self, job: int, result: AcceptResult, changes: tuple[Change, ...]) -> "_Answered":
        """With a job that was accepted now."""
        return _Answered((*self.jobs, job), (*self.results, result), (*self.changes, *changes))


def judge(row: sqlite3.Row | None) -> Completed | LeaseLost | None:
    """What a lease that has ended says to `complete`; None when it lives."""
    if row is None:
        return LeaseLost()
    if row["state"] == "completed":
        done = msgspec.json.decode(row["result"], type=_Done)
        return Completed(done.acked, done.jobs, (), is_repeat=True)
    return None if row["state"] == "live" else LeaseLost()
