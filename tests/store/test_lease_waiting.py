"""How many events wait for whom and since when, for whoever looks after consumers."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from postroom.core.eventtypes import EventType
from postroom.core.instant import SECOND, Instant
from postroom.core.retention import Retention
from postroom.ports.leasing import TooManyConsumers, WaitingEvents
from postroom.store.sqlite.lease_waiting import find_waiting
from postroom.store.sqlite.migrate import shipped
from postroom.store.sqlite.retention import SqliteRetention
from support.lease_desk import LeaseDesk, lease_desk
from support.store_host import NOON


BOUNCE = EventType.DELIVERY_BOUNCED
SENT = EventType.DELIVERY_SENT


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[LeaseDesk]:
    async with lease_desk(tmp_path) as opened:
        yield opened


async def waiting(desk: LeaseDesk) -> tuple[WaitingEvents, ...]:
    return await desk.outbox.leases.find_waiting(desk.clock.now())


async def make(desk: LeaseDesk, name: str, *types: EventType, from_now: bool = False) -> None:
    now = desk.clock.now()
    await desk.outbox.leases.make_consumer(name, types or None, now, from_now=from_now)


def since(seconds: float) -> Instant:
    return Instant(NOON + round(seconds * SECOND))


async def test_where_no_consumer_was_ever_made_nothing_waits(desk: LeaseDesk) -> None:
    await desk.event(await desk.thread())
    assert await waiting(desk) == ()


async def test_every_consumer_has_its_own_count_and_its_own_oldest(desk: LeaseDesk) -> None:
    await make(desk, "agent")
    await make(desk, "bounces", BOUNCE)
    thread, other = await desk.thread(), await desk.thread("sales")
    await desk.event(other)
    desk.pass_s(5)
    await desk.event(thread)
    await desk.event(thread, BOUNCE)
    assert await waiting(desk) == (
        WaitingEvents("agent", 3, 0, since(0)),
        WaitingEvents("bounces", 1, 0, since(5)),
    )


async def test_what_is_leased_waits_but_is_not_the_oldest_that_nobody_holds(
    desk: LeaseDesk,
) -> None:
    await make(desk, "agent")
    held, other = await desk.thread(), await desk.thread()
    await desk.event(held)
    desk.pass_s(5)
    await desk.event(other)
    first = await desk.one(lease_s=60.0)
    assert await waiting(desk) == (WaitingEvents("agent", 2, 1, since(5)),)
    second = await desk.one(lease_s=60.0)
    assert await waiting(desk) == (WaitingEvents("agent", 2, 2, None),)
    desk.pass_s(60)
    assert await waiting(desk) == (WaitingEvents("agent", 2, 0, since(0)),)
    desk.pass_s(-60)
    await desk.complete(first)
    await desk.complete(second)
    assert await waiting(desk) == (WaitingEvents("agent", 0, 0, None),)


async def test_what_was_given_back_for_later_is_in_hands_until_then(desk: LeaseDesk) -> None:
    await make(desk, "agent")
    await desk.event(await desk.thread())
    await desk.release(await desk.one(), delay_s=30)
    assert await waiting(desk) == (WaitingEvents("agent", 1, 0, None),)
    desk.pass_s(30)
    assert await waiting(desk) == (WaitingEvents("agent", 1, 0, since(0)),)


async def test_what_is_dead_waits_no_more(desk: LeaseDesk) -> None:
    await make(desk, "agent")
    await desk.event(await desk.thread())
    for _ in range(10):
        await desk.release(await desk.one(), is_failed=True)
    assert await waiting(desk) == (WaitingEvents("agent", 0, 0, None),)


async def test_nothing_waits_for_a_consumer_longer_than_there_is_one(desk: LeaseDesk) -> None:
    await desk.event(await desk.thread())
    desk.pass_s(100)
    await make(desk, "late")
    assert await waiting(desk) == (WaitingEvents("late", 1, 0, since(100)),)


# -- whose readers are gone --------------------------------------------------------------------------------------------


async def test_what_comes_when_the_last_consumer_of_its_type_is_gone_waits_for_nobody(
    desk: LeaseDesk,
) -> None:
    await make(desk, "agent")
    thread = await desk.thread()
    await desk.event(thread)
    await desk.outbox.leases.drop_consumer("agent", desk.clock.now())
    assert await waiting(desk) == ()
    desk.pass_s(5)
    await desk.event(thread)
    await desk.event(thread, BOUNCE)
    await desk.event(thread, SENT)
    await desk.event(thread, accepted=False)
    assert await waiting(desk) == (WaitingEvents(None, 2, 0, since(5)),)


async def test_a_type_that_nobody_ever_wanted_waits_for_no_one(desk: LeaseDesk) -> None:
    await make(desk, "bounces", BOUNCE)
    await desk.event(await desk.thread())
    assert await waiting(desk) == (WaitingEvents("bounces", 0, 0, None),)


@pytest.mark.parametrize(("start", "events"), [("now", 0), ("oldest", 1)])
async def test_who_makes_a_consumer_has_decided_about_what_waited_for_nobody(
    desk: LeaseDesk, start: str, events: int
) -> None:
    await make(desk, "agent")
    await desk.outbox.leases.drop_consumer("agent", desk.clock.now())
    await desk.event(await desk.thread())
    await make(desk, "next", from_now=start == "now")
    (found,) = await waiting(desk)
    assert (found.consumer, found.events) == ("next", events)


async def test_what_waited_for_nobody_is_forgotten_with_its_age(desk: LeaseDesk) -> None:
    await make(desk, "agent")
    await desk.outbox.leases.drop_consumer("agent", desk.clock.now())
    await desk.event(await desk.thread())
    await make_old(desk)
    assert await waiting(desk) == ()


async def make_old(desk: LeaseDesk) -> None:
    async def unlink(_sha256: str) -> bool:
        return True

    desk.pass_s(40 * 24 * 3600)
    retention = SqliteRetention(desk.outbox.database, Retention(), unlink, lambda: True)
    await retention.run(desk.clock.now())


async def test_there_are_at_most_a_hundred_consumers(desk: LeaseDesk) -> None:
    leases, now = desk.outbox.leases, desk.clock.now()
    for number in range(100):
        await make(desk, f"agent-{number}")
    await desk.event(await desk.thread())
    assert await leases.make_consumer("more", None, now, from_now=True) == TooManyConsumers()
    assert await desk.lease("more") == TooManyConsumers()
    assert await desk.one("agent-7")
    assert await desk.count("consumer") == 100
    await leases.drop_consumer("agent-7", now)
    assert await desk.one("more")


# -- cost --------------------------------------------------------------------------------------------------------------


def steps(path: Path, now: Instant) -> int:
    """How many steps SQLite takes for the answer."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    with closing(sqlite3.connect(path)) as conn:
        conn.row_factory = sqlite3.Row
        conn.set_progress_handler(count, 1)
        find_waiting(conn, now)
    return taken


