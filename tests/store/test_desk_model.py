"""Whatever people and the loop do to a store in any order, it stays a store."""

import sqlite3
from collections import Counter
from contextlib import ExitStack
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from postroom.core.delivery import UNSETTLED, WAITING, DeliveryState, may_become
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.core.status import JobStatus, job_status
from postroom.ops.depth import Depth
from postroom.ports.changes import Change, RowsGone, RowsWaiting, StateMoved
from postroom.ports.desk import CancelAnswer, Verdict, WrongState
from postroom.store.sqlite.admin_cancel import Cancelling, Rescheduling
from postroom.store.sqlite.admin_mailbox import NotingMailboxes, SettlingMailbox
from postroom.store.sqlite.admin_retry import Resolving, Retrying
from postroom.store.sqlite.reads_deliveries import count_by_state
from postroom.store.sqlite.retention_jobs import Closing, Removing, find_old
from postroom.store.sqlite.transition import MOVED, Step, record
from postroom.store.sqlite.unit import Unit
from support.desk_store import ANN, NOW, memory, one, put_job, run


S = DeliveryState
T = TypeVar("T")
MAILBOXES = ("support", "reports")
AGEING = (JobStatus.COMPLETED, JobStatus.CANCELLED, JobStatus.PARTIAL, JobStatus.FAILED)
OUTCOMES = (S.SENT, S.FAILED, S.UNCERTAIN, S.RETRY_SCHEDULED, S.PENDING)

SETTLED = tuple(set(S) - UNSETTLED)
FEW = 4  # so that long lives happen to each

_START = (
    f"UPDATE delivery SET state = 'sending', claim = claim + 1 WHERE number = ? RETURNING {MOVED}"  # noqa: S608
)
_MARK = "UPDATE delivery SET marked_at = ? WHERE number = ?"
_FINISH = f"""
    UPDATE delivery SET state = ?, due_at = ?, settled_at = ?, marked_at = CASE WHEN ? = 'uncertain' THEN marked_at END
    WHERE number = ? RETURNING {MOVED}"""  # noqa: S608


