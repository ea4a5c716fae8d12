"""To which thread a received mail goes by its subject or Outlook's index, as the last resort (CONTRACT §5, CASES E)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.arrivals import ALICE, PostOffice, days, in_mail, the_job
from support.store_host import outbox_in


MALLORY = "mallory@elsewhere.example"
INDEX = "AQHb" + "A" * 26 + "=="  # 22 octets; what follows in a conversation is longer


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


SUBJECTS: dict[str, Any] = {
    "answer to what we wrote": ({"subject": "RE: Report"}, True),
    "in another language": ({"subject": "AW: Antw: Re[2]: report "}, True),
    "in Chinese": ({"subject": "回复\uff1aReport"}, True),
    "a list's tag": ({"subject": "Re: [support] Report"}, True),
    "the same words, answering nothing": ({"subject": "Report"}, False),
    "another subject": ({"subject": "Re: Invoice"}, False),
    "from somebody else": ({"subject": "Re: Report", "sender": MALLORY}, False),
    "no subject": ({"subject": "Re:"}, False),
    "two authors": ({"subject": "Re: Report", "is_sender_ambiguous": True}, False),
    "nobody in From": ({"subject": "Re: Report", "sender": None}, False),
}


@pytest.mark.parametrize(("mail", "is_same"), SUBJECTS.values(), ids=SUBJECTS.keys())
async def test_the_subject_is_the_last_resort(
    office: PostOffice, mail: dict[str, Any], *, is_same: bool
) -> None:
    thread, _, number = await the_job(office)
    event = await office.published(in_mail(**mail))
    assert (event["thread"]["id"] == thread) == is_same
    assert event["thread"]["matched_by"] == ("subject" if is_same else "none")
    assert event["thread"]["confidence"] == ("weak" if is_same else "none")
    assert event["type"] == ("reply.received" if is_same else "message.received")
    assert await office.feedback(number) == "none"


async def test_after_thirty_days_a_subject_ties_nothing(office: PostOffice) -> None:
    first = await office.published(in_mail(subject="Question"))
    second = await office.published(in_mail(subject="Re: Question"), at=days(29))
    assert second["thread"]["id"] == first["thread"]["id"]
    third = await office.published(in_mail(subject="RE: question"), at=days(60))
    assert third["thread"]["id"] != first["thread"]["id"]


async def test_after_thirty_days_nor_does_the_subject_of_what_we_wrote(office: PostOffice) -> None:
    thread, _, _ = await the_job(office)
    assert (await office.published(in_mail(), at=days(29.9)))["thread"]["id"] == thread
    other = in_mail("Alice@CUSTOMER.example", "AW: Report")
    assert (await office.published(other, at=days(30.1)))["thread"]["id"] == thread  # by her own
    _, _, _ = await the_job(office, key="second")
    fresh = await office.published(in_mail(subject="Re: Report", text="x"), at=days(61))
    assert fresh["thread"]["matched_by"] == "none"


async def test_a_second_question_with_the_same_subject_is_a_thread_of_its_own(
    office: PostOffice,
) -> None:
    first = await office.published(in_mail(subject="Question", text="One?"))
    second = await office.published(in_mail(subject="Question", text="Two?"))
    assert second["thread"]["id"] != first["thread"]["id"]


async def test_outlooks_thread_index_ties_mails_of_one_peer(office: PostOffice) -> None:
    first = await office.published(in_mail(subject="One", thread_index=INDEX))
    longer = "AQHb" + "A" * 32
    for sender, is_same in ((ALICE, True), (MALLORY, False)):
        event = await office.published(in_mail(sender, "Two", thread_index=longer))
        assert (event["thread"]["id"] == first["thread"]["id"]) == is_same
        assert event["thread"]["matched_by"] == ("thread_index" if is_same else "none")


async def test_two_strangers_with_one_subject_are_two_threads(office: PostOffice) -> None:
    threads = {
        (await office.published(in_mail(who, "A question")))["thread"]["id"]
        for who in (ALICE, MALLORY)
    }
    assert len(threads) == 2
