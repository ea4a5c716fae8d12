"""64 agents on one inbox while the daemon is killed: every event is handled once, in order, by one of them at a time."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from postroom.cli.demo_relay import DELETED
from postroom.client import Client
from postroom.client.errors import Conflict, PostroomError
from postroom.client.fields import LeaseFields
from support.real_daemon import RealDaemon, real_daemon


AGENTS, CONVERSATIONS, MAILS = 64, 8, 5
TOTAL = CONVERSATIONS * MAILS
WISH: LeaseFields = {"types": ["delivery.failed"], "max_events": 2, "lease_s": 30.0}


@dataclass
class Desk:
    """What all agents together saw."""

    daemon: RealDaemon
    lock: threading.Lock = field(default_factory=threading.Lock)
    holders: set[str] = field(default_factory=set)
    handled: dict[str, list[int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def count(self) -> int:
        with self.lock:
            return sum(map(len, self.handled.values()))

    @contextmanager
    def holding(self, thread: str) -> Iterator[None]:
        with self.lock:
            if thread in self.holders:
                self.faults.append(f"{thread} has two holders")
            self.holders.add(thread)
        try:
            yield
        finally:
            with self.lock:
                self.holders.discard(thread)

    def work(self) -> None:
        """One agent: it answers each event with a mail to an address of its own."""
        client = Client(self.daemon.client.socket, retry_s=20)
        while not self.over.is_set():
            try:
                leases = client.lease("agents", wait_s=1, **WISH)
                for lease in leases:
                    self.handle(client, lease)
            except PostroomError as error:
                with self.lock:
                    self.faults.append(repr(error))
                return

    def handle(self, client: Client, lease: dict) -> None:  # type: ignore[type-arg]
        thread, seqs = lease["thread"]["id"], [event["seq"] for event in lease["events"]]
        replies = [
            {
                "mailbox_id": "support",
                "to": [f"seq{seq}@example.com"],
                "subject": "Done",
                "text": "x",
            }
            for seq in seqs
        ]
        with self.holding(thread):
            try:
                client.complete(lease, replies)
            except Conflict as error:
                with self.lock:
                    self.faults.append(error.code)
                return
        with self.lock:
            self.handled.setdefault(thread, []).extend(seqs)


@pytest.mark.timeout(120)
def test_64_agents_share_an_inbox_of_a_daemon_that_is_killed() -> None:
    with real_daemon() as daemon:
        desk = Desk(daemon)
        agents = [threading.Thread(target=desk.work, daemon=True) for _ in range(AGENTS)]
        for one in agents:
            one.start()
        for number in range(TOTAL):
            daemon.client.send(
                "support",
                DELETED,
                "Hi",
                "x",
                conversation_id=f"c{number % CONVERSATIONS}",
                idempotency_key=f"k{number}",
            )
            if number in {TOTAL // 4, TOTAL // 2, 3 * TOTAL // 4}:
                assert daemon.process is not None
                daemon.process.kill()
                daemon.process.wait()
                daemon.start()
        end = threading.Event()
        for _ in range(400):
            if desk.count >= TOTAL or desk.faults:
                break
            end.wait(0.1)
        desk.over.set()
        for one in agents:
            one.join(30)
        assert desk.faults == []
        check(desk)


def check(desk: Desk) -> None:
    client = desk.daemon.client
    failed = [e for e in client.every(client.events, limit=500) if e["type"] == "delivery.failed"]
    expected: dict[str, list[int]] = {}
    for event in failed:
        expected.setdefault(event["thread"]["id"], []).append(event["seq"])
    assert desk.handled == expected
    assert sum(map(len, expected.values())) == TOTAL
    jobs = Counter(
        job["deliveries"][0]["recipient"] for job in client.every(client.jobs, limit=500)
    )
    assert {jobs[f"seq{event['seq']}@example.com"] for event in failed} == {1}
    assert all(desk.daemon.relay.copies(recipient) <= 1 for recipient in jobs)
    (consumer,) = client.consumers()["items"]
    assert (consumer["pending"], consumer["dead"], consumer["leased"]) == (0, 0, 0)
