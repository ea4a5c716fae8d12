"""What a received mail leaves in the store: one event however often it comes, its text, and its files."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.ids import Kind, encode_id
from postroom.core.inmail import Parse, Removed, RemovedWhy, TextConfidence
from postroom.core.instant import Instant, micros
from postroom.core.replying import NoTarget, find_target
from postroom.core.token import TokenStatus
from postroom.ports.arriving import ArrivalRecipient, Doubled, Published, RawFile
from postroom.ports.errors import StorageFull, StoreUnavailable
from support.arrivals import (
    ALICE,
    SUPPORT,
    PostOffice,
    arrival,
    in_mail,
    stored,
    thread_of,
    token_of,
)
from support.store_host import NOON, outbox_in, rows_in


FILE = hashlib.sha256(b"some file").hexdigest()
LARGE = hashlib.sha256(b"large").hexdigest()


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path, spool=frozenset({FILE, LARGE})) as outbox:
        yield PostOffice(outbox)


async def test_a_mail_that_comes_again_is_the_same_event_with_all_its_addresses(
    office: PostOffice,
) -> None:
    mail = in_mail()
    first = await office.published(mail)
    again = await office.doubled(mail, recipients=("Support+x@example.com", "support@EXAMPLE.com"))
    assert again["seq"] == first["seq"]
    assert again["envelope"]["to"] == [SUPPORT, "Support+x@example.com"]
    assert {**again, "envelope": 0} == {**first, "envelope": 0}
    assert again["thread"]["version"] == 1
    assert len(await office.events()) == 1


async def test_after_seven_days_it_is_another_mail(office: PostOffice) -> None:
    mail = in_mail()
    await office.published(mail)
    week = micros(timedelta(days=7))
    await office.doubled(mail, at=Instant(NOON + week))
    await office.published(mail, at=Instant(NOON + week + 1))
    await office.doubled(mail, at=Instant(NOON + 2 * week))


async def test_in_another_mailbox_it_is_an_event_of_its_own(office: PostOffice) -> None:
    mail = in_mail()
    received = await office.receive()
    first = await office.published(mail, received=received, is_last=False)
    second = await office.published(mail, received=received, mailbox_id="sales")
    assert first["thread"]["id"] != second["thread"]["id"]


async def test_a_copy_to_another_threads_token_is_one_more_event_there(
    office: PostOffice,
) -> None:
    one, two = await office.sent(), await office.sent()
    tokens = [token_of(job.deliveries[0].number) for job in (one, two)]
    mail = in_mail(subject="To both of you")
    first = await office.published(mail, tokens[0])
    copy = await office.published(mail, tokens[1])
    assert copy["same_message_as"] == encode_id(Kind.EVENT, first["seq"])
    assert copy["thread"]["id"] == encode_id(Kind.THREAD, thread_of(two))
    assert copy["thread"]["version"] == 1
    assert "same_message_as" not in first
    assert (await office.doubled(mail, tokens[1]))["seq"] == copy["seq"]
    assert (await office.doubled(mail, tokens[0]))["seq"] == first["seq"]
    assert (await office.doubled(mail))["seq"] == first["seq"]


async def test_two_tokens_in_one_envelope_are_as_two_copies(office: PostOffice) -> None:
    one, two = await office.sent(), await office.sent()
    tokens = [token_of(job.deliveries[0].number) for job in (one, two)]
    await office.published(in_mail(subject="To both of you"), *tokens)
    first, copy = await office.events("reply.received")
    assert copy["same_message_as"] == encode_id(Kind.EVENT, first["seq"])
    assert [each["thread"]["version"] for each in (first, copy)] == [1, 1]


async def test_two_tokens_of_one_thread_are_one_event_and_the_valid_one_counts(
    office: PostOffice,
) -> None:
    done = await office.sent("carol@customer.example", ALICE)
    carol, alice = (one.number for one in done.deliveries)
    event = await office.published(
        in_mail(), token_of(carol, status=TokenStatus.EXPIRED), token_of(alice)
    )
    assert event["answers"]["delivery_id"] == encode_id(Kind.DELIVERY, alice)
    assert len(await office.events("reply.received")) == 1


async def test_what_was_published_before_a_crash_is_not_published_again(
    office: PostOffice,
) -> None:
    received = await office.receive()
    first = await office.published(in_mail(), received=received, is_last=False)
    understood_otherwise = in_mail(parse=Parse.FAILED, text="", new_text="")
    again = await office.doubled(understood_otherwise, received=received)
    assert again == first
    assert await office.outbox.inbox.find_received(0, 9) == ()


async def test_an_event_tells_what_is_new_in_its_text_and_how_surely(office: PostOffice) -> None:
    removed = (Removed(5, 10, RemovedWhy.FORWARD),)
    mail = in_mail(
        text="Yes.\nOld.\n",
        new_text="Yes.\n",
        removed=removed,
        text_confidence=TextConfidence.LOW,
        is_forward=True,
    )
    message = (await office.published(mail))["message"]
    assert message["removed"] == [{"from": 5, "to": 10, "why": "forward"}]
    assert (message["new_text_confidence"], message["is_forward"]) == ("low", True)


async def test_an_event_says_that_it_is_not_clear_who_wrote_and_nobody_answers(
    office: PostOffice,
) -> None:
    """A16: two people in From, or two of them."""
    number = (await office.sent()).deliveries[0].number
    clear = await office.published(in_mail())
    assert "from_ambiguous" not in clear["message"]
    event = await office.published(
        in_mail(subject="Both", is_sender_ambiguous=True, message_id="<2@x.example>"),
        token_of(number),
    )
    assert event["message"]["from_ambiguous"] is True
    assert event["answers"]["from_recipient"] is False
    answered = await office.outbox.intake.find_answered(event["seq"])
    assert answered is not None
    assert isinstance(find_target(answered, lambda _: False), NoTarget)


async def test_what_was_received_is_there_until_it_is_published(office: PostOffice) -> None:
    done = await office.sent()
    token = token_of(done.deliveries[0].number)
    first, second = await office.receive(token), await office.receive(sender="")
    assert await office.outbox.inbox.find_received(0, 9) == (first, second)
    assert await office.outbox.inbox.find_received(first.number, 9) == (second,)
    assert await office.outbox.inbox.find_received(0, 1) == (first,)
    asked = office.outbox.conversations.is_inbound_pending
    assert await asked(thread_of(done))
    await office.publish(in_mail(), token, received=first, is_last=False)
    assert await asked(thread_of(done))
    await office.publish(in_mail(), token, received=first, mailbox_id="sales")
    assert not await asked(thread_of(done))
    assert await office.outbox.inbox.find_received(0, 9) == (second,)


async def test_an_expired_token_holds_nobody_back(office: PostOffice) -> None:
    done = await office.sent()
    number = done.deliveries[0].number
    await office.receive(token_of(number, status=TokenStatus.EXPIRED))
    await office.receive(token_of(number + 1))
    foreign = ArrivalRecipient("r@reply.example.com", "sales", token_of(number))
    await office.outbox.inbox.receive(arrival(foreign))
    assert not await office.outbox.conversations.is_inbound_pending(thread_of(done))


async def test_the_raw_bytes_of_an_event_are_kept(office: PostOffice) -> None:
    small = await office.published(in_mail(subject="a"))
    large = await office.receive(raw=RawFile(LARGE, 100_000))
    event = await office.published(in_mail(subject="b"), received=large)
    done = await office.sent()
    (sent,) = await office.events("delivery.sent")
    find = office.outbox.conversations.find_event_raw
    assert await find(small["seq"]) == b"Subject: Hi\r\n\r\nYes.\r\n"
    assert await find(event["seq"]) == RawFile(LARGE, 100_000)
    assert await find(sent["seq"]) is None
    assert await find(done.number + 99) is None


async def test_attachments_have_references_like_uploads(office: PostOffice, tmp_path: Path) -> None:
    event = await office.published(
        in_mail(),
        attachments=(stored(FILE, "att_1"), stored(FILE, "att_2")),
        html_ref=stored(FILE, "att_3"),
    )
    assert [one["ref"] for one in event["message"]["attachments"]] == ["att_1", "att_2"]
    assert (event["message"]["html_ref"], event["message"]["text_ref"]) == ("att_3", None)
    found = await office.outbox.reader.find_staged("att_2")
    assert found is not None
    assert (found.sha256, found.filename) == (FILE, "a.pdf")
    assert rows_in(tmp_path, "SELECT refs FROM spool_file") == [(3,)]
    await office.doubled(in_mail(), attachments=(stored(FILE, "att_4"),))
    assert await office.outbox.reader.find_staged("att_4") is None


async def test_a_file_that_is_just_being_removed_must_be_brought_again(
    office: PostOffice, tmp_path: Path
) -> None:
    gone = "ee" * 32
    with pytest.raises(StoreUnavailable):
        await office.receive(raw=RawFile(gone, 100_000))
    with pytest.raises(StoreUnavailable):
        await office.publish(in_mail(), attachments=(stored(gone),))
    assert rows_in(tmp_path, "SELECT count(*) FROM event") == [(0,)]
    assert len(await office.outbox.inbox.find_received(0, 9)) == 1


async def test_nothing_is_taken_in_when_the_disk_is_nearly_full(tmp_path: Path) -> None:
    async with outbox_in(tmp_path, free=lambda directory: 1000) as outbox:
        with pytest.raises(StorageFull):
            await outbox.inbox.receive(arrival())


async def test_a_thread_is_told_with_our_deliveries_and_what_came(office: PostOffice) -> None:
    done = await office.sent(conversation_id="c", metadata=(("run", "7"),))
    number = done.deliveries[0].number
    await office.published(in_mail(), token_of(number))
    again = await office.sent(thread_number=thread_of(done))
    found = await office.outbox.conversations.find_thread(thread_of(done), 10)
    assert found is not None
    assert [one.number for one in found.deliveries] == [number, again.deliveries[0].number]
    assert [one.subject for one in found.deliveries] == ["Report"] * 2
    assert [one.type for one in found.events] == [
        "delivery.sent",
        "reply.received",
        "delivery.sent",
    ]
    assert (found.version, found.conversation_id, found.metadata) == (1, "c", {"run": "7"})
    assert found.is_whole
    part = await office.outbox.conversations.find_thread(thread_of(done), 1)
    assert part is not None
    assert part.deliveries == found.deliveries[1:]
    assert part.events == found.events[2:]
    assert not part.is_whole
    assert await office.outbox.conversations.find_thread(99, 1) is None


async def test_what_the_encoder_can_not_write_is_told_and_nothing_is_stored(
    office: PostOffice,
) -> None:
    mail = replace(in_mail(), text="\ud800")
    with pytest.raises(UnicodeEncodeError):
        await office.publish(mail)
    assert len(await office.outbox.inbox.find_received(0, 9)) == 1
    assert isinstance(await office.publish(in_mail()), Published)
    assert isinstance(await office.publish(in_mail()), Doubled)
