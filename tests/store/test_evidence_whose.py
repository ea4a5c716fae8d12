"""Whose delivery a mail is evidence for: by recipient, token and mailbox, wanted or not."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.inmail import AutomationKind
from postroom.core.mailbox import AcceptNew, Require
from postroom.core.refusal import Wanted
from support.arrivals import ALICE, PostOffice, in_mail, token_of
from support.in_doubt import finish, in_doubt, names, read, under_way
from support.store_host import outbox_in


S = DeliveryState
BOB = "bob@customer.example"


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


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
