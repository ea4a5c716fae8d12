"""Who a mail is from: every public way to be somebody else (HAZARDS D1 to D10, CASES A31, A32)."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.core.authentication import Outcome, Verdict
from postroom.inbound.verify.verifier import MailVerifier
from support.clock import FakeClock
from support.good_and_evil import PROVIDER, good_and_evil, mail_from
from support.judging import MAIL, SERVERS, judge_mail, question
from support.signing import sign
from support.zone import FakeResolver


# The mail, how it came, and what it must come to. The author's domain asks for reject; none of these is its mail.
BYPASSES: dict[str, tuple[bytes, dict[str, object], str]] = {
    "D2 a HELO name that passes": (
        MAIL,
        {"envelope_sender": "x@nobody.example", "helo": "good.example", "client_ip": "192.0.2.7"},
        "fail",
    ),
    "D2 a HELO name of somebody else, null sender": (
        MAIL,
        {"envelope_sender": "", "helo": "mail.evil.example"},
        "fail",
    ),
    "D2 a domain with a comment in it": (
        MAIL,
        {"envelope_sender": "x@good.example(.evil.example"},
        "fail",
    ),
    "D2 a domain that ends in a comment": (
        MAIL,
        {"envelope_sender": "x@evil.example(.good.example"},
        "fail",
    ),
    "D2 a From domain with a comment in it": (
        mail_from(b"alice@evil.example(.good.example"),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D3 a name that begins with theirs": (
        MAIL,
        {"envelope_sender": "x@good.example-evil.example"},
        "fail",
    ),
    "D3 a name that ends in theirs": (MAIL, {"envelope_sender": "x@goodevil.example"}, "fail"),
    "D3 theirs in quotes": (
        MAIL,
        {"envelope_sender": '"a@good.example"@evil.example'},
        "fail",
    ),
    "D3 a signature of a name that begins with theirs": (
        sign(MAIL, "good.example-evil.example"),
        {"envelope_sender": "x@evil.example"},
        "fail",
    ),
    "D5 two From fields": (
        b"From: mallory@evil.example\r\n" + MAIL,
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 two From fields, one with a space before its colon": (
        b"From : mallory@evil.example\r\n" + MAIL,
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D6 a field with a space before its colon, signed as absent": (
        b"Reply-To : mallory@evil.example\r\n"
        + sign(MAIL, "good.example", headers=("from", "subject", "reply-to")),
        {"envelope_sender": "x@evil.example"},
        "fail",
    ),
    "D6 a field with a space before its colon, signed twice": (
        b"Subject : Pay me\r\n"
        + sign(MAIL, "good.example", headers=("from", "subject", "subject")),
        {"envelope_sender": "x@evil.example"},
        "fail",
    ),
    "D5 two addresses in From": (
        mail_from(b"mallory@evil.example, alice@good.example"),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 two addresses in From, theirs first": (
        mail_from(b"alice@good.example, mallory@evil.example"),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 no From": (
        MAIL.replace(b"From: Alice <alice@good.example>\r\n", b""),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 an empty From": (mail_from(b""), {"envelope_sender": "x@evil.example"}, "permerror"),
    "D5 a name alone": (mail_from(b"Alice"), {"envelope_sender": "x@evil.example"}, "permerror"),
    "D5 a group": (
        mail_from(b"all: alice@good.example, mallory@evil.example;"),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 two mailboxes in angles": (
        mail_from(b"<alice@good.example><mallory@evil.example>"),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 a NUL in the address": (
        mail_from(b"alice@good.example\0@evil.example"),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 a quote that does not end": (
        mail_from(b'"Alice <mallory@evil.example>'),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D1 a forged result of ours": (
        b"Authentication-Results: mx.ours.example; dmarc=pass header.from=good.example\r\n" + MAIL,
        {"envelope_sender": "x@evil.example"},
        "fail",
    ),
    "D1 several forged results": (
        (b"Authentication-Results: MX.ours.example (x) 1; dkim=pass header.d=good.example\r\n" * 3)
        + MAIL,
        {"envelope_sender": "x@evil.example"},
        "fail",
    ),
    "D1 a trusted server's result from a stranger": (
        PROVIDER + b"dmarc=pass header.from=good.example\r\n" + MAIL,
        {"envelope_sender": "x@evil.example"},
        "fail",
    ),
    "D1 a result of ours from a trusted relay": (
        b"Authentication-Results: mx.ours.example; dmarc=pass header.from=good.example\r\n" + MAIL,
        {"envelope_sender": "x@evil.example", "is_trusted": True, "client_ip": None},
        "unverified",
    ),
    "D1 a forged result below the trusted one": (
        PROVIDER
        + b"dmarc=fail header.from=good.example\r\n"
        + PROVIDER
        + b"dmarc=pass header.from=good.example\r\n"
        + MAIL,
        {"envelope_sender": "x@evil.example", "is_trusted": True, "client_ip": None},
        "fail",
    ),
    "D1 a trusted result about somebody else": (
        PROVIDER + b"dmarc=pass header.from=evil.example\r\n" + MAIL,
        {"envelope_sender": "x@evil.example", "is_trusted": True, "client_ip": None},
        "unverified",
    ),
    "D1 a trusted result of a stranger's signature": (
        PROVIDER
        + b"dkim=pass header.d=evil.example; spf=pass smtp.mailfrom=evil.example\r\n"
        + MAIL,
        {"envelope_sender": "x@evil.example", "is_trusted": True, "client_ip": None},
        "unverified",
    ),
    "D6 a foot in HTML after the part that is signed": (
        sign(MAIL, "good.example", length=True) + b"<p>Pay here</p>\r\n",
        {"envelope_sender": "x@evil.example"},
        "fail",
    ),
    "D10 a list changed it": (
        sign(MAIL, "good.example").replace(b"Friday", b"[list] Friday"),
        {"envelope_sender": "list@evil.example"},
        "fail",
    ),
    "a stranger's valid signature": (
        sign(MAIL, "evil.example"),
        {"envelope_sender": "x@evil.example"},
        "fail",
    ),
}


@pytest.mark.parametrize(("mail", "how", "verdict"), BYPASSES.values(), ids=BYPASSES)
async def test_nobody_is_taken_for_somebody_else(
    mail: bytes, how: dict[str, object], verdict: str
) -> None:
    found = await judge_mail(mail, good_and_evil(), **how)
    assert (found.verdict, found.decided_by) == (verdict, None)


async def test_forged_results_are_counted_all_of_them() -> None:
    forged = b"Authentication-Results: mx.OURS.example; spf=pass\r\n" * 4
    forged += (
        b"ARC-Authentication-Results: i=1; mx.ours.example; spf=pass\r\n" + PROVIDER + b"none\r\n"
    )
    found = await judge_mail(forged + MAIL, good_and_evil())
    assert (found.forged_results, found.trusted) == (6, ())


async def test_what_a_trusted_server_says_is_shown_as_it_says_it() -> None:
    spoken = (
        b"spf=softfail smtp.mailfrom=x@evil.example; dkim=fail header.d=good.example;"
        b" dmarc=fail header.from=good.example\r\n"
    )
    found = await judge_mail(
        PROVIDER + spoken + MAIL, good_and_evil(), client_ip=None, is_trusted=True
    )
    (one,) = found.trusted
    assert one.authserv_id == "mx.provider.example"
    assert (one.spf, one.spf_domain) == ("softfail", "evil.example")
    assert (one.dkim, one.dkim_domain) == ("fail", "good.example")
    assert (one.dmarc, one.dmarc_domain) == ("fail", "good.example")
    assert (found.verdict, found.forged_results) == (Verdict.FAIL, 0)


async def test_behind_a_relay_that_says_nothing_nobody_is_called_a_forger() -> None:
    """Half of the evidence is not to be had there."""
    how = {"client_ip": None, "is_trusted": True, "envelope_sender": "x@good.example"}
    found = await judge_mail(MAIL, good_and_evil(), **how)
    assert (found.spf.result, found.dmarc.result) == (Outcome.ABSENT, Outcome.ABSENT)
    assert (found.verdict, found.dmarc.policy) == (Verdict.UNVERIFIED, "reject")


async def test_the_question_and_the_message_must_agree_on_the_author() -> None:
    found = await judge_mail(
        sign(MAIL, "good.example"), good_and_evil(), from_address="bob@good.example"
    )
    assert found.verdict is Verdict.PERMERROR


async def test_a_second_from_is_seen_whoever_asks() -> None:
    """The question may come from a reader that looks at the first one only."""
    how = {"from_address": "mallory@evil.example", "envelope_sender": "x@evil.example"}
    found = await judge_mail(b"From: mallory@evil.example\r\n" + MAIL, good_and_evil(), **how)
    assert found.verdict is Verdict.PERMERROR


async def test_a_file_that_is_gone_raises_nothing(tmp_path: Path) -> None:
    verifier = MailVerifier(FakeResolver(good_and_evil()), FakeClock(), SERVERS)
    asked = question(MAIL)
    found = await verifier.verify(
        type(asked)(tmp_path / "gone", None, "x", "", False, asked.from_address, ())  # noqa: FBT003
    )
    verifier.close()
    assert found.verdict is Verdict.PERMERROR


async def test_mails_at_the_same_time_do_not_meet() -> None:
    good, evil = sign(MAIL, "good.example"), sign(MAIL, "evil.example")
    verifier = MailVerifier(FakeResolver(good_and_evil()), FakeClock(), SERVERS)
    async with asyncio.TaskGroup() as group:
        asked = [
            (mail is good, group.create_task(verifier.verify(question(mail))))
            for _ in range(20)
            for mail in (good, evil)
        ]
    verifier.close()
    assert all((task.result().verdict is Verdict.PASS) is is_good for is_good, task in asked)


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    st.lists(
        st.sampled_from(
            [
                b"From: alice@good.example\r\n",
                b"From: mallory@evil.example\r\n",
                b"From : alice@good.example\r\n",
                b"from:\r\n alice@good.example\r\n",
                b"garbage\r\n",
                b" folded\r\n",
                b"Subject: x\r\n",
                PROVIDER + b"dmarc=pass header.from=good.example\r\n",
                b"DKIM-Signature: v=1; a=rsa-sha256; d=good.example; s=s1; h=from; bh=AA==; b=AA==\r\n",
                b"\r\n",
                b"\xff\0\r\n",
            ]
        ),
        max_size=12,
    )
)
def test_no_mixture_of_fields_passes_or_raises(lines: list[bytes]) -> None:
    found = asyncio.run(
        judge_mail(b"".join(lines), good_and_evil(), envelope_sender="x@evil.example", helo="\0(")
    )
    is_evil = found.from_domain == "evil.example"
    assert (found.verdict is Verdict.PASS) is is_evil
