"""Answers in the store: what an event and its thread tell, who may answer, how often, and what an `if` is worth."""

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, decode_id
from postroom.core.inmail import AutomationKind, Person
from postroom.core.instant import SECOND, Instant
from postroom.core.job import Condition, LeaseClaim
from postroom.core.reason import ReasonCode
from postroom.ports.accepting import Accepted, AcceptResult, AlreadyReplied, LeaseLost, NewJob
from postroom.ports.looping import MarkStopped, Started
from postroom.store.sqlite.loop_start import INBOUND_AGAIN
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.arrivals import ALICE, PostOffice, in_mail, report_mail, token_of
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job, outcome_of, start_of


S = DeliveryState
LATER = Instant(NOON + SECOND)


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


async def asked(office: PostOffice) -> tuple[Accepted, int]:
    """A job that went out to Alice, and the seq of her answer."""
    done = await office.sent()
    event = await office.published(in_mail(message_id="<9@customer.example>"), token_of(1))
    return done, event["seq"]


def thread_of(done: Accepted) -> int:
    return done.deliveries[0].thread_number


async def answer(
    office: PostOffice,
    done: Accepted,
    seq: int | None,
    lease: LeaseClaim | None = None,
    **more: object,
) -> AcceptResult:
    new = new_job(office.outbox.intake, thread_number=thread_of(done))
    return await office.outbox.intake.accept(replace(new, answers=seq, lease=lease, **more))  # type: ignore[arg-type]


async def lease(
    office: PostOffice,
    thread: int,
    fence: int,
    *,
    consumer: str = "a",
    state: str = "live",
    until: int = LATER,
) -> LeaseClaim:
    def unit(conn: sqlite3.Connection) -> UnitResult[int]:
        number = conn.execute(
            "INSERT INTO lease (consumer, thread, fence, max_events, shown, state, taken_at, expires_at)"
            " VALUES (?, ?, ?, 10, '[]', ?, ?, ?)",
            (consumer, thread, fence, state, NOON, until),
        ).lastrowid
        return UnitResult(number or 0)

    return LeaseClaim(await office.outbox.database.write(unit, lane=WriteLane.REST), fence)


async def test_an_event_tells_what_an_answer_needs(office: PostOffice) -> None:
    done = await office.sent(ALICE, "bob@example.com")
    mail = in_mail(
        message_id="<9@customer.example>",
        references=("<1@example.com>",),
        cc=(Person("Carl", "Carl@customer.example"),),
        reply_to=(Person("", "team@customer.example"),),
    )
    event = await office.published(mail, token_of(1))
    found = await office.outbox.intake.find_answered(event["seq"])
    assert found is not None
    assert (found.seq, found.mailbox_id, found.thread_number) == (
        event["seq"],
        "support",
        thread_of(done),
    )
    assert (found.kind, found.envelope_from, found.sender) == (
        AutomationKind.HUMAN,
        ALICE,
        Person("", ALICE),
    )
    assert (found.message_id, found.references) == ("<9@customer.example>", ("<1@example.com>",))
    assert found.reply_to == (Person("", "team@customer.example"),)
    assert found.chain == ("<1@example.com>", "<9@customer.example>")
    assert found.participants == {
        ALICE,
        "bob@example.com",
        "support@example.com",
        "carl@customer.example",
    }


async def test_an_event_about_a_delivery_is_no_mail(office: PostOffice) -> None:
    await office.sent()
    found = await office.outbox.intake.find_answered(1)
    assert found is not None
    assert (found.kind, found.sender) == (None, None)
    assert await office.outbox.intake.find_answered(99) is None


async def test_a_report_is_a_machine(office: PostOffice) -> None:
    await office.sent()
    event = await office.published(report_mail())
    found = await office.outbox.intake.find_answered(event["seq"])
    assert found is not None
    assert found.kind is AutomationKind.REPORT


async def test_a_thread_is_what_went_out_and_came_in_in_its_order(office: PostOffice) -> None:
    done, _ = await asked(office)
    number = thread_of(done)
    await office.sent(thread_number=number)
    await office.sent(thread_number=number, state=S.FAILED)
    chain = await office.outbox.intake.find_chain(number)
    assert chain == ("<1@example.com>", "<2@example.com>", "<9@customer.example>")
    assert await office.outbox.intake.find_chain(77) == ()


