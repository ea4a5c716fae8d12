"""What a mailbox refuses after 250: it is kept and can be looked at, and it changes nothing else."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroom.core.authentication import Authentication, Outcome, Verdict
from postroom.core.ids import Kind, encode_id
from postroom.core.inmail import AutomationKind, Person
from postroom.core.mailbox import AcceptNew, Require
from postroom.core.refusal import Wanted
from postroom.core.token import TokenKind, TokenStatus
from support.arrivals import ALICE, PostOffice, block, in_mail, report_mail, stored, token_of
from support.store_host import outbox_in, rows_in
from support.verifying import judged, signature, trusted


EVE = "eve@elsewhere.example"
FILE = "0" * 64
PASS, FAIL = judged(Verdict.PASS), judged(Verdict.FAIL)
STRICT = Wanted(AcceptNew.ALL, Require.DMARC)


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path, spool=frozenset({FILE})) as outbox:
        yield PostOffice(outbox)


SIGNED = judged(Verdict.UNVERIFIED, dkim=(signature("from"),))
ENOUGH: dict[str, tuple[Wanted, Authentication, dict[str, Any], str | None]] = {
    "any, forged": (Wanted(AcceptNew.ALL), FAIL, {}, None),
    "dmarc, pass": (STRICT, PASS, {}, None),
    "dmarc, fail": (STRICT, FAIL, {}, "require"),
    "dmarc, nobody knows": (STRICT, judged(Verdict.TEMPERROR), {}, "require"),
    "dkim, aligned": (Wanted(AcceptNew.ALL, Require.DKIM), SIGNED, {}, None),
    "dkim, another's": (
        Wanted(AcceptNew.ALL, Require.DKIM),
        judged(Verdict.PASS, dkim=(signature("from", is_aligned=False),)),
        {},
        "require",
    ),
    "dkim, broken": (
        Wanted(AcceptNew.ALL, Require.DKIM),
        judged(dkim=(signature("from", result=Outcome.FAIL),)),
        {},
        "require",
    ),
    "dkim, as a trusted server says": (
        Wanted(AcceptNew.ALL, Require.DKIM),
        judged(trusted=(trusted(Outcome.PASS, "mail.customer.example"),)),
        {},
        None,
    ),
    "dkim, another's as a trusted server says": (
        Wanted(AcceptNew.ALL, Require.DKIM),
        judged(trusted=(trusted(Outcome.PASS, "evilcustomer.example"),)),
        {},
        "require",
    ),
    "dkim, broken as a trusted server says": (
        Wanted(AcceptNew.ALL, Require.DKIM),
        judged(trusted=(trusted(Outcome.FAIL, "customer.example"),)),
        {},
        "require",
    ),
    "dkim, nobody's as a trusted server says": (
        Wanted(AcceptNew.ALL, Require.DKIM),
        judged(trusted=(trusted(Outcome.PASS, None),)),
        {},
        "require",
    ),
    "token, none": (Wanted(AcceptNew.ALL, Require.TOKEN), PASS, {}, "require"),
    "token, valid": (Wanted(AcceptNew.NONE, Require.TOKEN), FAIL, {"kind": TokenKind.REPLY}, None),
    "token, of a return path": (
        Wanted(AcceptNew.NONE, Require.TOKEN),
        FAIL,
        {"kind": TokenKind.BOUNCE},
        None,
    ),
    "token, expired": (
        Wanted(AcceptNew.ALL, Require.TOKEN),
        PASS,
        {"status": TokenStatus.EXPIRED},
        "require",
    ),
    "new, by default, forged": (Wanted(), FAIL, {}, "accept_new"),
    "new, by default, unverified": (Wanted(), judged(), {}, "accept_new"),
    "new, by default, authenticated": (Wanted(), PASS, {}, None),
    "new, never": (Wanted(AcceptNew.NONE), PASS, {}, "accept_new"),
    "known, by default, forged": (Wanted(), FAIL, {"kind": TokenKind.REPLY}, None),
}


@pytest.mark.parametrize(
    ("wanted", "authentication", "token", "refused_by"), ENOUGH.values(), ids=ENOUGH.keys()
)
async def test_a_mail_is_accepted_or_it_is_kept_and_says_why_not(
    office: PostOffice,
    wanted: Wanted,
    authentication: Authentication,
    token: dict[str, Any],
    refused_by: str | None,
) -> None:
    done = await office.sent()
    tokens = [token_of(done.deliveries[0].number, **token)] if token else []
    event = await office.published(
        in_mail(subject="New"), *tokens, wanted=wanted, authentication=authentication
    )
    assert event.get("refused_by") == refused_by
    assert event.get("accepted") is (None if refused_by is None else False)
    if refused_by is not None:
        assert event["type"] == "message.received"


async def test_a_forged_answer_in_a_thread_changes_nothing_in_it(
    office: PostOffice, tmp_path: Path
) -> None:
    done = await office.sent()
    only = done.deliveries[0]
    forged = in_mail(
        message_id="<forged@elsewhere.example>",
        reply_to=(Person("", EVE),),
        thread_index="AQ" * 16,
    )
    event = await office.published(
        forged, token_of(only.number), wanted=STRICT, authentication=FAIL
    )
    thread = encode_id(Kind.THREAD, only.thread_number)
    assert event["names_thread_id"] == thread
    assert event["thread"]["id"] != thread
    assert (event["thread"]["version"], event["answers"]) == (0, None)
    assert event["authentication"]["reply_token"]["status"] == "valid"
    assert await office.feedback(only.number) == "none"
    versions = rows_in(tmp_path, "SELECT version FROM thread ORDER BY number")
    assert versions == [(0,), (0,)]
    for table in ("message_ref", "thread_peer", "known_sender"):
        assert rows_in(tmp_path, f"SELECT count(*) FROM {table}") == [(0,)], table  # noqa: S608
    found = await office.outbox.conversations.find_thread(only.thread_number, 9)
    assert found is not None
    assert [one.type for one in found.events] == ["delivery.sent"]


async def test_what_was_refused_ties_no_later_mail_to_anything(office: PostOffice) -> None:
    first = in_mail(subject="Hello", message_id="<first@customer.example>")
    await office.published(first, wanted=Wanted(), authentication=FAIL)
    second = in_mail(subject="Re: Hello", in_reply_to=("<first@customer.example>",))
    event = await office.published(second, wanted=Wanted(), authentication=FAIL)
    assert event["refused_by"] == "accept_new"
    assert event["names_thread_id"] is None


async def test_a_mail_that_was_refused_is_accepted_when_it_comes_again_with_what_is_wanted(
    office: PostOffice,
) -> None:
    mail = in_mail(subject="New")
    refused = await office.published(mail, wanted=Wanted(), authentication=FAIL)
    again = await office.doubled(mail, wanted=Wanted(), authentication=FAIL)
    assert again["seq"] == refused["seq"]
    accepted = await office.published(mail, wanted=Wanted(), authentication=PASS)
    assert "accepted" not in accepted
    assert "same_message_as" not in accepted
    copy = await office.doubled(
        mail, wanted=Wanted(), authentication=FAIL, recipients=("support+x@example.com",)
    )
    assert copy == accepted


async def test_of_two_tokens_only_the_valid_one_is_enough(office: PostOffice) -> None:
    one, two = await office.sent(), await office.sent()
    expired = token_of(one.deliveries[0].number, status=TokenStatus.EXPIRED)
    valid = token_of(two.deliveries[0].number)
    wanted = Wanted(AcceptNew.ALL, Require.TOKEN)
    event = await office.published(in_mail(), expired, valid, wanted=wanted)
    assert event["thread"]["id"] == encode_id(Kind.THREAD, two.deliveries[0].thread_number)
    assert len(await office.events("reply.received", "message.received")) == 1


async def test_machines_are_not_judged_by_what_a_person_must_have(office: PostOffice) -> None:
    done = await office.sent()
    number = done.deliveries[0].number
    wanted = Wanted(AcceptNew.AUTHENTICATED, Require.DKIM)
    bounce = report_mail(block(ALICE, "failed", "5.1.1"))
    event = await office.published(
        bounce, token_of(number, TokenKind.BOUNCE), wanted=wanted, authentication=FAIL
    )
    assert "accepted" not in event
    assert await office.feedback(number) == "bounced"
    away = in_mail(subject="Away", automation=AutomationKind.AUTO_REPLY)
    event = await office.published(away, token_of(number), wanted=wanted, authentication=FAIL)
    assert (event["type"], event.get("accepted")) == ("auto_reply.received", None)


async def test_a_report_that_belongs_to_nothing_is_told_to_nobody_unasked(
    office: PostOffice,
) -> None:
    bounce = report_mail(block(ALICE, "failed", "5.1.1"))
    event = await office.published(bounce, wanted=Wanted(), authentication=judged())
    assert (event["type"], event["refused_by"]) == ("delivery.bounced", "accept_new")
    assert event["delivery_report"]["verified"] is False


async def test_the_files_of_what_was_refused_can_be_looked_at(office: PostOffice) -> None:
    event = await office.published(
        in_mail(), attachments=(stored(FILE),), wanted=Wanted(), authentication=FAIL
    )
    ref = event["message"]["attachments"][0]["ref"]
    assert await office.outbox.reader.find_staged(ref) is not None
