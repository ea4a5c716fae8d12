"""Texts that are no UTF-8 any more: what has happened is stored all the same, and nobody waits behind them."""

from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.ports.arriving import Doubled, Published
from postroom.ports.desk import Actor
from postroom.ports.looping import Started
from postroom.store.sqlite.unit import WriteLane
from support.arrivals import PostOffice, in_mail, token_of
from support.damaging import damage
from support.lease_desk import lease_desk, seqs
from support.store_host import NOON, outbox_in, rows_in
from support.store_jobs import new_job, outcome_of, start_of


TEXTS = (
    "delivery SET recipient",
    "delivery SET mailbox_id",
    "delivery SET domain",
    "delivery SET message_id",
    "job SET trace_id",
    "job SET metadata",
    "thread SET conversation_key",
    "thread SET metadata",
)


def spoil(text: str):  # type: ignore[no-untyped-def]
    return damage(f"UPDATE {text} = CAST(x'ff' AS TEXT) || number")


@pytest.mark.parametrize("text", TEXTS)
async def test_what_became_of_a_delivery_is_stored_whatever_is_damaged_of_it(
    tmp_path: Path, text: str
) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        await outbox.intake.accept(new_job(outbox.intake, not_after=Instant(NOON + 1)))
        started = await outbox.loop.start(start_of(1))
        assert isinstance(started, Started)
        await outbox.loop.mark(1, started.claim, NOON)
        await outbox.database.write(spoil(text), lane=WriteLane.REST)
        sent = outcome_of(1, started.claim, DeliveryState.SENT)
        assert await outbox.loop.finish(sent) is DeliveryState.SENT
        assert await outbox.loop.end_expired(Instant(NOON + 2), 10) == 1
    told = [kind for (kind,) in rows_in(tmp_path, "SELECT type FROM event ORDER BY seq")]
    assert told == ["delivery.sent", "delivery.failed"]


@pytest.mark.parametrize("text", TEXTS)
async def test_a_daemon_starts_whatever_is_damaged_of_what_a_crash_left(
    tmp_path: Path, text: str
) -> None:
    async with outbox_in(tmp_path) as outbox:
        for number in (1, 2):
            await outbox.intake.accept(new_job(outbox.intake))
            started = await outbox.loop.start(start_of(number))
            assert isinstance(started, Started)
        await outbox.loop.mark(2, started.claim, NOON)
        await outbox.database.write(spoil(text), lane=WriteLane.REST)
    async with outbox_in(tmp_path):
        states = [state for (state,) in rows_in(tmp_path, "SELECT state FROM delivery")]
        waits = "held" if text == "delivery SET mailbox_id" else "pending"
        assert states == [waits, "uncertain"]


@pytest.mark.parametrize(
    ("text", "is_set_aside"),
    [
        ("delivery SET domain", True),
        ("delivery SET mailbox_id", True),
        ("job SET mailbox_id", False),
    ],
)
async def test_where_a_bit_of_a_mailbox_or_domain_is_damaged_the_others_go(
    tmp_path: Path, text: str, *, is_set_aside: bool
) -> None:
    configured = frozenset({"support"})
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        await outbox.intake.accept(new_job(outbox.intake))
        spoilt = damage(f"UPDATE {text} = CAST(x'ff' AS TEXT) WHERE number = 1")
        await outbox.database.write(spoilt, lane=WriteLane.REST)
    async with outbox_in(tmp_path) as outbox:
        await outbox.admin.hold_missing_mailboxes(configured, NOON)
        counts = await outbox.reader.count_by_state()
        assert {mailbox for mailbox, _, _ in counts} == configured
        assert "support" in await outbox.reader.count_accepted(NOON)
        assert ("support", Lane.STANDARD) in await outbox.reader.oldest_due(NOON)
        assert await outbox.loop.find_mailbox_queues() == (("support", Lane.STANDARD),)
        found = await outbox.loop.find_waiting(
            "support", Lane.STANDARD, domain=None, skip=frozenset(), after=None, limit=10
        )
        started = [await outbox.loop.start(start_of(row.number)) for row in found]
        assert isinstance(started[-1], Started)
        first = await outbox.database.read(
            lambda conn: conn.execute("SELECT hold_reason FROM delivery").fetchone()[0]
        )
        assert first == ("unreadable" if is_set_aside else None)


