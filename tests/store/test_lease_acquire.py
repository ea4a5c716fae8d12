"""What a consumer gets to hold, in which order, and how much of it (CONTRACT §4, leases)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postroom.core.eventtypes import DEFAULT_TYPES, EventType
from postroom.core.instant import SECOND
from postroom.ports.changes import LeaseTimed
from postroom.ports.leasing import Completed
from support.lease_desk import LeaseDesk, lease_desk, seqs
from support.store_host import NOON


OTHER = EventType.AUTO_REPLY_RECEIVED


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[LeaseDesk]:
    async with lease_desk(tmp_path) as opened:
        yield opened


# -- acquire


async def test_nothing_waits_for_nobody(desk: LeaseDesk) -> None:
    assert await desk.lease() == ()


async def test_a_new_consumer_begins_with_the_oldest_event(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    expected = [await desk.event(thread), await desk.event(thread)]
    lease = await desk.one()
    assert (seqs(lease), lease.receive_count, lease.has_more) == (expected, 1, False)
    assert (lease.thread.number, lease.expires_at) == (thread, NOON + 60 * SECOND)
    assert LeaseTimed(lease.expires_at) in desk.heard


async def test_the_thread_that_waits_longest_comes_first(desk: LeaseDesk) -> None:
    old, new = await desk.thread(), await desk.thread("sales")
    await desk.event(old)
    await desk.event(new)
    await desk.event(old)
    leases = await desk.lease(mailbox_ids=("sales", "support"), max_threads=5)
    assert [one.thread.number for one in leases] == [old, new]
    assert await desk.lease("agent", mailbox_ids=("sales", "support")) == ()


async def test_a_consumer_gets_only_the_mailboxes_that_it_asks_for(desk: LeaseDesk) -> None:
    await desk.event(await desk.thread("sales"))
    assert await desk.lease() == ()
    assert await desk.lease(mailbox_ids=("sales",))


async def test_a_held_thread_is_given_to_nobody_else_of_the_consumer(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    await desk.event(thread)
    await desk.one()
    await desk.event(thread)
    assert await desk.lease() == ()
    assert len((await desk.one("another")).events) == 2


async def test_events_come_in_order_and_no_more_than_asked_for(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    expected = [await desk.event(thread) for _ in range(3)]
    lease = await desk.one(max_events=2)
    assert (seqs(lease), lease.has_more) == (expected[:2], True)


async def test_a_lease_shows_at_most_a_mebibyte_and_at_least_one_event(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    large = await desk.event(thread, text="x" * 1_200_000)
    halves = [await desk.event(thread, text="x" * 600_000) for _ in range(2)]
    lease = await desk.one()
    assert (seqs(lease), lease.has_more) == ([large], True)
    assert isinstance(await desk.complete(lease), Completed)
    lease = await desk.one()
    assert (seqs(lease), lease.has_more) == (halves[:1], True)


async def test_one_call_gives_no_more_than_the_loop_can_answer(desk: LeaseDesk) -> None:
    for _ in range(8):
        await desk.event(await desk.thread(), text="x" * 1_000_000)
    first = await desk.lease(max_threads=100)
    assert len(first) == 5
    assert len(await desk.lease(max_threads=100)) == 3


async def test_a_lease_lasts_an_hour_at_most(desk: LeaseDesk) -> None:
    await desk.event(await desk.thread())
    assert (await desk.one(lease_s=7200.0)).expires_at == NOON + 3600 * SECOND


async def test_the_same_attempt_gets_the_same_leases(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    first = await desk.event(thread)
    lease = await desk.one(attempt_id="try-1")
    await desk.event(thread)
    again = await desk.one(attempt_id="try-1")
    assert (again.number, again.fence, seqs(again)) == (lease.number, lease.fence, [first])
    assert (again.receive_count, again.has_more) == (1, True)
    assert await desk.lease(attempt_id="try-2") == ()
    assert isinstance(await desk.complete(lease), Completed)
    assert (await desk.one(attempt_id="try-1")).number != lease.number


async def test_an_event_that_retention_took_is_not_leased(desk: LeaseDesk) -> None:
    gone, kept = await desk.thread(), await desk.thread()
    seq = await desk.event(gone)
    await desk.event(kept)
    await desk.release(await desk.one())
    await desk.forget_event(seq)
    assert (await desk.one()).thread.number == kept
    assert await desk.lease() == ()


# -- types


async def test_by_default_a_consumer_is_not_woken_by_machines(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    for kind in EventType:
        await desk.event(thread, kind)
    lease = await desk.one()
    assert {event.type for event in lease.events} == set(DEFAULT_TYPES)


async def test_who_asks_for_a_type_gets_it_alone(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    await desk.event(thread)
    asked = await desk.event(thread, OTHER)
    assert seqs(await desk.one("curious", types=(OTHER,))) == [asked]


async def test_types_only_widen_and_for_what_comes_after(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    await desk.event(thread, OTHER)
    assert await desk.lease() == ()
    assert await desk.lease(types=(OTHER,)) == ()
    later = [await desk.event(thread, OTHER), await desk.event(thread)]
    assert seqs(await desk.one(types=(EventType.DELIVERY_SENT,))) == later
    (record,) = await desk.outbox.leases.find_consumers()
    assert set(record.types) == {*DEFAULT_TYPES, OTHER, EventType.DELIVERY_SENT}


@pytest.mark.parametrize("kind", [EventType.MESSAGE_RECEIVED, EventType.DELIVERY_BOUNCED])
async def test_mail_that_was_not_accepted_is_for_those_who_ask(
    desk: LeaseDesk, kind: EventType
) -> None:
    thread = await desk.thread()
    before = await desk.event(thread, kind, accepted=False)
    plain = await desk.event(thread, kind)
    assert seqs(await desk.one()) == [plain]
    assert seqs(await desk.one("asking", types=(kind,))) == [before, plain]


# -- consumers


async def test_a_consumer_may_begin_now(desk: LeaseDesk) -> None:
    thread = await desk.thread()
    await desk.event(thread)
    leases, now = desk.outbox.leases, desk.clock.now()
    record = await leases.make_consumer("fresh", None, now, from_now=True)
    assert (record.name, set(record.types), record.pending) == ("fresh", set(DEFAULT_TYPES), 0)
    later = await desk.event(thread)
    assert seqs(await desk.one("fresh")) == [later]
    wider = await leases.make_consumer("fresh", (OTHER,), now, from_now=False)
    assert set(wider.types) == {*DEFAULT_TYPES, OTHER}
    assert wider.pending == 1