async def test_threads_of_a_name_are_told_apart_by_recipient(office: PostOffice) -> None:
    await office.sent(conversation_id="c")
    found = await office.outbox.intake.find_chains("support", "c", ["", ALICE])
    assert {key: len(chain) for key, chain in found.items()} == {"": 1}
    assert await office.outbox.intake.find_chains("sales", "c", [""]) == {}


async def test_an_event_is_answered_once(office: PostOffice) -> None:
    done, seq = await asked(office)
    first = await answer(office, done, seq)
    assert isinstance(first, Accepted)
    assert await answer(office, done, seq) == AlreadyReplied(seq, first.number)


@pytest.mark.parametrize("state", [S.FAILED, S.SENT, S.UNCERTAIN])
async def test_what_became_of_the_first_answer_decides(office: PostOffice, state: S) -> None:
    done, seq = await asked(office)
    first = await answer(office, done, seq)
    assert isinstance(first, Accepted)
    number = first.deliveries[0].number
    await office.outbox.loop.start(start_of(number))
    await office.outbox.loop.mark(number, 1, NOON)
    await office.outbox.loop.finish(outcome_of(number, 1, state))
    again = await answer(office, done, seq)
    assert isinstance(again, Accepted if state is S.FAILED else AlreadyReplied)


async def test_an_answer_that_was_skipped_is_none(office: PostOffice) -> None:
    done, seq = await asked(office)
    first = await conditional(office, done, Condition(99, None), answers=seq)
    await office.outbox.loop.start(start_of(first))
    assert isinstance(await answer(office, done, seq), Accepted)


async def test_while_somebody_holds_the_thread_an_answer_needs_a_live_lease(
    office: PostOffice,
) -> None:
    done, seq = await asked(office)
    held = await lease(office, thread_of(done), 5)
    other = await lease(office, thread_of(done), 2, consumer="b")
    dead = await lease(office, thread_of(done), 4, consumer="c", until=NOON)
    released = await lease(office, thread_of(done), 3, consumer="d", state="released")
    for claim in (None, dead, released, replace(held, fence=4), LeaseClaim(99, 5)):
        assert await answer(office, done, seq, claim) == LeaseLost()
    first = await answer(office, done, seq, other)
    assert isinstance(first, Accepted)
    assert await answer(office, done, seq, held) == AlreadyReplied(seq, first.number)
    assert isinstance(await answer(office, done, None), Accepted)


async def test_a_lease_that_is_named_must_live_even_where_nobody_holds_the_thread(
    office: PostOffice,
) -> None:
    done, seq = await asked(office)
    dead = await lease(office, thread_of(done), 4, until=NOON)
    assert await answer(office, done, seq, dead) == LeaseLost()
    assert await answer(office, done, None, dead) == LeaseLost()
    assert isinstance(await answer(office, done, seq), Accepted)


async def conditional(
    office: PostOffice, done: Accepted, condition: Condition, *to: str, answers: int | None = None
) -> int:
    """The first delivery of a job with an `if` in the thread of this one."""
    new: NewJob = new_job(office.outbox.intake, *to, thread_number=thread_of(done))
    job = replace(new.job, condition=condition)
    made = await office.outbox.intake.accept(replace(new, job=job, answers=answers))
    assert isinstance(made, Accepted)
    return made.deliveries[0].number


async def marked(office: PostOffice, number: int, at: Instant = NOON) -> Instant | MarkStopped:
    started = await office.outbox.loop.start(start_of(number, at))
    assert isinstance(started, Started)
    return await office.outbox.loop.mark(number, started.claim, at)


SKIPPED = MarkStopped(S.SKIPPED, ReasonCode.PRECONDITION_FALSE)


