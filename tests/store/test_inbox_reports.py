"""Reports on our mail: which delivery each is a fact about, and which fact is the stronger."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.inmail import AutomationKind
from postroom.core.token import TokenKind
from support.arrivals import (
    ALICE,
    PostOffice,
    block,
    in_mail,
    report_mail,
    sql,
    thread_of,
    token_of,
)
from support.store_host import outbox_in


BOUNCE = TokenKind.BOUNCE


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


REPORTS: dict[str, Any] = {
    "failed": (("failed", "5.1.1"), "delivery.bounced", "bounced"),
    "delayed": (("delayed", "4.4.1"), "delivery.delayed", "delayed"),
    "delivered": (("delivered", "2.0.0"), "delivery.confirmed", "delivered"),
    "expanded": (("expanded", "2.0.0"), "delivery.confirmed", "delivered"),
    "relayed": (("relayed", "2.0.0"), "delivery.confirmed", "none"),
    "gave up on a full mailbox": (("failed", "4.2.2"), "delivery.bounced", "bounced"),
    "delayed, with a permanent status": (("delayed", "5.0.0"), "delivery.delayed", "delayed"),
    "status alone": ((None, "5.7.1"), "delivery.bounced", "bounced"),
    "complained": (("complained", None), "complaint.received", "complained"),
    "nothing": ((None, None), "auto_reply.received", "none"),
}


@pytest.mark.parametrize(("said", "kind", "feedback"), REPORTS.values(), ids=REPORTS.keys())
async def test_a_report_to_the_return_path_is_a_fact_on_its_delivery(
    office: PostOffice, said: tuple[str | None, str | None], kind: str, feedback: str
) -> None:
    done = await office.sent()
    number = done.deliveries[0].number
    mail = report_mail(block("whoever@elsewhere.example", *said))
    event = await office.published(mail, token_of(number, BOUNCE))
    assert event["type"] == kind
    assert event["answers"]["delivery_id"] == encode_id(Kind.DELIVERY, number)
    assert event["thread"]["id"] == encode_id(Kind.THREAD, thread_of(done))
    assert (event["thread"]["version"], event["thread"]["matched_by"]) == (0, "return_path")
    assert event["delivery_report"]["verified"] is True
    assert (event["delivery_report"]["action"], event["delivery_report"]["status"]) == said
    found = await office.outbox.reader.find_delivery(number)
    assert found is not None
    assert (found.feedback, found.state) == (feedback, DeliveryState.SENT)


UNPROVEN: dict[str, Any] = {
    "its own recipient": (ALICE.upper(), True),
    "somebody else": ("bob@customer.example", False),
    "nobody": (None, False),
}


@pytest.mark.parametrize(("recipient", "is_known"), UNPROVEN.values(), ids=UNPROVEN.keys())
async def test_a_report_without_token_is_believed_by_message_id_and_own_recipient_together(
    office: PostOffice, recipient: str | None, *, is_known: bool
) -> None:
    done = await office.sent()
    number = done.deliveries[0].number
    found = await office.outbox.reader.find_delivery(number)
    assert found is not None
    mail = report_mail(block(recipient, "failed", "5.1.1"), original=found.message_id)
    event = await office.published(mail)
    assert event["type"] == "delivery.bounced"
    assert event["delivery_report"]["verified"] is is_known
    assert event["thread"]["id"] == encode_id(Kind.THREAD, thread_of(done))
    assert await office.feedback(number) == ("bounced" if is_known else "none")


async def test_a_report_that_names_nothing_of_ours_changes_nothing(office: PostOffice) -> None:
    done = await office.sent()
    number = done.deliveries[0].number
    for mail, tokens in (
        (report_mail(block(ALICE, "failed"), original="<x@elsewhere.example>"), ()),
        (report_mail(block(ALICE, "failed")), (token_of(number),)),  # a reply's token
    ):
        event = await office.published(mail, *tokens)
        assert event["delivery_report"]["verified"] is False
        assert event["type"] == "delivery.bounced"
    assert await office.feedback(number) == "none"


async def test_a_report_about_two_recipients_is_an_event_for_each(office: PostOffice) -> None:
    done = await office.sent(ALICE, "bob@customer.example")
    alice, bob = (one.number for one in done.deliveries)
    found = await office.outbox.reader.find_delivery(alice)
    assert found is not None
    mail = report_mail(
        block(ALICE, "failed", "5.1.1"),
        block("bob@customer.example", "delayed", "4.4.1"),
        block("eve@customer.example", "failed", "5.1.1"),
        original=found.message_id,
    )
    await office.published(mail)
    (bounced,) = await office.events("delivery.bounced")
    (delayed,) = await office.events("delivery.delayed")
    assert bounced["answers"]["delivery_id"] == encode_id(Kind.DELIVERY, alice)
    assert delayed["answers"]["delivery_id"] == encode_id(Kind.DELIVERY, bob)
    assert [await office.feedback(one) for one in (alice, bob)] == ["bounced", "delayed"]
    assert (await office.doubled(mail))["seq"] == bounced["seq"]


async def test_a_report_about_two_recipients_to_the_return_path_of_one_is_an_event_for_each(
    office: PostOffice,
) -> None:
    done = await office.sent(ALICE, "bob@customer.example")
    alice, bob = (one.number for one in done.deliveries)
    found = await office.outbox.reader.find_delivery(alice)
    assert found is not None
    mail = report_mail(
        block("bob@customer.example", "failed", "5.1.1"),
        block(ALICE, "delayed", "4.4.1"),
        original=found.message_id,
    )
    await office.published(mail, token_of(alice, BOUNCE))
    assert [await office.feedback(one) for one in (alice, bob)] == ["delayed", "bounced"]
    (bounced,) = await office.events("delivery.bounced")
    assert bounced["answers"]["delivery_id"] == encode_id(Kind.DELIVERY, bob)
    assert bounced["delivery_report"]["recipient"] == "bob@customer.example"


async def test_what_a_report_says_of_others_is_nothing_about_whom_its_return_path_names(
    office: PostOffice,
) -> None:
    number = (await office.sent()).deliveries[0].number
    mail = report_mail(block("eve@x.example", "failed"), block(ALICE, "delivered", "2.0.0"))
    event = await office.published(mail, token_of(number, BOUNCE))
    assert (event["type"], event["delivery_report"]["recipient"]) == ("delivery.confirmed", ALICE)
    assert await office.feedback(number) == "delivered"


async def test_of_several_blocks_about_one_delivery_the_strongest_counts(
    office: PostOffice,
) -> None:
    done = await office.sent()
    number = done.deliveries[0].number
    said = [
        block(f"{n}@x.example", action) for n, action in enumerate(("delayed", "failed", "delayed"))
    ]
    event = await office.published(report_mail(*said), token_of(number, BOUNCE))
    assert (event["type"], event["delivery_report"]["recipient"]) == (
        "delivery.bounced",
        "1@x.example",
    )
    assert len(event["delivery_report"]["recipients"]) == 3
    assert await office.feedback(number) == "bounced"


STRENGTHS: dict[str, Any] = {
    "delayed, then delivered": (["delayed", "delivered"], "delivered"),
    "delivered, then delayed": (["delivered", "delayed"], "delivered"),
    "delivered, then bounced": (["delivered", "failed"], "bounced"),
    "bounced, then delivered": (["failed", "delivered"], "bounced"),
    "bounced, then answered": (["failed", "reply"], "replied"),
    "answered, then bounced": (["reply", "failed"], "replied"),
    "answered, then complained": (["reply", "complained"], "complained"),
    "complained, then answered": (["complained", "reply"], "complained"),
    "bounced, then out of office": (["failed", "auto"], "bounced"),
}


@pytest.mark.parametrize(("said", "feedback"), STRENGTHS.values(), ids=STRENGTHS.keys())
async def test_a_stronger_fact_is_never_taken_back(
    office: PostOffice, said: list[str], feedback: str
) -> None:
    done = await office.sent()
    number = done.deliveries[0].number
    for one in said:
        if one == "reply":
            await office.published(in_mail(), token_of(number))
        elif one == "auto":
            mail = in_mail(automation=AutomationKind.AUTO_REPLY, subject="Away")
            await office.published(mail, token_of(number))
        else:
            await office.published(report_mail(block(ALICE, one)), token_of(number, BOUNCE))
    assert await office.feedback(number) == feedback


async def test_a_bounce_of_a_delivery_that_retention_took_is_still_an_event(
    office: PostOffice,
) -> None:
    done = await office.sent()
    number = done.deliveries[0].number
    await sql(
        office,
        """INSERT INTO delivery_tombstone
           SELECT number, job, mailbox_id, thread, x'00', message_id, state, created_at FROM delivery""",
    )
    await sql(office, "DELETE FROM history")
    await sql(office, "DELETE FROM delivery")
    event = await office.published(report_mail(block(ALICE, "failed")), token_of(number, BOUNCE))
    assert event["answers"]["delivery_id"] == encode_id(Kind.DELIVERY, number)
