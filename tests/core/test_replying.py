"""Whom an answer goes to."""

from dataclasses import replace
from typing import Any

import pytest

from postroom.core.inmail import AutomationKind, Person
from postroom.core.job import Address
from postroom.core.replying import (
    NoTarget,
    Target,
    find_target,
    organisation,
)
from postroom.core.subject import reply_subject
from support.conversed import ALICE, EVENT, OWN, TOKEN, people


A = Address(ALICE.address, "Alice")
K = AutomationKind


def goes_to(*addresses: Address, ignores: bool = False) -> Target:
    return Target(addresses, is_reply_to_ignored=ignores)


@pytest.mark.parametrize(
    ("reply_to", "expected"),
    [
        ((), goes_to(A)),
        (people("alice@customer.example"), goes_to(Address("alice@customer.example"))),
        (people("team@mail.customer.example"), goes_to(Address("team@mail.customer.example"))),
        (people("a@customer.example", "b@customer.example"), goes_to(Address("a@customer.example"), Address("b@customer.example"))),
        (people("sales@elsewhere.example"), goes_to(A, ignores=True)),
        (people("a@customer.example", "b@elsewhere.example"), goes_to(A, ignores=True)),
        (people("not an address"), goes_to(A)),
        (people(TOKEN), goes_to(A, ignores=True)),
    ],
    ids=["none", "herself", "same organisation", "two of them", "elsewhere", "one elsewhere", "broken", "our own"],
)  # fmt: skip
def test_reply_to_is_followed_within_the_organisation_of_from(
    reply_to: tuple[Person, ...], expected: Target
) -> None:
    assert find_target(replace(EVENT, reply_to=reply_to), OWN) == expected


ELSEWHERE = people("alice@elsewhere.example")
BELOW = people("alice@mail.customer.example")
UNPUBLISHED: dict[str, Any] = {
    "from_organisation": "customer.example",
    "reply_to_organisation": "mail.customer.example",
    "is_from_published": False,
}
JUDGED = {
    "vouched for": (ELSEWHERE, {"is_vouched_for": True}, True),
    "vouched for, our own": (people(TOKEN), {"is_vouched_for": True}, False),
    "of one organisation": (
        ELSEWHERE,
        {"from_organisation": "group.example", "reply_to_organisation": "group.example"},
        True,
    ),
    "below, and another organisation by DNS": (
        BELOW,
        {
            "from_organisation": "customer.example",
            "reply_to_organisation": "mail.customer.example",
        },
        False,
    ),
    "below, and no domain publishes anything": (BELOW, UNPUBLISHED, True),
    "above, and no domain publishes anything": (
        people("alice@customer.example"),
        {**UNPUBLISHED, "sender": Person("Alice", "alice@mail.customer.example")},
        True,
    ),
    "beside, and no domain publishes anything": (
        BELOW,
        {**UNPUBLISHED, "sender": Person("Alice", "alice@shop.customer.example")},
        False,
    ),
    "below a country's, and no domain publishes anything": (
        people("alice@mail.co.uk"),
        {**UNPUBLISHED, "sender": Person("Alice", "alice@co.uk")},
        False,
    ),
    "below, and DNS did not say": (BELOW, {"from_organisation": "customer.example"}, False),
    "the same domain, and DNS did not say": (
        people("bob@customer.example"),
        {"from_organisation": "customer.example"},
        True,
    ),
    "below, and nothing is known": (BELOW, {"reply_to_organisation": "customer.example"}, True),
}


