"""Evidence of one attempt meets another: what waits to be sent again, is under way, was withdrawn or restored."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.reason import ReasonCode
from postroom.ports.changes import DoubtJudged, RowsGone
from postroom.ports.desk import Actor, Verdict
from postroom.ports.looping import MarkStopped
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.arrivals import ALICE, PostOffice, in_mail, token_of
from support.desk_store import Told
from support.in_doubt import finish, in_doubt, names, read, under_way
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job, start_of


S, R = DeliveryState, ReasonCode
ME = Actor(1000)
BOB = "bob@customer.example"


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


async def resent(office: PostOffice, *to: str) -> int:
    number = await in_doubt(office, *to)
    await office.outbox.admin.resolve(number, Verdict.RESEND, ME, NOON)
    return number


@pytest.mark.parametrize("after", [S.PENDING, S.RETRY_SCHEDULED, S.HELD])
async def test_what_waits_to_be_sent_again_is_not_sent_again(office: PostOffice, after: S) -> None:
    number = await resent(office)
    if after is not S.PENDING:
        await office.outbox.loop.start(start_of(number))
        assert await finish(office, number, after) is after
    told = Told()
    office.outbox.database.watch(told)
    await office.published(in_mail(), token_of(number))
    found = await read(office, number)
    assert (found.state, found.hold_reason, found.due_at) == (S.SENT, None, None)
    assert (RowsGone((number,)) in told.changes) == (after is not S.HELD)
    judged = [one for one in told.changes if isinstance(one, DoubtJudged)]
    reason = R.EVIDENCE_REPLY_TOKEN
    assert judged == [DoubtJudged(number, found.job_number, "support", S.SENT, "evidence", reason)]
    assert await office.outbox.loop.start(start_of(number)) is None


async def test_a_second_copy_that_is_under_way_stops_at_its_mark(office: PostOffice) -> None:
    number = await resent(office)
    await office.outbox.loop.start(start_of(number))
    await office.published(in_mail(), token_of(number))
    assert (await read(office, number)).state is S.SENT
    stopped = await office.outbox.loop.mark(number, 2, NOON)
    assert stopped == MarkStopped(S.SENT, R.EVIDENCE_REPLY_TOKEN)
    assert await finish(office, number, S.RETRY_SCHEDULED) is S.SENT


ANSWERS: dict[str, tuple[bool, S, S, str]] = {
    "taken": (False, S.SENT, S.SENT, "loop"),
    "not now": (False, S.RETRY_SCHEDULED, S.RETRY_SCHEDULED, "none"),
    "refused": (False, S.FAILED, S.FAILED, "loop"),
    "the second copy taken": (True, S.SENT, S.SENT, "loop"),
    "the second copy not now": (True, S.RETRY_SCHEDULED, S.SENT, "evidence"),
    "the second copy refused": (True, S.FAILED, S.SENT, "evidence"),
    "the second copy put back": (True, S.PENDING, S.SENT, "evidence"),
    "the second copy unanswered": (True, S.UNCERTAIN, S.SENT, "evidence"),
}


@pytest.mark.parametrize(
    ("is_second", "answer", "after", "by"), ANSWERS.values(), ids=ANSWERS.keys()
)
async def test_an_answer_closes_its_own_mark_and_evidence_speaks_of_the_earlier_one(
    office: PostOffice, answer: S, after: S, by: str, *, is_second: bool
) -> None:
    number = await (resent(office) if is_second else under_way(office))
    if is_second:
        await office.outbox.loop.start(start_of(number))
        await office.outbox.loop.mark(number, 2, NOON)
    await office.published(in_mail(), token_of(number))
    assert await finish(office, number, answer) is after
    found = await read(office, number)
    assert (found.state, found.settled_by or "none") == (after, by)


async def test_evidence_of_an_attempt_says_nothing_of_the_next_one(office: PostOffice) -> None:
    number = await under_way(office)
    await office.published(in_mail(), token_of(number))
    await finish(office, number, S.RETRY_SCHEDULED)
    await office.outbox.loop.start(start_of(number))
    await office.outbox.loop.mark(number, 2, NOON)
    assert await finish(office, number, S.UNCERTAIN) is S.UNCERTAIN


async def test_of_what_comes_while_the_answer_is_awaited_the_first_is_told(
    office: PostOffice,
) -> None:
    number = await under_way(office)
    await office.published(names((await read(office, number)).message_id))
    await office.published(in_mail(BOB), token_of(number))
    await finish(office, number, S.UNCERTAIN)
    assert (await read(office, number)).reason_code is R.EVIDENCE_MESSAGE_ID


async def test_a_withdrawn_mark_is_no_doubt_whatever_came(office: PostOffice) -> None:
    number = await under_way(office)
    await office.published(in_mail(), token_of(number))
    assert await finish(office, number, S.PENDING, withdraws_mark=True) is S.PENDING


async def test_a_cancel_of_what_may_have_gone_and_has_is_sent(office: PostOffice) -> None:
    number = await under_way(office)
    await office.outbox.admin.cancel_job(1, ME, NOON)
    await office.published(in_mail(), token_of(number))
    assert await finish(office, number, S.UNCERTAIN) is S.SENT


async def test_a_resend_that_is_given_up_unsent_is_in_doubt_again_until_evidence_comes(
    office: PostOffice,
) -> None:
    number = await resent(office)
    await office.outbox.admin.suppress("support", ALICE, "asked", ME, NOON)
    await office.outbox.loop.start(start_of(number))
    found = await read(office, number)
    assert (found.state, found.reason_code) == (S.UNCERTAIN, R.RECIPIENT_SUPPRESSED)
    await office.published(in_mail(), token_of(number))
    assert (await read(office, number)).state is S.SENT


@pytest.mark.parametrize(
    ("reason", "after"), [("restored", S.SENT), ("operator", S.HELD), ("mailbox_removed", S.HELD)]
)
async def test_what_was_restored_from_a_copy_may_have_gone_since_and_has(
    office: PostOffice, reason: str, after: S
) -> None:
    new = new_job(office.outbox.intake, ALICE)
    await office.outbox.intake.accept(new)
    number = new.deliveries[0].number
    await hold(office, number, reason)
    await office.published(in_mail(), token_of(number))
    assert (await read(office, number)).state is after


async def hold(office: PostOffice, number: int, reason: str) -> None:
    def unit(conn: sqlite3.Connection) -> UnitResult[None]:
        sql = "UPDATE delivery SET state = 'held', hold_reason = ? WHERE number = ?"
        conn.execute(sql, (reason, number))
        return UnitResult(None)

    await office.outbox.database.write(unit, lane=WriteLane.REST)