class Desk(RuleBasedStateMachine):
    """A store, a clock that only rises, and what the observer knows."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.conn = self.stack.enter_context(memory())
        self.depth = Depth({})
        self.accepted = 0
        self.waiting: set[int] = set()
        self.now = NOW

    def teardown(self) -> None:
        self.stack.close()

    def tick(self) -> Instant:
        self.now = Instant(self.now + 1)
        return self.now

    def told(self, changes: tuple[Change, ...]) -> None:
        self.depth.committed(changes)
        for change in changes:
            if isinstance(change, RowsGone):
                assert self.waiting.issuperset(change.numbers)
                self.waiting.difference_update(change.numbers)
        if any(isinstance(change, RowsWaiting) for change in changes):
            self.waiting |= set(self.numbers(*WAITING))

    def do(self, unit: Unit[T]) -> T:
        value, changes = run(self.conn, unit)
        self.told(changes)
        return value

    def state(self, number: int) -> S:
        return S(one(self.conn, number)["state"])

    def numbers(self, *states: S) -> list[int]:
        rows = self.conn.execute("SELECT number, state FROM delivery ORDER BY number")
        return [row["number"] for row in rows if row["state"] in states]

    @precondition(lambda self: len(self.numbers(*S)) < FEW)
    @rule(
        mailbox=st.sampled_from(MAILBOXES),
        count=st.integers(1, 3),
        not_after=st.none() | st.integers(20, 400),
    )
    def accept(self, mailbox: str, count: int, not_after: int | None) -> None:
        deadline = None if not_after is None else self.now + not_after
        put_job(
            self.conn,
            *[S.PENDING] * count,
            mailbox_id=mailbox,
            created_at=self.tick(),
            delivery={"not_after": deadline},
        )
        self.accepted += count
        self.told(
            (
                StateMoved(mailbox, Lane.STANDARD, None, S.PENDING, None, count),
                RowsWaiting(mailbox, Lane.STANDARD, self.now, None),
            )
        )

    @precondition(lambda self: self.numbers(*WAITING))
    @rule(pick=st.data(), is_marked=st.booleans())
    def begin(self, pick: st.DataObject, *, is_marked: bool) -> None:
        self.start(pick, is_marked=is_marked)

    def start(self, pick: st.DataObject, *, is_marked: bool) -> int:
        number = pick.draw(st.sampled_from(self.numbers(*WAITING)))
        before = self.state(number)
        row = self.conn.execute(_START, (number,)).fetchone()
        self.told(record(self.conn, row, Step(before, S.SENDING, self.tick(), "loop")))
        self.waiting.discard(number)  # the loop took it itself
        if is_marked:
            self.conn.execute(_MARK, (self.now, number))
        return number

    @precondition(lambda self: self.numbers(*WAITING))
    @rule(pick=st.data(), outcome=st.sampled_from(OUTCOMES))
    def attempt(self, pick: st.DataObject, outcome: S) -> None:
        self.finish(self.start(pick, is_marked=False), outcome)

    @precondition(lambda self: self.numbers(S.SENDING))
    @rule(pick=st.data(), outcome=st.sampled_from(OUTCOMES))
    def answer(self, pick: st.DataObject, outcome: S) -> None:
        self.finish(pick.draw(st.sampled_from(self.numbers(S.SENDING))), outcome)

    def finish(self, number: int, outcome: S) -> None:
        if outcome is S.UNCERTAIN:
            self.conn.execute(_MARK, (self.now, number))
        due, ended = (self.now, None) if outcome in UNSETTLED else (None, self.now)
        row = self.conn.execute(_FINISH, (outcome, due, ended, outcome, number)).fetchone()
        self.told(record(self.conn, row, Step(S.SENDING, outcome, self.tick(), "loop")))

    @precondition(lambda self: self.numbers(*S))
    @rule(pick=st.data())
    def cancel(self, pick: st.DataObject) -> None:
        number = pick.draw(st.sampled_from(self.numbers(*S)))
        (answer,) = self.do(Cancelling((number,), ANN, self.tick()))
        state = self.state(number)
        assert (state == "cancelled") == (answer.answer is CancelAnswer.CANCELLED)
        assert (state == "uncertain") == (answer.answer is CancelAnswer.UNCERTAIN)

    @precondition(lambda self: self.numbers(S.FAILED))
    @rule(pick=st.data())
    def retry(self, pick: st.DataObject) -> None:
        number = pick.draw(st.sampled_from(self.numbers(S.FAILED)))
        answer = self.do(Retrying(number, ANN, self.tick()))
        assert isinstance(answer, WrongState) == (self.state(number) is S.FAILED)

    @precondition(lambda self: self.numbers(S.UNCERTAIN))
    @rule(pick=st.data(), verdict=st.sampled_from(Verdict))
    def resolve(self, pick: st.DataObject, verdict: Verdict) -> None:
        number = pick.draw(st.sampled_from(self.numbers(S.UNCERTAIN)))
        answer = self.do(Resolving(number, ANN, self.tick(), verdict))
        assert isinstance(answer, WrongState) == (self.state(number) is S.UNCERTAIN)

    @precondition(lambda self: self.accepted)
    @rule(job=st.integers(1, 5), ahead=st.integers(-5, 50))
    def reschedule(self, job: int, ahead: int) -> None:
        self.do(Rescheduling(job, Instant(self.now + ahead), ANN, self.tick()))

    @precondition(lambda self: self.accepted)
    @rule(configured=st.sets(st.sampled_from(MAILBOXES)), limit=st.integers(1, 3))
    def configure(self, configured: set[str], limit: int) -> None:
        known = self.do(NotingMailboxes(frozenset(configured), self.tick()))
        for mailbox in known:
            while self.do(SettlingMailbox(mailbox, self.now, limit)):
                pass
        for mailbox in set(known) - configured:
            waits = "SELECT number FROM delivery WHERE mailbox_id = ? AND state IN ('pending', 'retry_scheduled')"
            assert not self.conn.execute(waits, (mailbox,)).fetchall()

    @precondition(lambda self: self.numbers(*SETTLED))
    @rule(status=st.sampled_from(AGEING), budget=st.integers(1, 9))
    def age(self, status: JobStatus, budget: int) -> None:
        old = find_old(self.conn, status, self.now, (0, 0), 2)
        left = self.do(Closing(old.numbers, status, self.tick()))
        while left:
            left = self.do(Removing(left, budget))

    def rows(self, sql: str) -> list[sqlite3.Row]:
        return self.conn.execute(sql).fetchall()

    @invariant()
    def no_delivery_is_lost(self) -> None:
        there = len(self.rows("SELECT number FROM delivery"))
        buried = len(self.rows("SELECT number FROM delivery_tombstone"))
        assert there + buried == self.accepted

    @invariant()
    def only_settled_deliveries_without_doubt_age(self) -> None:
        states = {row["state"] for row in self.rows("SELECT state FROM delivery_tombstone")}
        assert not states & {*UNSETTLED, S.UNCERTAIN}

    @invariant()
    def depth_equals_a_recount(self) -> None:
        assert self.depth.counts() == count_by_state(self.conn)
        open_ones = Counter(
            row["mailbox_id"]
            for row in self.rows("SELECT * FROM delivery")
            if row["state"] in UNSETTLED
        )
        assert all(self.depth.depth(mailbox) == open_ones[mailbox] for mailbox in MAILBOXES)

    @invariant()
    def the_observer_knows_what_waits(self) -> None:
        assert self.waiting == set(self.numbers(*WAITING))

    @invariant()
    def history_is_an_unbroken_walk_through_the_table(self) -> None:
        for row in self.rows("SELECT number, state FROM delivery"):
            steps = self.conn.execute(
                "SELECT before, after FROM history WHERE delivery = ? ORDER BY number",
                (row["number"],),
            ).fetchall()
            at = None
            for step in steps:
                assert step["before"] == at
                assert at is None or may_become(S(at), S(step["after"]))
                at = step["after"]
            assert at == row["state"]

    @invariant()
    def a_job_has_a_status_only_when_all_is_settled(self) -> None:
        states: dict[int, list[S]] = {}
        for row in self.rows("SELECT job, state FROM delivery"):
            states.setdefault(row["job"], []).append(S(row["state"]))
        for row in self.rows("SELECT number, settled_status, settled_at FROM job"):
            found = states[row["number"]]
            is_open = any(state in UNSETTLED for state in found)
            assert row["settled_status"] == (None if is_open else job_status(found))
            assert (row["settled_at"] is None) == is_open

    @invariant()
    def only_what_is_settled_has_an_end(self) -> None:
        for row in self.rows("SELECT * FROM delivery"):
            settled = row["state"] not in UNSETTLED
            assert (row["due_at"] is None) == settled
            assert (row["settled_at"] is not None) == settled
            assert (row["hold_reason"] is not None) == (row["state"] == S.HELD)
            assert not (row["doubts"] and row["state"] in (S.CANCELLED, S.SKIPPED))


TestDesk = Desk.TestCase
TestDesk.settings = settings(max_examples=50, stateful_step_count=60, deadline=None)
