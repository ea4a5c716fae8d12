"""An error of SQLite at the n-th statement of a lease, its extension and its answer, for every n (HAZARDS §1.5, Q13, Q14)."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from postroom.core.instant import SECOND
from postroom.ports.errors import StoreBroken, StoreError
from postroom.ports.leasing import Completed, Lease
from support.clock import HandClock
from support.lease_desk import LeaseDesk
from support.store_host import FAULTS, NOON, FailingDisk, outbox_at, rows_in
from support.store_jobs import new_job


T = TypeVar("T")

MOST = 200


async def until_taken(act: Callable[[], Awaitable[T]]) -> T:
    """What is answered when the error is over."""
    try:
        return await act()
    except StoreBroken:
        raise
    except StoreError:
        return await act()


async def take_and_answer(desk: LeaseDesk, seq: int) -> tuple[int, int]:
    (lease,) = await until_taken(lambda: desk.lease(attempt_id=f"try-{seq}"))
    assert [one.seq for one in lease.events] == [seq]
    await until_taken(lambda: desk.extend(lease))
    return seq, await complete(desk, lease, seq)


async def complete(desk: LeaseDesk, lease: Lease, seq: int) -> int:
    new = new_job(desk.outbox.intake, thread_number=lease.thread.number, at=desk.clock.now())
    reply = replace(new, answers=seq)
    done = await until_taken(lambda: desk.complete(lease, reply))
    assert isinstance(done, Completed), done
    return seq


@pytest.mark.parametrize("kind", FAULTS)
async def test_an_event_is_answered_once_whichever_statement_fails(
    kind: str, tmp_path: Path
) -> None:
    disk, clock, n, is_over = FailingDisk(kind), HandClock(NOON), 0, False
    while not is_over:
        try:
            async with outbox_at(tmp_path / "state", disk) as outbox:
                desk = LeaseDesk(outbox, clock)
                for lease in await desk.lease(
                    max_threads=100
                ):  # what a store that broke left behind
                    await complete(desk, lease, lease.events[0].seq)
                while not is_over:
                    n += 1
                    disk.arm(0)
                    thread = await desk.thread()
                    seq = await desk.event(thread)
                    disk.arm(n)
                    await take_and_answer(desk, seq)
                    is_over = disk.fired is None
                    disk.arm(0)
        except StoreBroken:
            disk.arm(0)
            clock.move(120 * SECOND)  # the lease of the daemon that ended is over
        assert n < MOST
    events = rows_in(tmp_path, "SELECT count(*) FROM event WHERE type = 'reply.received'")
    answers = rows_in(tmp_path, "SELECT count(*), count(DISTINCT thread) FROM delivery")
    assert rows_in(tmp_path, "SELECT count(*) FROM pending") == [(0,)]
    assert events == [(n,)]
    assert answers == [(n, n)]
    assert n > 20