@pytest.mark.parametrize("kind", [Condition(1, None), Condition(None, 2), Condition(1, 2)], ids=str)
async def test_a_mail_of_a_person_in_between_makes_an_if_false(
    office: PostOffice, kind: Condition
) -> None:
    done, seq = await asked(office)
    assert seq == 2
    number = await conditional(office, done, kind)
    started = await office.outbox.loop.start(start_of(number))
    assert isinstance(started, Started)
    await office.published(in_mail(text="Wait."), token_of(1))
    assert await office.outbox.loop.mark(number, started.claim, NOON) == SKIPPED
    found = await office.outbox.reader.find_delivery(number)
    assert found is not None
    assert (found.state, found.attempts, found.history[-1].reason_code) == (
        S.SKIPPED,
        0,
        ReasonCode.PRECONDITION_FALSE,
    )
    (event,) = await office.events("delivery.skipped")
    assert decode_id(Kind.DELIVERY, event["delivery"]["id"]) == number


async def test_an_if_that_is_false_already_dials_nobody(office: PostOffice) -> None:
    done, _ = await asked(office)
    number = await conditional(office, done, Condition(0, None))
    assert await office.outbox.loop.start(start_of(number)) is None
    found = await office.outbox.reader.find_delivery(number)
    assert found is not None
    assert found.state is S.SKIPPED


@pytest.mark.parametrize(
    "kind", [AutomationKind.AUTO_REPLY, AutomationKind.LIST, AutomationKind.LOOP]
)
async def test_mail_of_machines_skips_no_answer(office: PostOffice, kind: AutomationKind) -> None:
    done, seq = await asked(office)
    number = await conditional(office, done, Condition(1, seq))
    await office.published(in_mail(text="Away.", automation=kind), token_of(1))
    assert await marked(office, number) == NOON


async def test_after_its_first_mark_all_copies_of_a_job_go(office: PostOffice) -> None:
    done, seq = await asked(office)
    first = await conditional(office, done, Condition(1, seq), ALICE, "bob@example.com")
    assert await marked(office, first) == NOON
    await office.published(in_mail(text="Wait."), token_of(1))
    assert await marked(office, first + 1) == NOON


async def test_while_mail_for_its_thread_is_unread_a_delivery_waits(office: PostOffice) -> None:
    done, seq = await asked(office)
    number = await conditional(office, done, Condition(None, seq))
    received = await office.receive(token_of(1))
    waits = MarkStopped(S.PENDING, ReasonCode.INBOUND_PENDING, NOON)
    assert await office.outbox.loop.start(start_of(number)) == waits
    again = Instant(NOON + INBOUND_AGAIN)
    assert await office.outbox.loop.start(start_of(number, Instant(again - 1))) is None
    standing = await office.outbox.reader.find_standing(number)
    assert standing is not None
    assert (standing.found, standing.pending_since) == ("inbound_pending", NOON)
    await office.publish(
        in_mail(automation=AutomationKind.AUTO_REPLY), token_of(1), received=received
    )
    assert await marked(office, number, again) == again
    assert await office.outbox.reader.find_standing(number) is None


async def test_mail_that_comes_while_it_is_under_way_puts_it_back_without_a_count(
    office: PostOffice,
) -> None:
    done, seq = await asked(office)
    number = await conditional(office, done, Condition(None, seq))
    started = await office.outbox.loop.start(start_of(number))
    assert isinstance(started, Started)
    received = await office.receive(token_of(1))
    stopped = await office.outbox.loop.mark(number, started.claim, NOON)
    assert stopped == MarkStopped(S.PENDING, ReasonCode.INBOUND_PENDING, NOON)
    found = await office.outbox.reader.find_delivery(number)
    assert found is not None
    assert (found.state, found.attempts, found.deferrals) == (S.PENDING, 0, 0)
    assert found.due_at == NOON + INBOUND_AGAIN
    await office.publish(in_mail(text="Wait."), token_of(1), received=received)
    assert await office.outbox.loop.start(start_of(number, LATER)) is None
    found = await office.outbox.reader.find_delivery(number)
    assert found is not None
    assert found.state is S.SKIPPED


async def test_unread_mail_of_other_threads_and_without_a_token_keeps_nobody(
    office: PostOffice,
) -> None:
    done, seq = await asked(office)
    await office.sent("bob@example.com")
    number = await conditional(office, done, Condition(None, seq))
    await office.receive(token_of(2))
    await office.receive()
    assert await marked(office, number) == NOON
