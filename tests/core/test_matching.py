"""What ties a mail to a thread: ids, tokens, subjects, and how strong what is heard of a delivery is."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.delivery import Feedback
from postroom.core.eventtypes import DEFAULT_TYPES, EventType, type_of_mail
from postroom.core.inmail import AutomationKind
from postroom.core.matching import (
    WEAK_FOR,
    Confidence,
    MatchedBy,
    address_key,
    find_ids,
    normalise_id,
    relay_aliases,
    sign_of,
    sort_tokens,
    thread_root,
    weaker_than,
)
from postroom.core.subject import answers_something, forwards_something, subject_key
from postroom.core.token import TokenKind, TokenStatus
from support.arrivals import in_mail, token_of


SES = "010f0192ab34cd56-1a2b3c4d-1111-2222-3333-0123456789ab-000000"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a@Example.COM>", "<a@example.com>"),
        ("a@example.com", "<a@example.com>"),
        ("<Case.Kept@example.com>", "<Case.Kept@example.com>"),
        ("<fol\r\n ded@exam\tple.com>", "<folded@example.com>"),
        (f"<{SES}@eu-west-1.amazonses.com>", f"<{SES}@email.amazonses.com>"),
        ("<a@evil-amazonses.com>", "<a@evil-amazonses.com>"),
        ("<no-at-sign>", "<no-at-sign>"),
        ("<a@[b", "<a@[b>"),
        ("<", ""),
        ("<>", ""),
        ("", ""),
        ("<a@b><c@d>", ""),
        ("<a<b@x.example>", ""),
        ("<a>b@x.example>", ""),
        ("<One@Two@Example.COM>", "<One@Two@example.com>"),
        ("<a@amazonses.com.x.example>", "<a@amazonses.com.x.example>"),
    ],
)
def test_an_id_is_compared_in_one_form(text: str, expected: str) -> None:
    assert normalise_id(text) == expected


@given(st.text(max_size=60))
def test_a_normalised_id_stays_as_it_is(text: str) -> None:
    once = normalise_id(text)
    assert normalise_id(once) == once


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        (None, ()),
        ("4XyZ12345", ()),
        (SES, (f"<{SES}@email.amazonses.com>",)),
        ("abc@Relay.example", ("<abc@relay.example>",)),
        ("@relay.example", ()),
        ("abc@", ()),
        ("a@b", ("<a@b>",)),
        (f"{SES}x", ()),
    ],
    ids=[
        "nothing",
        "a queue id",
        "SES",
        "a whole id",
        "no local part",
        "no domain",
        "a short id",
        "more than SES says",
    ],
)
def test_what_a_relay_calls_a_mail_may_be_its_message_id(
    called: str | None, expected: tuple[str, ...]
) -> None:
    assert relay_aliases(called) == expected


def test_ids_are_believed_newest_first_and_never_the_mails_own() -> None:
    mail = in_mail(
        message_id="<self@x.example>",
        in_reply_to=("<1@x.example>", "<2@x.example>"),
        references=("<0@x.example>", "<1@X.example>", "<self@x.example>", "<", "<3@x.example>"),
    )
    assert find_ids(mail) == (
        (MatchedBy.IN_REPLY_TO, "<2@x.example>"),
        (MatchedBy.IN_REPLY_TO, "<1@x.example>"),
        (MatchedBy.REFERENCES, "<3@x.example>"),
        (MatchedBy.REFERENCES, "<0@x.example>"),
    )
    assert find_ids(replace(mail, in_reply_to=(), references=())) == ()


def test_the_best_token_comes_first() -> None:
    best = [
        token_of(1, TokenKind.REPLY, TokenStatus.VALID),
        token_of(2, TokenKind.BOUNCE, TokenStatus.VALID),
        token_of(3, TokenKind.REPLY, TokenStatus.EXPIRED),
        token_of(4, TokenKind.BOUNCE, TokenStatus.EXPIRED),
    ]
    assert sort_tokens(reversed(best)) == tuple(best)


@pytest.mark.parametrize(
    ("kind", "status", "sign", "confidence"),
    [
        (TokenKind.REPLY, TokenStatus.VALID, MatchedBy.REPLY_TOKEN, Confidence.CERTAIN),
        (TokenKind.REPLY, TokenStatus.EXPIRED, MatchedBy.REPLY_TOKEN, Confidence.STRONG),
        (TokenKind.BOUNCE, TokenStatus.VALID, MatchedBy.RETURN_PATH, Confidence.CERTAIN),
        (TokenKind.BOUNCE, TokenStatus.EXPIRED, MatchedBy.RETURN_PATH, Confidence.STRONG),
    ],
)
def test_a_token_is_worth_more_while_it_is_valid(
    kind: TokenKind, status: TokenStatus, sign: MatchedBy, confidence: Confidence
) -> None:
    assert sign_of(token_of(1, kind, status)) == (sign, confidence)


@pytest.mark.parametrize(
    ("subject", "key", "is_answer"),
    [
        ("Report", "report", False),
        ("Re: Report", "report", True),
        ("RE: RE: Fwd: Report", "report", True),
        ("Re[2]: Report", "report", True),
        ("Re(3): Report", "report", True),
        ("Re^2: Report", "report", True),
        ("AW: Report", "report", True),
        ("Antw: Report", "report", True),
        ("SV: VS: Report", "report", True),
        ("Odp: Report", "report", True),
        ("R: Report", "report", True),
        ("TR : Report", "report", True),
        ("WG: Report", "report", True),
        ("Ответ: Отчёт", "отчёт", True),
        ("回复\uff1aReport", "report", True),
        ("答复: Report", "report", True),
        ("Automatic reply: Report", "report", True),
        ("Automatisk svar: Report", "report", True),
        ("Abwesend: Report", "report", True),
        ("Automatisch bericht: Re: Report", "report", True),
        ("[list] Re: [other list] Report", "report", True),
        ("[list] Report", "report", False),
        ("  re:\r\n\tTwo   words ", "two words", True),
        ("Re:Report", "report", True),
        ("Regarding: Report", "regarding: report", False),
        ("Research: Report", "research: report", False),
        ("Re", "re", False),
        ("Re:", "", True),
        ("[ticket 5]", "", False),
        ("", "", False),
        ("Stra\u00dfe", "strasse", False),
    ],
)
def test_a_subject_is_compared_without_what_programs_put_in_front(
    subject: str, key: str, *, is_answer: bool
) -> None:
    assert (subject_key(subject), answers_something(subject)) == (key, is_answer)


@pytest.mark.parametrize(
    "subject",
    [
        "Fwd: Report",
        "FW: Re: Report",
        "WG: Bericht",
        "TR : Rapport",
        "[list] Fw: Report",
        "转发\uff1a报告",
    ],
)
def test_the_first_prefix_says_that_something_is_forwarded(subject: str) -> None:
    assert forwards_something(subject)


@pytest.mark.parametrize("subject", ["Report", "Re: Fwd: Report", "Forward: Report", "", "Fwd"])
def test_another_prefix_says_no_such_thing(subject: str) -> None:
    assert not forwards_something(subject)


@given(st.text(max_size=400))
def test_any_subject_has_a_bounded_key_and_an_answer_to_it_has_the_same(subject: str) -> None:
    key = subject_key(subject)
    assert len(key) <= 200
    assert subject_key(f"Re: {subject}") == key or len(subject) > 150


@pytest.mark.parametrize("hostile", ["Re: " * 50_000, "[" * 100_000, "Re[" * 40_000, " " * 200_000])
def test_a_hostile_subject_costs_nothing(hostile: str) -> None:
    assert len(subject_key(hostile)) <= 200


ROOT = "AQHb" + "A" * 26


@pytest.mark.parametrize(
    ("index", "is_one"),
    [
        (ROOT + "==", True),
        (f" {ROOT[:10]}\r\n {ROOT[10:]}== ", True),
        ("AQHb", False),
        ("not base64!" * 5, False),
        ("\u00e4" * 40, False),
        (ROOT[:4] * 5000, False),
        ("", False),
        (None, False),
    ],
)
def test_a_thread_index_has_a_root_or_is_none(index: str | None, *, is_one: bool) -> None:
    root = thread_root(index)
    assert (root is not None) == is_one
    assert root is None or len(root) == 44


def test_all_mails_of_an_outlook_conversation_have_one_root() -> None:
    assert thread_root(ROOT + "==") == thread_root(ROOT + "AAAAAA")


def test_what_is_heard_of_a_delivery_has_one_order() -> None:
    order = ["none", "delayed", "delivered", "bounced", "replied", "complained"]
    assert [one.value for one in Feedback] == order
    for n, one in enumerate(Feedback):
        assert [each.value for each in weaker_than(one)] == order[:n]


@pytest.mark.parametrize(
    ("kind", "known", "unknown"),
    [
        (AutomationKind.HUMAN, "reply.received", "message.received"),
        (AutomationKind.AUTO_REPLY, "auto_reply.received", "auto_reply.received"),
        (AutomationKind.LIST, "list_mail.received", "list_mail.received"),
        (AutomationKind.BULK, "list_mail.received", "list_mail.received"),
        (AutomationKind.LOOP, "auto_reply.received", "auto_reply.received"),
        (AutomationKind.REPORT, "auto_reply.received", "auto_reply.received"),
    ],
)
def test_who_wrote_it_says_what_event_it_is(kind: AutomationKind, known: str, unknown: str) -> None:
    assert type_of_mail(kind, is_known=True) == known
    assert type_of_mail(kind, is_known=False) == unknown


def test_who_asks_for_nothing_gets_what_someone_has_to_act_on() -> None:
    unasked = {
        "alert.raised",
        "alert.cleared",
        "delivery.sent",
        "delivery.delayed",
        "delivery.skipped",
        "auto_reply.received",
        "list_mail.received",
    }
    assert {one.value for one in EventType} - {one.value for one in DEFAULT_TYPES} == unasked


def test_an_index_of_more_than_4096_characters_is_none() -> None:
    whole = "QUJD" * 1_024
    assert thread_root(whole) == (b"ABC" * 8)[:22].hex()
    assert thread_root(whole + "QUJD") is None
    assert thread_root("QUJD*" * 20) is None


def test_a_weak_sign_counts_for_thirty_days() -> None:
    assert timedelta(days=30) == WEAK_FOR


def test_two_spellings_of_an_address_have_one_key() -> None:
    assert address_key("Ann@One.EXAMPLE") == "ann@one.example"
    assert address_key("STRASSE@x.example") == address_key("straße@x.example")
    assert address_key("Ann@MÜLLER.example") == "ann@xn--mller-kva.example"
    assert address_key("ann@straße.example") != address_key("ann@strasse.example")
    assert address_key("Ä b") == "ä b"


def test_a_prefix_or_a_tag_counts_only_in_front() -> None:
    for subject in ("Notes: Re: the plan", "Plan [team] of May", "Plan, AW: May"):
        assert subject_key(subject) == subject.casefold()
        assert not answers_something(subject)
    assert not forwards_something("Plan [team] Fwd: May")
    assert forwards_something("[team] Fwd: May")
