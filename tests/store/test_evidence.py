"""What mail proves about deliveries in doubt: the table of CONTRACT §6.4, in the transaction that publishes it."""

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.eventtypes import DEFAULT_TYPES, EventType
from postroom.core.ids import Kind, encode_id
from postroom.core.inmail import AutomationKind, InMail
from postroom.core.mailbox import AcceptNew, Require
from postroom.core.reason import ReasonCode
from postroom.core.record import DeliveryRecord
from postroom.core.refusal import Wanted
from postroom.core.token import Token, TokenKind, TokenStatus
from postroom.ports.changes import DoubtJudged, RowsGone
from postroom.ports.desk import Actor, Verdict
from postroom.ports.looping import MarkStopped
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.arrivals import (
    ALICE,
    PostOffice,
    block,
    in_mail,
    report_mail,
    token_of,
)
from support.desk_store import Told
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job, outcome_of, start_of


S, R = DeliveryState, ReasonCode
ME = Actor(1000)
BOB = "bob@customer.example"
BOUNCE = TokenKind.BOUNCE


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


async def under_way(office: PostOffice, *to: str, is_marked: bool = True, **more: Any) -> int:
    """The first of some deliveries that are being sent."""
    new = new_job(office.outbox.intake, *(to or (ALICE,)), **more)
    await office.outbox.intake.accept(new)
    for one in new.deliveries:
        await office.outbox.loop.start(start_of(one.number))
        if is_marked:
            await office.outbox.loop.mark(one.number, 1, NOON)
    return new.deliveries[0].number


async def finish(office: PostOffice, number: int, after: S, **more: Any) -> DeliveryState:
    claim = await claim_of(office, number)
    return await office.outbox.loop.finish(outcome_of(number, claim, after, due_at=NOON, **more))


async def claim_of(office: PostOffice, number: int) -> int:
    sql = "SELECT claim FROM delivery WHERE number = ?"
    claim: int = await office.outbox.database.read(
        lambda conn: conn.execute(sql, (number,)).fetchone()[0]
    )
    return claim


async def in_doubt(office: PostOffice, *to: str, **more: Any) -> int:
    number = await under_way(office, *to, **more)
    await finish(office, number, S.UNCERTAIN, reason_code=R.DOUBT_NO_ANSWER)
    return number


async def resent(office: PostOffice, *to: str) -> int:
    number = await in_doubt(office, *to)
    await office.outbox.admin.resolve(number, Verdict.RESEND, ME, NOON)
    return number


async def read(office: PostOffice, number: int) -> DeliveryRecord:
    found = await office.outbox.reader.find_delivery(number)
    assert found is not None
    return found


async def steps(office: PostOffice, number: int) -> list[str]:
    return [str(one.after) for one in (await read(office, number)).history]


def names(message_id: str, sender: str = ALICE, **more: Any) -> InMail:
    return in_mail(sender, in_reply_to=(message_id,), references=(message_id,), **more)


# -- the table -----------------------------------------------------------------------------------------------------------

# What comes, its tokens, what it proves, and the feedback that it leaves.
Evidence = tuple[InMail, tuple[Token, ...], ReasonCode | None, str]


def reply_token(number: int, message_id: str) -> Evidence:
    notice = in_mail("robot@elsewhere.example", automation=AutomationKind.AUTO_REPLY)
    return notice, (token_of(number),), R.EVIDENCE_REPLY_TOKEN, "none"


def return_path(number: int, message_id: str) -> Evidence:
    mail = report_mail(block("whoever@elsewhere.example", "delayed", "4.4.1"))
    return mail, (token_of(number, BOUNCE),), R.EVIDENCE_RETURN_PATH, "delayed"


def bounce(number: int, message_id: str) -> Evidence:
    mail = report_mail(block(ALICE, "failed", "5.1.1"))
    return mail, (token_of(number, BOUNCE),), R.EVIDENCE_RETURN_PATH, "bounced"


def her_message_id(number: int, message_id: str) -> Evidence:
    return names(message_id, ALICE.upper()), (), R.EVIDENCE_MESSAGE_ID, "replied"


def reference_alone(number: int, message_id: str) -> Evidence:
    mail = in_mail(references=(message_id, "<other@x.example>"))
    return mail, (), R.EVIDENCE_MESSAGE_ID, "replied"


def report_on_her(number: int, message_id: str) -> Evidence:
    mail = report_mail(block(ALICE, "failed", "5.1.1"), original=message_id)
    return mail, (), R.EVIDENCE_MESSAGE_ID, "bounced"


