"""What a digest says: addresses, why, tries, what is in doubt and what to do; bounded, and clean of strangers' tricks."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.delivery import DeliveryState
from postroom.core.digest import MOST, Account, Unsent, digest_letter, due_before
from postroom.core.instant import MINUTE, Instant
from postroom.core.reason import EXPLANATIONS, ReasonCode


HOUR = 60 * MINUTE
DAY = 24 * HOUR
SEVEN = Instant(20_000 * DAY + 7 * HOUR)
EVIL = "550 \x1b[2Jno\r\nBcc: x@example.com \u202egnp"
FAILED = Unsent(
    7,
    "support",
    DeliveryState.FAILED,
    SEVEN,
    "old.manager@example.com",
    ReasonCode.RECIPIENT_UNKNOWN,
    1,
    EVIL,
)
DOUBT = replace(
    FAILED,
    state=DeliveryState.UNCERTAIN,
    recipient="ceo@example.com",
    reason=ReasonCode.DOUBT_NO_ANSWER,
    attempts=3,
    at=Instant(SEVEN - 9 * DAY),
    reply="",
)
UNTIL = Instant(SEVEN + DAY)


def account(*some: Unsent) -> Account:
    made = Account(SEVEN)
    for one in some:
        made.add(one)
    return made


def test_it_says_who_did_not_get_it_why_and_after_how_many_tries_and_what_is_in_doubt() -> None:
    letter = digest_letter("support", account(FAILED, DOUBT), UNTIL, "host.example")
    assert letter is not None
    assert letter.subject == "Digest of support: 1 failed, 1 in doubt"
    for words in (
        "Ended unsent from 2024-10-04 07:00 UTC to 2024-10-05 07:00 UTC: 1.",
        "old.manager@example.com",
        f"recipient.unknown: {EXPLANATIONS[ReasonCode.RECIPIENT_UNKNOWN].means} 1 try,",
        EXPLANATIONS[ReasonCode.RECIPIENT_UNKNOWN].to_do,
        "Reply: 550 ?[2Jno??Bcc: x@example.com ?gnp",
        "ceo@example.com",
        "3 tries, 2024-09-25 07:00 UTC, dlv_0000000000007",
        "`postroom resolve ID --as sent`",
        "Postroom on host.example, mailbox support.",
    ):
        assert words in letter.text


def test_where_there_is_nothing_to_say_there_is_no_letter() -> None:
    assert digest_letter("support", account(), UNTIL, "h") is None


def test_what_the_last_digest_told_is_not_told_again_but_a_doubt_is_until_it_is_settled() -> None:
    before = replace(FAILED, at=Instant(SEVEN - 1))
    assert digest_letter("support", account(before), UNTIL, "h") is None
    assert digest_letter("support", account(before, DOUBT), UNTIL, "h") is not None


@given(st.integers(MOST + 1, 400))
def test_of_many_a_hundred_are_written_out_and_the_rest_is_counted(number: int) -> None:
    some = [replace(one, number=n) for n in range(number) for one in (FAILED, DOUBT)]
    letter = digest_letter("support", account(*some), UNTIL, "h")
    assert letter is not None
    assert letter.text.count("old.manager") == letter.text.count("ceo@") == MOST
    assert letter.text.count(f"And {number - MOST} more") == 2
    assert f"{number} recipient.unknown" in letter.text
    assert len(letter.text) < 200_000


@given(st.text(), st.text())
def test_no_stranger_begins_a_line_or_turns_the_writing(reply: str, recipient: str) -> None:
    tame = replace(FAILED, reply="r", recipient="a@example.com")
    wild = replace(FAILED, reply=f"r{reply}", recipient=f"a@example.com{recipient}")
    usual, letter = (digest_letter("support", account(one), UNTIL, "h") for one in (tame, wild))
    assert usual is not None
    assert letter is not None
    assert letter.text.count("\n") == usual.text.count("\n")
    assert len(letter.text.splitlines()) == len(usual.text.splitlines())
    assert not set(letter.text) & set("\r\x1b\u202e\u2066\u200b")
    assert letter.subject == usual.subject


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (SEVEN, SEVEN),
        (SEVEN - 1, SEVEN - DAY),
        (SEVEN + 1, SEVEN),
        (SEVEN + 17 * HOUR, SEVEN),
        (SEVEN + DAY, SEVEN + DAY),
    ],
)
def test_the_latest_time_of_a_digest(now: int, due: int) -> None:
    assert due_before(Instant(now), timedelta(hours=7)) == due
