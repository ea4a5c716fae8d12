"""For whom the event of a received mail is pending."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.inmail import AutomationKind
from postroom.core.mailbox import AcceptNew
from postroom.core.refusal import Wanted
from postroom.ports.changes import EventPublished, MailDone, MailReceived
from support.arrivals import PostOffice, in_mail, sql, token_of
from support.desk_store import Told
from support.store_host import outbox_in, rows_in


NOBODY_NEW = Wanted(AcceptNew.NONE)


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


async def consumer(
    office: PostOffice, name: str, *types: str, from_seq: int = 0, is_asked: bool = False
) -> None:
    await sql(office, "INSERT INTO consumer (name, created_at) VALUES (?, 0)", name)
    for one in types:
        row = (name, one, from_seq, is_asked)
        await sql(office, "INSERT INTO consumer_type VALUES (?, ?, ?, ?)", *row)


def pending(tmp_path: Path) -> list[tuple[object, ...]]:
    return rows_in(tmp_path, "SELECT consumer, seq, thread FROM pending ORDER BY consumer, seq")


async def test_an_event_is_pending_for_who_has_its_type(office: PostOffice, tmp_path: Path) -> None:
    await consumer(office, "agent", "reply.received", "message.received")
    await consumer(office, "curious", "auto_reply.received")
    await consumer(office, "late", "message.received", from_seq=1)
    told = Told()
    office.outbox.database.watch(told)
    await office.published(in_mail(subject="One"))
    await office.published(in_mail(subject="Two", automation=AutomationKind.AUTO_REPLY))
    assert pending(tmp_path) == [("agent", 1, 1), ("curious", 2, 2)]
    assert told.changes == [
        MailReceived(1),
        EventPublished(1, "support", 1, "message.received", ("agent",)),
        MailDone(1),
        MailReceived(2),
        EventPublished(2, "support", 2, "auto_reply.received", ("curious",)),
        MailDone(2),
    ]


async def test_what_becomes_of_a_delivery_is_pending_too(
    office: PostOffice, tmp_path: Path
) -> None:
    await consumer(office, "agent", "delivery.failed", "delivery.uncertain")
    await office.sent()
    await office.sent(state=DeliveryState.FAILED)
    assert [(name, seq) for name, seq, _ in pending(tmp_path)] == [("agent", 2)]
    assert await office.outbox.reader.find_events(2, 9) == ()


async def test_new_mail_that_is_not_wanted_is_kept_and_wakes_only_who_asked_for_it(
    office: PostOffice, tmp_path: Path
) -> None:
    await consumer(office, "agent", "message.received")
    await consumer(office, "asked", "message.received", is_asked=True)
    event = await office.published(in_mail(subject="Buy!"), wanted=NOBODY_NEW)
    assert (event["type"], event["accepted"]) == ("message.received", False)
    assert [name for name, _, _ in pending(tmp_path)] == ["asked"]
    done = await office.sent()
    token = token_of(done.deliveries[0].number)
    known = await office.published(in_mail(), token, wanted=NOBODY_NEW)
    assert "accepted" not in known