DEAD = ("UPDATE pending SET dead_at = 1 WHERE seq = (SELECT min(seq) FROM pending)",)

OF_THREADS = (
    "conversation_key = CAST(x'ff' AS TEXT)",
    "metadata = CAST(x'ff' AS TEXT)",
    "metadata = '{'",
)


@pytest.mark.parametrize("text", [*OF_THREADS, "mailbox_id = CAST(x'ff' AS TEXT)"])
async def test_a_damaged_thread_is_leased_and_keeps_no_other_from_whoever_asks(
    tmp_path: Path, text: str
) -> None:
    async with lease_desk(tmp_path) as desk:
        seq = await desk.event(await desk.thread())
        spoilt = damage(f"UPDATE thread SET {text}")  # noqa: S608
        await desk.outbox.database.write(spoilt, lane=WriteLane.REST)
        later = await desk.event(await desk.thread())
        first, second = await desk.lease(max_threads=2)
        assert (seqs(first), seqs(second)) == ([seq], [later])
        await desk.extend(first)
        await desk.release(first)
        desk.pass_s(3600)
        await desk.outbox.leases.sweep(desk.clock.now())
        await desk.complete(await desk.one())


@pytest.mark.parametrize(
    "text", [*(f"thread SET {one}" for one in OF_THREADS), "event SET data = '{'"]
)
async def test_an_answer_and_its_copy_come_into_a_damaged_thread(tmp_path: Path, text: str) -> None:
    async with outbox_in(tmp_path) as outbox:
        office = PostOffice(outbox)
        await office.sent()
        mail = in_mail(message_id="<1@customer.example>")
        await office.publish(mail, token_of(1))
        await outbox.database.write(damage(f"UPDATE {text}"), lane=WriteLane.REST)
        assert isinstance(await office.publish(mail, token_of(1)), Doubled)
        again = await office.publish(in_mail(message_id="<2@customer.example>"), token_of(1))
        assert isinstance(again, Published)
        assert again.thread_number == 1


@pytest.mark.parametrize("text", ["delivery SET reply_text", "thread SET conversation_key"])
async def test_a_conversation_of_which_a_text_is_damaged_is_shown_and_can_be_resumed(
    tmp_path: Path, text: str
) -> None:
    async with outbox_in(tmp_path) as outbox:
        office = PostOffice(outbox)
        done = await office.sent()
        await outbox.database.write(spoil(text), lane=WriteLane.REST)
        number = done.deliveries[0].thread_number
        assert await outbox.admin.resume_thread(number, Actor(0), NOON)
        found = await outbox.conversations.find_thread(number, 9)
        assert found is not None
        assert len(found.deliveries) == 1


@pytest.mark.parametrize(
    "text", ["waiting SET mailbox_id", "pending SET mailbox_id", "event SET type"]
)
async def test_who_waits_for_what_is_told_though_a_text_of_it_is_damaged(
    tmp_path: Path, text: str
) -> None:
    async with lease_desk(tmp_path) as desk:
        seq = await desk.event(await desk.thread())
        await desk.release(await desk.one())
        await desk.event(await desk.thread())
        spoilt = damage(f"UPDATE {text} = CAST(x'ff' AS TEXT)", *DEAD)
        await desk.outbox.database.write(spoilt, lane=WriteLane.REST)
        leases, now = desk.outbox.leases, desk.clock.now()
        (consumer,) = await leases.find_consumers()
        (told,) = await leases.find_waiting(now)
        dead = await leases.find_dead_events(None, None, 9)
        assert (told.consumer, [one.event.seq for one in dead.items]) == (consumer.name, [seq])
        assert await leases.retry_event(seq, consumer.name)
        assert await leases.drop_consumer(consumer.name, now)
