"""Any story of consumers, crashes, pauses and clocks that jump: order, one holder, nothing lost, nothing done twice."""

import json
import sqlite3
from collections.abc import Callable

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from postroom.core.eventtypes import EventType
from postroom.core.instant import SECOND, Instant
from postroom.core.job import LeaseClaim
from postroom.ports.accepting import AlreadyReplied, LeaseLost
from postroom.ports.leasing import Completed, Lease, Release, Released, ReplyStopped
from postroom.store.sqlite.lease_acquire import Acquiring, Extending
from postroom.store.sqlite.lease_complete import Completing
from postroom.store.sqlite.lease_consumers import Reviving
from postroom.store.sqlite.lease_end import Releasing, Sweeping
from postroom.store.sqlite.log import NewEvent, append
from support.lease_model import ALONE_AT, CONSUMERS, DAY, THREADS, LeaseModel, Waits


class LeaseStory(LeaseModel):
    """The store's own units against the model."""

    def __init__(self) -> None:
        super().__init__()
        for name in CONSUMERS:
            self.acquire(name, 1, 100, 60.0)

    @rule(thread=st.integers(1, THREADS))
    def publish(self, thread: int) -> None:
        kind = EventType.REPLY_RECEIVED
        event = NewEvent(kind, "support", thread, None, Instant(self.now), json.dumps({}))
        self.conn.execute("BEGIN IMMEDIATE")
        told = append(self.conn, event)
        self.conn.execute("COMMIT")
        assert set(told.consumers) == set(CONSUMERS)
        for name in CONSUMERS:
            self.waits[name][told.seq] = Waits(thread)

    @rule(
        consumer=st.sampled_from(CONSUMERS),
        max_threads=st.integers(1, 3),
        max_events=st.sampled_from([1, 2, 100]),
        lease_s=st.sampled_from([1.0, 60.0, 3600.0]),
    )
    def acquire(self, consumer: str, max_threads: int, max_events: int, lease_s: float) -> None:
        self.end_due()
        expected = self.free(consumer)[:max_threads]
        got = self.run(Acquiring(self.wish(consumer, max_threads, max_events, lease_s)))
        assert [one.thread.number for one in got] == expected
        for one in got:
            self.granted(consumer, one, max_events)

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), lease_s=st.sampled_from([1.0, 600.0]))
    def extend(self, data: st.DataObject, lease_s: float) -> None:
        number, held = self.pick(data)
        self.end_due()
        got = self.run(Extending(LeaseClaim(number, held.fence), lease_s, Instant(self.now)))
        if held.state != "live":
            assert got == LeaseLost()
            return
        assert isinstance(got, Lease)
        alive = self.alive(held.consumer, held.thread)
        is_alone = self.waits[held.consumer][alive[0]].failures >= ALONE_AT
        most = 1 if is_alone else held.most
        new = [seq for seq in alive if seq not in held.shown]
        held.shown = sorted(held.shown + new[: max(0, most - len(held.shown))])
        held.expires_at = got.expires_at
        assert [event.seq for event in got.events] == held.shown

    @precondition(lambda self: self.leases)
    @rule(
        data=st.data(),
        delay_s=st.sampled_from([0.0, 30.0, 86_400.0]),
        is_failed=st.booleans(),
    )
    def release(self, data: st.DataObject, delay_s: float, is_failed: bool) -> None:  # noqa: FBT001 - hypothesis names it
        number, held = self.pick(data)
        self.end_due()
        back = Release(delay_s, "", is_failed)
        got = self.run(Releasing(LeaseClaim(number, held.fence), back, Instant(self.now)))
        if held.state in {"completed", "expired"}:
            assert got == LeaseLost()
        elif held.state == "released":
            assert got == Released(is_repeat=True)
        else:
            assert got == Released(is_repeat=False)
            held.state = "released"
            if is_failed:
                self.burn(held)
            if delay_s:
                self.delays[held.consumer, held.thread] = self.now + round(delay_s * SECOND)

    @precondition(lambda self: self.leases)
    @rule(
        data=st.data(),
        is_partial=st.booleans(),
        has_reply=st.booleans(),
        crash=st.booleans(),
    )
    def complete(self, data: st.DataObject, is_partial: bool, has_reply: bool, crash: bool) -> None:  # noqa: FBT001 - hypothesis names them
        number, held = self.pick(data)
        self.end_due()
        ack = tuple(held.shown[:1]) if is_partial else None
        replies = (self.reply(held.thread, held.shown[0]),) if has_reply else ()
        unit = Completing(
            LeaseClaim(number, held.fence), ack, replies, Instant(self.now), lambda sha256: True
        )
        if crash:
            self.crash_in(unit)
            return
        got = self.run(unit)
        if held.state == "completed":
            assert got == Completed(held.acked, held.jobs, (), is_repeat=True)
        elif held.state != "live":
            assert got == LeaseLost()
        elif has_reply and held.shown[0] in self.answers:
            first = self.answers[held.shown[0]]
            assert got == ReplyStopped(0, AlreadyReplied(held.shown[0], first))
        else:
            self.completed(held, got, ack or tuple(held.shown))

    def crash_in(self, unit: Callable[[sqlite3.Connection], object]) -> None:
        """The power goes before the commit: nothing of it is there afterwards."""
        self.conn.execute("BEGIN IMMEDIATE")
        unit(self.conn)
        self.crash()
        self.run(Sweeping(Instant(self.now)))

    @rule()
    def crash(self) -> None:
        self.conn.close()
        self.conn = self.opened()

    @rule(seconds=st.sampled_from([0.5, 1, 30, 61, 600, 3600]))
    def time_passes(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)

    @rule(seconds=st.sampled_from([-30, -3600, -400 * 86_400, 7200, 86_400]))
    def the_clock_jumps(self, seconds: int) -> None:
        self.now = max(DAY, self.now + seconds * SECOND)

    @rule()
    def sweep(self) -> None:
        self.end_due()
        due = self.run(Sweeping(Instant(self.now)))
        timed = [h.expires_at for h in self.leases.values() if h.state == "live"]
        timed += self.delays.values()
        assert due == min(timed, default=None)

    @rule(consumer=st.sampled_from(CONSUMERS), data=st.data())
    def revive(self, consumer: str, data: st.DataObject) -> None:
        dead = sorted(seq for seq, one in self.waits[consumer].items() if one.is_dead)
        if dead:
            seq = data.draw(st.sampled_from(dead))
            assert self.run(Reviving(seq, consumer)) is True
            self.waits[consumer][seq] = Waits(self.waits[consumer][seq].thread)

    @rule(consumer=st.sampled_from(CONSUMERS), data=st.data())
    def fail_often(self, consumer: str, data: st.DataObject) -> None:
        """Ten failures in a row are rare by chance."""
        times = data.draw(st.integers(3, 11))
        for _ in range(times):
            self.acquire(consumer, 1, 100, 1.0)
            self.time_passes(1)

    # -- what always holds

    @invariant()
    def nothing_is_lost_and_nothing_is_there_twice(self) -> None:
        for name in CONSUMERS:
            sql = "SELECT seq, thread, failures, dead_at FROM pending WHERE consumer = ?"
            rows = {
                row["seq"]: Waits(row["thread"], row["failures"], row["dead_at"] is not None)
                for row in self.conn.execute(sql, (name,))
            }
            assert rows == self.waits[name]

    @invariant()
    def what_waits_is_counted(self) -> None:
        counted = "SELECT consumer, mailbox_id, events FROM waiting WHERE events <> 0"
        there = """SELECT consumer, mailbox_id, count(*) AS events FROM pending WHERE dead_at IS NULL
                   GROUP BY consumer, mailbox_id ORDER BY consumer, mailbox_id"""
        assert self.conn.execute(counted).fetchall() == self.conn.execute(there).fetchall()

    @invariant()
    def a_thread_has_one_holder(self) -> None:
        sql = "SELECT consumer, thread, count(*) AS n FROM lease WHERE state = 'live' GROUP BY 1, 2"
        assert all(row["n"] == 1 for row in self.conn.execute(sql))

    @invariant()
    def an_event_has_one_answer(self) -> None:
        (jobs,) = self.conn.execute("SELECT count(*) FROM job").fetchone()
        assert jobs == len(self.answers)


def test_no_story_breaks_the_lease_protocol() -> None:
    run_state_machine_as_test(
        LeaseStory,
        settings=settings(
            max_examples=30,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
