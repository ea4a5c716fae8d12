"""What an `if` is worth: an answer is skipped, put back or goes by what came into its thread."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, decode_id
from postroom.core.inmail import AutomationKind
from postroom.core.instant import SECOND, Instant
from postroom.core.job import Condition
from postroom.core.reason import ReasonCode
from postroom.ports.accepting import Accepted, NewJob
from postroom.ports.looping import MarkStopped, Started
from postroom.store.sqlite.loop_start import INBOUND_AGAIN
from support.answered import answer, asked
from support.arrivals import ALICE, PostOffice, in_mail, thread_of, token_of
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job, start_of


S = DeliveryState
LATER = Instant(NOON + SECOND)


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


async def test_an_answer_that_was_skipped_is_none(office: PostOffice) -> None:
    done, seq = await asked(office)
    first = await conditional(office, done, Condition(99, None), answers=seq)
    await office.outbox.loop.start(start_of(first))
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