async def test_neither_what_is_old_nor_what_waits_adds_to_the_cost(tmp_path: Path) -> None:
    async with lease_desk(tmp_path) as desk:
        await make(desk, "agent")
        await make(desk, "hopeless")
        thread = await desk.thread()
        path, now = tmp_path / "state" / "postroom.db", desk.clock.now()
        await desk.event(thread)
        before = steps(path, now)
        for _ in range(300):
            await desk.event(await desk.thread())
        for lease in await desk.lease(max_threads=400):
            await desk.complete(lease)
        for _ in range(10):
            for lease in await desk.lease("hopeless", max_threads=400):
                await desk.release(lease, is_failed=True)
        for _ in range(300):
            await desk.event(thread)
        assert steps(path, now) <= before


async def test_a_store_of_before_has_its_waiting_events_counted(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    with closing(sqlite3.connect(tmp_path / "state" / "postroom.db")) as conn:
        conn.executescript("PRAGMA journal_mode = WAL")
        for number, script in enumerate(shipped()[:6], 1):
            conn.executescript(script)
            conn.execute(f"PRAGMA user_version = {number}")
        conn.executescript("""
            PRAGMA application_id = 1349481332;
            INSERT INTO consumer VALUES ('agent', 7);
            INSERT INTO consumer_type VALUES ('agent', 'reply.received', 0, 0);
            INSERT INTO event (seq, type, mailbox_id, thread, created_at, data)
                VALUES (1, 'reply.received', 'support', 1, 9, '{}'), (2, 'reply.received', 'support', 1, 9, '{}');
            INSERT INTO pending VALUES ('agent', 1, 'support', 1, 10, 10, 8), ('agent', 2, 'support', 1, 0, 0, NULL);
        """)
    async with lease_desk(tmp_path) as desk:
        assert await waiting(desk) == (WaitingEvents("agent", 1, 0, Instant(9)),)
        assert await desk.count("claimed_type") == 1
