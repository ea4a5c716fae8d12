"""What an event tells of who wrote the mail, and what an answer knows of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postroom.core.authentication import Authentication, Dmarc, Outcome, Spf, Verdict
from postroom.core.inmail import Counted, Person, ReaderSigns
from support.arrivals import PostOffice, in_mail
from support.store_host import outbox_in
from support.verifying import judged, signature, trusted


EVE = "eve@elsewhere.example"


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


async def test_an_event_has_all_of_the_evidence(office: PostOffice) -> None:
    found = judged(
        Verdict.PASS,
        decided_by="dkim",
        reply_to_organisation="customer.example",
        spf=Spf(Outcome.SOFTFAIL, "mfrom", "x.test", "192.0.2.7", is_aligned=False, why="redirect"),
        dkim=(signature("from", "subject"),),
        dmarc=Dmarc(Outcome.PASS, "customer.example", "reject"),
        trusted=(trusted(Outcome.PASS, "customer.example"),),
        forged_results=2,
        unchecked_signatures=1,
    )
    signs = ReaderSigns(
        fields=("from", "subject", "to"),
        name_address="ceo@bank.example",
        hidden=Counted(7, ("hidden",)),
        invisible=Counted(1, ("text",)),
        bidi=Counted(2, ("from",)),
    )
    mail = in_mail(signs=signs, reply_to=(Person("", "office@mail.customer.example"),))
    event = await office.published(mail, authentication=found)
    assert event["authentication"] == {
        "verdict": "pass",
        "decided_by": "dkim",
        "from_domain": "customer.example",
        "from_organisation": "customer.example",
        "reply_to_organisation": "customer.example",
        "spf": {
            "result": "softfail",
            "scope": "mfrom",
            "domain": "x.test",
            "client_ip": "192.0.2.7",
            "aligned": False,
            "why": "redirect",
        },
        "dkim": [
            {
                "result": "pass",
                "domain": "customer.example",
                "selector": "s1",
                "algorithm": "rsa-sha256",
                "key_bits": 2048,
                "signed_headers": ["from", "subject"],
                "aligned": True,
                "why": None,
            }
        ],
        "dmarc": {"result": "pass", "domain": "customer.example", "policy": "reject"},
        "trusted": [
            {
                "authserv_id": "mx.example.com",
                "spf": "none",
                "spf_domain": None,
                "dkim": "pass",
                "dkim_domain": "customer.example",
                "dmarc": "none",
                "dmarc_domain": None,
            }
        ],
        "forged_results": 2,
        "unchecked_signatures": 1,
        "reply_token": {"status": "absent", "key_id": None},
        "signals": {
            "first_time_sender": True,
            "reply_to_differs": None,
            "name_has_address": "ceo@bank.example",
            "hidden_text": {"characters": 7, "where": ["hidden"]},
            "unsigned_headers": ["to"],
            "invisible_characters": {"characters": 1, "where": ["text"]},
            "bidi_characters": {"characters": 2, "where": ["from"]},
        },
    }


async def test_an_event_says_where_answers_are_asked_for_elsewhere(office: PostOffice) -> None:
    mail = in_mail(reply_to=(Person("", EVE),))
    event = await office.published(mail)
    signals = event["authentication"]["signals"]
    assert signals["reply_to_differs"] == {
        "from": "customer.example",
        "reply_to": ["elsewhere.example"],
    }
    assert signals["unsigned_headers"] is None


ANSWERED = {
    "vouched for": (judged(Verdict.PASS), (True, "customer.example", None, False)),
    "of two organisations": (
        judged(reply_to_organisation="elsewhere.example"),
        (False, "customer.example", "elsewhere.example", False),
    ),
    "of a domain that publishes": (
        judged(dmarc=Dmarc(Outcome.FAIL, "customer.example", "none")),
        (False, "customer.example", None, True),
    ),
}


@pytest.mark.parametrize(("found", "expected"), ANSWERED.values(), ids=ANSWERED.keys())
async def test_an_answer_knows_what_was_found_out_about_the_mail(
    office: PostOffice, found: Authentication, expected: tuple[object, ...]
) -> None:
    event = await office.published(in_mail(), authentication=found)
    answered = await office.outbox.intake.find_answered(event["seq"])
    assert answered is not None
    assert expected == (
        answered.is_vouched_for,
        answered.from_organisation,
        answered.reply_to_organisation,
        answered.is_from_published,
    )