@pytest.mark.parametrize(("reply_to", "more", "follows"), JUDGED.values(), ids=JUDGED.keys())
def test_reply_to_is_followed_by_what_dns_said_of_the_organisations(
    reply_to: tuple[Person, ...], more: dict[str, Any], *, follows: bool
) -> None:
    event = replace(EVENT, reply_to=reply_to, **more)
    assert event.sender is not None
    found = find_target(event, OWN)
    whom = reply_to[0] if follows else event.sender
    expected = Address(whom.address, whom.name)
    assert found == goes_to(expected, ignores=not follows)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": K.AUTO_REPLY},
        {"kind": K.REPORT},
        {"kind": K.LOOP},
        {"kind": None},
        {"envelope_from": ""},
        {"sender": None},
        {"is_sender_ambiguous": True},
        {"sender": Person("", "nobody")},
        {"sender": Person("", "Support@Example.com")},
        {"sender": Person("", "support+tag@example.com")},
        {"sender": Person("", TOKEN)},
        {"kind": K.LIST, "to": people("list@lists.example"), "sender": Person("", "list@lists.example")},
        {"kind": K.LIST, "is_list_in_from": True},
    ],
    ids=["auto-reply", "report", "ours come back", "no mail", "null sender", "no From", "two From", "broken From",
         "our mailbox", "our tag", "our token", "the list itself", "the list itself, addressed to us"],
)  # fmt: skip
def test_nobody_is_answered(changes: dict[str, object]) -> None:
    assert isinstance(find_target(replace(EVENT, **changes), OWN), NoTarget)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [K.LIST, K.BULK])
def test_what_a_list_passed_on_goes_back_to_its_writer_alone(kind: AutomationKind) -> None:
    listed = replace(
        EVENT,
        kind=kind,
        to=people("list@lists.example"),
        reply_to=people("list@lists.example"),
    )
    assert find_target(listed, OWN) == Target((A,), is_reply_to_ignored=True)


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ("example.com", "example.com"),
        ("mail.eu.Example.com", "example.com"),
        ("example.co.uk", "example.co.uk"),
        ("mail.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("mail.example.co.uk.", "example.co.uk"),
        ("mail.example.co.uks", "co.uks"),
        ("a.com.au", "a.com.au"),
        ("web.de", "web.de"),
        ("mail.web.de", "mail.web.de"),
        ("localhost", "localhost"),
        ("paypal.com-evil.com", "com-evil.com"),
    ],
)
def test_an_organisation_is_told_by_a_short_rule(domain: str, expected: str) -> None:
    assert organisation(domain) == expected


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("Your report", "Re: Your report"),
        ("RE: Your report", "Re: Your report"),
        ("Re: Re: AW: SV: Your report", "Re: Your report"),
        ("Re[2]: Your report", "Re: Your report"),
        ("回复\uff1aYour report", "Re: Your report"),
        ("Fwd: Your report", "Re: Fwd: Your report"),
        ("Re: Fwd: Re: Your report", "Re: Fwd: Re: Your report"),
        ("[list] Re: Your report", "Re: [list] Re: Your report"),
        ("Regarding: x", "Re: Regarding: x"),
        ("", "Re:"),
        ("Re:", "Re:"),
        ("a\r\nBcc: mallory@x", "Re: a??Bcc: mallory@x"),
    ],
)
def test_a_subject_is_answered_once(subject: str, expected: str) -> None:
    assert reply_subject(subject) == expected


def test_a_long_subject_stays_within_what_a_job_may_have() -> None:
    assert len(reply_subject("x" * 5000)) == 1000


@pytest.mark.parametrize(
    "label",
    [
        "ac",
        "asn",
        "co",
        "com",
        "ed",
        "edu",
        "go",
        "gob",
        "gouv",
        "gov",
        "govt",
        "id",
        "in",
        "info",
        "ltd",
        "med",
        "mil",
        "ne",
        "net",
        "nhs",
        "nom",
        "or",
        "org",
        "plc",
        "police",
        "sch",
        "school",
        "web",
    ],
)
def test_below_a_label_that_a_country_hands_out_names_under_an_organisation_has_three(
    label: str,
) -> None:
    assert organisation(f"mail.desk.{label}.xy") == f"desk.{label}.xy"
    assert organisation(f"mail.desk.{label}.example") == f"{label}.example"
    assert organisation(f"mail.desk.{label}x.xy") == f"{label}x.xy"
