"""Answers in the store: what an event and its thread tell, who may answer, and how often."""

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.inmail import LIST_IN_FROM, AutomationKind, Person
from postroom.core.instant import SECOND, Instant
from postroom.core.job import LeaseClaim
from postroom.core.replying import NoTarget, find_target
from postroom.ports.accepting import Accepted, AlreadyReplied, LeaseLost
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.answered import answer, asked
from support.arrivals import ALICE, PostOffice, in_mail, report_mail, thread_of, token_of
from support.store_host import NOON, outbox_in
from support.store_jobs import outcome_of, start_of


S = DeliveryState
LATER = Instant(NOON + SECOND)


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


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


async def test_who_wrote_takes_part_in_whatever_letters_her_domain_stood(
    office: PostOffice,
) -> None:
    await office.sent(ALICE)
    event = await office.published(in_mail("ann@Müller.example"), token_of(1))
    found = await office.outbox.intake.find_answered(event["seq"])
    assert found is not None
    assert "ann@xn--mller-kva.example" in found.participants


async def test_whom_an_earlier_mail_named_takes_part_as_it_was_written(office: PostOffice) -> None:
    await office.sent(ALICE)
    named = (Person("", "Carl@Straße.example"), Person("", "Dora@Other.example"))
    event = await office.published(in_mail(ALICE, cc=named), token_of(1))
    found = await office.outbox.intake.find_answered(event["seq"])
    assert found is not None
    assert {"Carl@Straße.example", "dora@other.example"} <= found.participants


async def test_an_event_about_a_delivery_is_no_mail(office: PostOffice) -> None:
    await office.sent()
    found = await office.outbox.intake.find_answered(1)
    assert found is not None
    assert (found.kind, found.sender) == (None, None)
    assert await office.outbox.intake.find_answered(99) is None


async def test_that_from_is_the_lists_own_address_is_known_to_whoever_answers(
    office: PostOffice,
) -> None:
    await office.sent()
    mail = replace(in_mail(ALICE), automation=AutomationKind.LIST, evidence=(LIST_IN_FROM,))
    event = await office.published(mail, token_of(1))
    found = await office.outbox.intake.find_answered(event["seq"])
    assert found is not None
    assert isinstance(find_target(found, lambda _: False), NoTarget)


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