def success(number: int, message_id: str) -> Evidence:
    mail = report_mail(block(ALICE, "delivered", "2.0.0"))
    return mail, (token_of(number, BOUNCE),), R.EVIDENCE_RETURN_PATH, "delivered"


def relayed(number: int, message_id: str) -> Evidence:
    mail = report_mail(block(ALICE, "relayed", "2.0.0"))
    return mail, (token_of(number, BOUNCE),), R.EVIDENCE_RETURN_PATH, "none"


def success_by_id(number: int, message_id: str) -> Evidence:
    mail = report_mail(block(ALICE, "delivered", "2.0.0"), original=message_id)
    return mail, (), R.EVIDENCE_MESSAGE_ID, "delivered"


def message_id_from_another(number: int, message_id: str) -> Evidence:
    return names(message_id, BOB), (), None, "none"


def message_id_from_two(number: int, message_id: str) -> Evidence:
    return names(message_id, is_sender_ambiguous=True), (), None, "none"


def report_on_another(number: int, message_id: str) -> Evidence:
    return report_mail(block(BOB, "failed", "5.1.1"), original=message_id), (), None, "none"


def report_on_nobody(number: int, message_id: str) -> Evidence:
    return report_mail(block(None, "failed", "5.1.1"), original=message_id), (), None, "none"


def other_mailboxes_number(number: int, message_id: str) -> Evidence:
    return in_mail(BOB), (token_of(number + 77),), None, "none"


def expired_token(number: int, message_id: str) -> Evidence:
    token = token_of(number, status=TokenStatus.EXPIRED)
    return in_mail(BOB, automation=AutomationKind.AUTO_REPLY), (token,), None, "none"


CASES = (
    reply_token,
    return_path,
    bounce,
    her_message_id,
    reference_alone,
    report_on_her,
    success,
    relayed,
    success_by_id,
    message_id_from_another,
    message_id_from_two,
    report_on_another,
    report_on_nobody,
    other_mailboxes_number,
    expired_token,
)


@pytest.mark.parametrize("case", CASES, ids=[one.__name__ for one in CASES])
@pytest.mark.parametrize("moment", ["before the doubt", "after it"])
async def test_evidence_settles_doubt_whenever_it_comes_and_nothing_else_does(
    office: PostOffice, case: Any, moment: str
) -> None:
    number = await under_way(office)
    mail, tokens, proves, feedback = case(number, (await read(office, number)).message_id)
    if moment == "after it":
        await finish(office, number, S.UNCERTAIN, reason_code=R.DOUBT_NO_ANSWER)
        await office.published(mail, *tokens)
    else:
        await office.published(mail, *tokens)
        assert (await read(office, number)).state is S.SENDING
        await finish(office, number, S.UNCERTAIN, reason_code=R.DOUBT_NO_ANSWER)
    found = await read(office, number)
    assert found.feedback == feedback
    last = found.history[-1]
    if proves is None:
        assert (found.state, found.settled_by) == (S.UNCERTAIN, "loop")
        assert await office.events("delivery.sent") == []
        return
    assert (found.state, found.reason_code, found.settled_by) == (S.SENT, proves, "evidence")
    assert (last.after, last.reason_code, last.by) == (S.SENT, proves, "evidence")
    assert (found.marked_at, found.doubts, found.due_at) == (None, 1, None)
    assert (S.UNCERTAIN in await steps(office, number)) == (moment == "after it")
    (event,) = await office.events("delivery.sent")
    assert event["delivery"]["settled_by"] == "evidence"
    assert await office.outbox.loop.start(start_of(number)) is None


# -- where else it counts --------------------------------------------------------------------------------------------------


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


async def test_evidence_against_a_verdict_failed_corrects_it(office: PostOffice) -> None:
    number = await in_doubt(office)
    await office.outbox.admin.resolve(number, Verdict.FAILED, ME, NOON)
    await office.published(names((await read(office, number)).message_id))
    assert (await read(office, number)).state is S.SENT
    (event,) = await office.events("delivery.corrected")
    assert EventType.DELIVERY_CORRECTED in DEFAULT_TYPES
    assert event["delivery"]["id"] == encode_id(Kind.DELIVERY, number)
    assert event["delivery"]["reason_code"] == "evidence.message_id"
    assert await office.events("delivery.sent") == []


async def test_a_refusal_by_the_relay_is_not_corrected(office: PostOffice) -> None:
    number = await under_way(office)
    await finish(office, number, S.FAILED, reason_code=R.MESSAGE_REFUSED)
    await office.published(in_mail(), token_of(number))
    assert (await read(office, number)).state is S.FAILED


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


