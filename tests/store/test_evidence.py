"""What mail proves about deliveries in doubt: the table of CONTRACT §6.4, in the transaction that publishes it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.eventtypes import DEFAULT_TYPES, EventType
from postroom.core.ids import Kind, encode_id
from postroom.core.inmail import AutomationKind, InMail
from postroom.core.reason import ReasonCode
from postroom.core.token import Token, TokenKind, TokenStatus
from postroom.ports.desk import Actor, Verdict
from support.arrivals import ALICE, PostOffice, block, in_mail, report_mail, token_of
from support.in_doubt import finish, in_doubt, names, read, under_way
from support.store_host import NOON, outbox_in
from support.store_jobs import start_of


S, R = DeliveryState, ReasonCode
ME = Actor(1000)
BOB = "bob@customer.example"
BOUNCE = TokenKind.BOUNCE


async def steps(office: PostOffice, number: int) -> list[str]:
    return [str(one.after) for one in (await read(office, number)).history]


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


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
