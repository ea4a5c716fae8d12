"""Events put into a real store by hand, and a consumer's calls with everything that a test does not care about filled in."""

import json
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from postroom.core.eventtypes import EventType
from postroom.core.instant import SECOND, Instant
from postroom.core.job import LeaseClaim
from postroom.ports.accepting import NewJob
from postroom.ports.changes import Change
from postroom.ports.leasing import CompleteResult, Lease, LeaseWish, Release
from postroom.store.sqlite.log import NewEvent, append
from postroom.store.sqlite.outbox import Outbox
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.clock import HandClock
from support.store_host import HERE, NOON, outbox_in
from support.store_jobs import new_job


REPLY = EventType.REPLY_RECEIVED


@dataclass
class LeaseDesk:
    """One open store; `heard` is what the commits told."""

    outbox: Outbox
    clock: HandClock
    heard: list[Change] = field(default_factory=list)

    def committed(self, changes: Sequence[Change]) -> None:
        self.heard += changes

    async def thread(self, mailbox_id: str = "support") -> int:
        def unit(conn: sqlite3.Connection) -> UnitResult[int]:
            sql = "INSERT INTO thread (mailbox_id, created_at) VALUES (?, ?) RETURNING number"
            (number,) = conn.execute(sql, (mailbox_id, NOON)).fetchone()
            return UnitResult(number)

        return await self.outbox.database.write(unit, lane=WriteLane.REST)

    async def event(self, thread: int, kind: EventType = REPLY, text: str = "", **more: Any) -> int:
        """An event as publishing writes it; its seq."""

        def unit(conn: sqlite3.Connection) -> UnitResult[int]:
            (mailbox_id,) = conn.execute(
                "SELECT mailbox_id FROM thread WHERE number = ?", (thread,)
            ).fetchone()
            event = NewEvent(
                type=kind,
                mailbox_id=mailbox_id,
                thread=thread,
                delivery=None,
                at=self.clock.now(),
                data=json.dumps({"text": text, **more}),
                is_accepted=more.get("accepted", True),
            )
            told = append(conn, event)
            return UnitResult(told.seq, (told,))

        return await self.outbox.database.write(unit, lane=WriteLane.REST)

    async def forget_event(self, seq: int) -> None:
        """As retention does."""

        def unit(conn: sqlite3.Connection) -> UnitResult[None]:
            conn.execute("DELETE FROM event WHERE seq = ?", (seq,))
            return UnitResult(None)

        await self.outbox.database.write(unit, lane=WriteLane.REST)

    async def count(self, table: str) -> int:
        sql = f"SELECT count(*) FROM {table}"  # noqa: S608
        return await self.outbox.database.read(lambda conn: int(conn.execute(sql).fetchone()[0]))

    async def lease(self, consumer: str = "agent", **more: Any) -> Any:
        given = {
            "mailbox_ids": ("support",),
            "types": None,
            "max_threads": 1,
            "max_events": 100,
            "lease_s": 60.0,
            "attempt_id": None,
            **more,
        }
        return await self.outbox.leases.acquire(
            LeaseWish(consumer=consumer, at=self.clock.now(), **given)
        )

    async def one(self, consumer: str = "agent", **more: Any) -> Lease:
        (lease,) = await self.lease(consumer, **more)
        return lease

    async def complete(
        self, lease: Lease, *replies: NewJob | int, ack: Sequence[int] | None = None
    ) -> CompleteResult:
        return await self.outbox.leases.complete(claim_of(lease), ack, replies, self.clock.now())

    async def release(self, lease: Lease, delay_s: float = 0, *, is_failed: bool = False) -> object:
        back = Release(delay_s, "not now", is_failed)
        return await self.outbox.leases.release(claim_of(lease), back, self.clock.now())

    async def extend(self, lease: Lease, lease_s: float = 60.0) -> object:
        return await self.outbox.leases.extend(claim_of(lease), lease_s, self.clock.now())

    def pass_s(self, seconds: float) -> None:
        self.clock.move(round(seconds * SECOND))


def claim_of(lease: Lease) -> LeaseClaim:
    return LeaseClaim(lease.number, lease.fence)


def seqs(lease: Lease) -> list[int]:
    return [event.seq for event in lease.events]


@asynccontextmanager
async def lease_desk(directory: Path, at: Instant = NOON) -> AsyncIterator[LeaseDesk]:
    clock = HandClock(at)
    async with outbox_in(directory, clock, rules=HERE) as outbox:
        desk = LeaseDesk(outbox, clock)
        outbox.database.watch(desk)
        yield desk


def reply_of(desk: LeaseDesk, thread: int, seq: int, **more: Any) -> NewJob:
    new = new_job(desk.outbox.intake, thread_number=thread, at=desk.clock.now(), **more)
    return replace(new, answers=seq)