async def test_in_a_conversation_everyone_settles_his_own_copy(office: PostOffice) -> None:
    first = await under_way(office, ALICE, BOB)
    second = first + 1
    for number in (first, second):
        await finish(office, number, S.UNCERTAIN)
    message_id = (await read(office, first)).message_id
    assert (await read(office, second)).message_id == message_id
    await office.published(names(message_id, BOB))
    assert (await read(office, first)).state is S.UNCERTAIN
    assert (await read(office, second)).state is S.SENT
    await office.published(in_mail("x@y.example", subject="Re: b"), token_of(first))
    assert (await read(office, first)).state is S.SENT


async def test_two_tokens_of_one_thread_settle_two_deliveries(office: PostOffice) -> None:
    first = await under_way(office, ALICE, BOB)
    for number in (first, first + 1):
        await finish(office, number, S.UNCERTAIN)
    await office.published(in_mail(), token_of(first), token_of(first + 1))
    assert (await read(office, first)).state is S.SENT
    assert (await read(office, first + 1)).state is S.SENT


async def test_a_copy_of_what_is_an_event_already_is_evidence_by_its_own_address(
    office: PostOffice,
) -> None:
    number = await in_doubt(office)
    mail = in_mail("forwarder@elsewhere.example", automation=AutomationKind.AUTO_REPLY)
    await office.published(replace(mail, subject="Away"))
    assert (await read(office, number)).state is S.UNCERTAIN
    await office.publish(replace(mail, subject="Away"), token_of(number))
    assert (await read(office, number)).state is S.SENT


async def test_mail_that_is_not_wanted_is_evidence_all_the_same(office: PostOffice) -> None:
    number = await in_doubt(office)
    wanted = Wanted(AcceptNew.NONE, Require.DMARC)
    await office.publish(in_mail(BOB, "Buy!"), token_of(number), wanted=wanted)
    assert (await read(office, number)).state is S.SENT


REQUIRED = {
    "anything": (Require.ANY, AutomationKind.HUMAN, S.SENT),
    "a token": (Require.TOKEN, AutomationKind.HUMAN, S.UNCERTAIN),
    "her domain's word": (Require.DMARC, AutomationKind.HUMAN, S.UNCERTAIN),
    "her domain's word, of persons": (Require.DMARC, AutomationKind.AUTO_REPLY, S.SENT),
}


@pytest.mark.parametrize(("require", "kind", "after"), REQUIRED.values(), ids=REQUIRED.keys())
async def test_a_message_id_is_nobodys_evidence_in_mail_that_the_mailbox_refuses(
    office: PostOffice, require: Require, kind: AutomationKind, after: S
) -> None:
    number = await in_doubt(office)
    mail = names((await read(office, number)).message_id, automation=kind)
    await office.publish(mail, wanted=Wanted(AcceptNew.NONE, require))
    assert (await read(office, number)).state is after


async def test_in_another_mailbox_a_number_is_nobodys(office: PostOffice) -> None:
    number = await in_doubt(office)
    await office.published(in_mail(), token_of(number), mailbox_id="sales")
    assert (await read(office, number)).state is S.UNCERTAIN


# -- and a crash -----------------------------------------------------------------------------------------------------------


class Killed(Exception):
    """Nothing is closed in order."""


async def test_evidence_outlives_a_crash_of_the_daemon(tmp_path: Path) -> None:
    number = 1
    with pytest.raises(Killed):
        await _die_with_evidence(tmp_path, number)
    async with outbox_in(tmp_path) as outbox:
        office = PostOffice(outbox)
        assert outbox.opened.recovered.to_uncertain == 1
        found = await read(office, number)
        assert (found.state, found.attempts, found.settled_by) == (S.SENT, 1, "evidence")
        assert found.history[-1].reason_code is R.EVIDENCE_REPLY_TOKEN
        assert (await read(office, number + 1)).state is S.UNCERTAIN
        kinds = [one["type"] for one in await office.events() if "delivery" in one]
        assert sorted(kinds) == ["delivery.sent", "delivery.uncertain"]


async def _die_with_evidence(folder: Path, number: int) -> None:
    async with outbox_in(folder) as outbox:
        office = PostOffice(outbox)
        assert await under_way(office, ALICE, BOB) == number
        await office.published(in_mail(), token_of(number))
        raise Killed


async def test_a_mail_that_is_evidence_is_its_own_event_first(office: PostOffice) -> None:
    number = await in_doubt(office)
    event = await office.published(in_mail(), token_of(number))
    assert event["type"] == "reply.received"
    types = [one["type"] for one in await office.events()]
    assert types == ["delivery.uncertain", "reply.received", "delivery.sent"]
