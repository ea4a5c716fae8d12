"""What an answer gets from its event, where nothing of the store matters."""

from dataclasses import replace
from typing import Any

import pytest

from postroom.core.inmail import AutomationKind, Person
from postroom.core.replying import Answered
from postroom.outbound.replying import Conversations, Filled
from support.mail import SUPPORT, job
from support.submit_host import MemoryIntake


EVENT = Answered(
    seq=7,
    mailbox_id="support",
    thread_number=3,
    kind=AutomationKind.HUMAN,
    envelope_from="ann@one.example",
    sender=Person("Ann", "ann@one.example"),
    is_sender_ambiguous=False,
    to=(),
    cc=(),
    reply_to=(Person("", "a@one.example"), Person("", "b@one.example")),
    subject="Your report",
    message_id=None,
    references=(),
    chain=(),
    participants=frozenset(),
)
BARE: dict[str, Any] = {"in_reply_to_event": "evt_0000000000007", "to": None, "subject": None}


def fill(event: Answered = EVENT, **fields: Any) -> Any:
    conversations = Conversations(MemoryIntake(), {"support": SUPPORT})
    return conversations.fill(job(**{**BARE, **fields}), SUPPORT, event)


def test_an_alert_is_not_answered_from_any_mailbox() -> None:
    conversations = Conversations(MemoryIntake(), {"support": SUPPORT})
    for mailbox_id in ("", "support"):
        alert = replace(EVENT, thread_number=None, mailbox_id=mailbox_id)
        (problem,) = conversations.fill(job(**BARE), SUPPORT, alert)
        assert (problem.pointer, problem.code) == ("/in_reply_to_event", "reply_target")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [("a@one.example", "to"), ("b@one.example", "to")]),
        ({"cc": ["B@one.example", "ann@one.example"]}, [("a@one.example", "to"), ("b@one.example", "to"), ("ann@one.example", "cc")]),
        ({"to": ["ann@one.example"]}, [("ann@one.example", "to")]),
    ],
    ids=["as it says", "with copies", "as given"],
)  # fmt: skip
def test_recipients_come_from_the_event_unless_they_are_given(
    fields: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    filled = fill(**fields)
    assert isinstance(filled, Filled)
    assert [(one.address.address, one.field) for one in filled.job.recipients] == expected


def test_a_subject_that_is_given_stays() -> None:
    assert fill(subject="Ten").job.subject == "Ten"
    assert fill().job.subject == "Re: Your report"


def test_copies_of_one_answer_share_its_thread() -> None:
    (problem,) = fill(copies="individual")
    assert problem.pointer == "/copies"
    assert isinstance(fill(copies="individual", to=["ann@one.example"]), Filled)


def test_what_is_no_answer_stays_as_it_is() -> None:
    plain = job()
    conversations = Conversations(MemoryIntake(), {"support": SUPPORT})
    assert conversations.fill(plain, SUPPORT, None) == Filled(plain, is_reply_to_ignored=False)


def named(how_many: int) -> tuple[Person, ...]:
    return tuple(Person("", f"p{number}@two.example") for number in range(how_many))


@pytest.mark.parametrize(("asked", "goes_to"), [(20, 20), (21, 1), (500, 1)])
def test_one_mail_does_not_make_us_write_to_hundreds(asked: int, goes_to: int) -> None:
    filled = fill(replace(EVENT, reply_to=named(asked), is_vouched_for=True))
    assert len(filled.job.recipients) == goes_to
    assert filled.is_reply_to_ignored is (goes_to == 1)
