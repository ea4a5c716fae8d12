"""What leases, waiting events and their holders must be after each step, beside a store on a real SQLite."""

import shutil
import sqlite3
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from postroom.core.instant import SECOND, Instant
from postroom.ports.accepting import NewJob
from postroom.ports.leasing import Completed, Lease, LeaseWish
from postroom.store.sqlite.unit import Unit
from support.desk_store import NOW, prepare
from support.store_jobs import new_job


T = TypeVar("T")

THREADS = 3
CONSUMERS = ("agents", "crm")
HOUR = 3600 * SECOND
DAY = 24 * HOUR
DIES_AT, ALONE_AT = 10, 5


class Numbers:
    """Job, delivery and thread numbers for new jobs."""

    def __init__(self) -> None:
        self.next = 1000

    def reserve(self, jobs: int, deliveries: int, threads: int) -> tuple[int, int, int]:
        first = self.next
        self.next += 10
        return first, first, first


@dataclass
class Held:
    """A lease as the model knows it."""

    consumer: str
    thread: int
    fence: int
    shown: list[int]
    most: int
    expires_at: int
    state: str = "live"
    acked: tuple[int, ...] = ()
    jobs: tuple[int, ...] = ()


@dataclass
class Waits:
    """An event that waits for a consumer."""

    thread: int
    failures: int = 0
    is_dead: bool = False


class LeaseModel(RuleBasedStateMachine):
    """A store whose units are run one by one, and beside it the few lines that say what they must do."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "postroom.db"
        self.conn = self.opened(is_new=True)
        self.now = int(NOW)
        self.numbers: Any = Numbers()
        self.waits: dict[str, dict[int, Waits]] = {name: {} for name in CONSUMERS}
        self.leases: dict[int, Held] = {}
        self.delays: dict[tuple[str, int], int] = {}
        self.fences: dict[tuple[str, int], int] = {}
        self.answers: dict[int, int] = {}

    def opened(self, *, is_new: bool = False) -> sqlite3.Connection:
        conn = sqlite3.connect(self.path, isolation_level=None)
        conn.row_factory = sqlite3.Row
        if is_new:
            prepare(conn)
            for _ in range(THREADS):
                conn.execute("INSERT INTO thread (mailbox_id, created_at) VALUES ('support', 0)")
        conn.execute("PRAGMA synchronous = OFF")
        return conn

    def teardown(self) -> None:
        self.conn.close()
        shutil.rmtree(self.folder)

    def run(self, unit: Unit[T]) -> T:
        self.conn.execute("BEGIN IMMEDIATE")
        value = unit(self.conn).value
        self.conn.execute("COMMIT")
        return value

    def end_due(self) -> None:
        for held in self.leases.values():
            if held.state != "live":
                continue
            held.expires_at = min(held.expires_at, self.now + HOUR)
            if held.expires_at <= self.now:
                held.state = "expired"
                self.burn(held)
        self.delays = {key: min(until, self.now + DAY) for key, until in self.delays.items()}
        self.delays = {key: until for key, until in self.delays.items() if until > self.now}

    def burn(self, held: Held) -> None:
        for seq in held.shown:
            waits = self.waits[held.consumer][seq]
            waits.failures += 1
            waits.is_dead = waits.failures >= DIES_AT

    def alive(self, consumer: str, thread: int) -> list[int]:
        found = self.waits[consumer]
        return sorted(s for s, one in found.items() if one.thread == thread and not one.is_dead)

    def free(self, consumer: str) -> list[int]:
        """Threads that can be leased, the one that waits longest first."""
        taken = {
            h.thread for h in self.leases.values() if (h.consumer, h.state) == (consumer, "live")
        }
        taken |= {thread for name, thread in self.delays if name == consumer}
        threads = [one for one in range(1, THREADS + 1) if one not in taken]
        threads = [one for one in threads if self.alive(consumer, one)]
        return sorted(threads, key=lambda one: self.alive(consumer, one)[0])

    def claims(self) -> list[tuple[int, Held]]:
        return sorted(self.leases.items())

    def pick(self, data: st.DataObject) -> tuple[int, Held]:
        return data.draw(st.sampled_from(self.claims()))

    def wish(self, consumer: str, threads: int, events: int, lease_s: float) -> LeaseWish:
        at = Instant(self.now)
        return LeaseWish(consumer, ("support",), None, threads, events, lease_s, None, at)

    def granted(self, consumer: str, lease: Lease, max_events: int) -> None:
        thread = lease.thread.number
        alive = self.alive(consumer, thread)
        most = 1 if self.waits[consumer][alive[0]].failures >= ALONE_AT else max_events
        shown = [event.seq for event in lease.events]
        assert shown == alive[:most]
        assert lease.has_more == (len(alive) > most)
        assert lease.fence > self.fences.get((consumer, thread), 0)
        self.fences[consumer, thread] = lease.fence
        held = Held(consumer, thread, lease.fence, shown, most, lease.expires_at)
        self.leases[lease.number] = held

    def reply(self, thread: int, seq: int) -> NewJob:
        new = new_job(self.numbers, thread_number=thread, at=Instant(self.now))
        return replace(new, answers=seq)

    def completed(self, held: Held, got: object, acked: tuple[int, ...]) -> None:
        assert isinstance(got, Completed)
        assert (got.acked, got.is_repeat) == (acked, False)
        for job in got.jobs:
            assert held.shown[0] not in self.answers
            self.answers[held.shown[0]] = job
        held.state, held.acked, held.jobs = "completed", acked, got.jobs
        for seq in acked:
            del self.waits[held.consumer][seq]
