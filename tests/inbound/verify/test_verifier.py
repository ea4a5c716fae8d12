"""Who a mail is from: every public way to be somebody else (HAZARDS D1 to D10, CASES A31, A32), and honest mail."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.core.authentication import Authentication, Outcome, Verdict
from postroom.inbound.verify import verifier
from postroom.inbound.verify.resolver import DnsResolver
from postroom.inbound.verify.verifier import MailVerifier
from postroom.ports.resolving import Kind, Lookup
from support.clock import FakeClock
from support.judging import MAIL, SERVERS, judge_mail, question
from support.signing import make_key, sign
from support.zone import DeadResolver, FakeResolver, Zone


KEY = make_key(1024).record
REJECT = "v=DMARC1; p=reject"
EVERYBODY = "v=spf1 +all"
PROVIDER = b"Authentication-Results: mx.provider.example; "


def _zone(**changes: list[str]) -> Zone:
    """An honest domain that asks for reject, and one of somebody who may do as they like."""
    return Zone(
        {
            "_dmarc.good.example TXT": [REJECT],
            "good.example TXT": ["v=spf1 ip4:192.0.2.7 -all"],
            "s1._domainkey.good.example TXT": [KEY],
            "evil.example TXT": [EVERYBODY],
            "mail.evil.example TXT": [EVERYBODY],
            "_dmarc.evil.example TXT": ["v=DMARC1; p=none"],
            "s1._domainkey.evil.example TXT": [KEY],
            "good.example-evil.example TXT": [EVERYBODY],
            "s1._domainkey.good.example-evil.example TXT": [KEY],
            "goodevil.example TXT": [EVERYBODY],
            **changes,
        }
    )


def _from(text: bytes, mail: bytes = MAIL) -> bytes:
    return mail.replace(b"Alice <alice@good.example>", text)


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
        _from(b"alice@evil.example(.good.example"),
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
    "D5 two addresses in From": (
        _from(b"mallory@evil.example, alice@good.example"),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 two addresses in From, theirs first": (
        _from(b"alice@good.example, mallory@evil.example"),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 no From": (
        MAIL.replace(b"From: Alice <alice@good.example>\r\n", b""),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 an empty From": (_from(b""), {"envelope_sender": "x@evil.example"}, "permerror"),
    "D5 a name alone": (_from(b"Alice"), {"envelope_sender": "x@evil.example"}, "permerror"),
    "D5 a group": (
        _from(b"all: alice@good.example, mallory@evil.example;"),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 two mailboxes in angles": (
        _from(b"<alice@good.example><mallory@evil.example>"),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 a NUL in the address": (
        _from(b"alice@good.example\0@evil.example"),
        {"envelope_sender": "x@evil.example"},
        "permerror",
    ),
    "D5 a quote that does not end": (
        _from(b'"Alice <mallory@evil.example>'),
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
    found = await judge_mail(mail, _zone(), **how)
    assert (found.verdict, found.decided_by) == (verdict, None)


HONEST: dict[str, tuple[bytes, dict[str, object], str]] = {
    "A32 a good signature behind a broken one": (
        sign(MAIL, "evil.example").replace(b"s=s1", b"s=gone").partition(b"From:")[0]
        + sign(MAIL, "good.example"),
        {"envelope_sender": "x@evil.example"},
        "dkim",
    ),
    "a permitted server": (
        MAIL,
        {"envelope_sender": "x@good.example", "client_ip": "192.0.2.7"},
        "spf",
    ),
    "a permitted server of a bounce": (
        MAIL,
        {"envelope_sender": "", "helo": "good.example", "client_ip": "192.0.2.7"},
        "spf",
    ),
    "a permitted server of a subdomain": (
        MAIL,
        {"envelope_sender": "x@news.good.example", "client_ip": "192.0.2.8"},
        "spf",
    ),
    "behind a relay, by its signature": (
        sign(MAIL, "good.example"),
        {"envelope_sender": "x@good.example", "client_ip": None, "is_trusted": True},
        "dkim",
    ),
    "behind a relay, by its word": (
        PROVIDER + b"dmarc=pass (p=REJECT) header.from=Good.Example\r\n" + MAIL,
        {"envelope_sender": "x@good.example", "client_ip": None, "is_trusted": True},
        "trusted",
    ),
    "behind a relay, by its word on a server": (
        PROVIDER + b"spf=pass smtp.mailfrom=x@news.good.example\r\n" + MAIL,
        {"envelope_sender": "x@good.example", "client_ip": None, "is_trusted": True},
        "trusted",
    ),
    "behind a relay, by its word on one signature of several": (
        PROVIDER + b"dkim=pass header.d=evil.example; dkim=pass header.i=@good.example\r\n" + MAIL,
        {"envelope_sender": "x@good.example", "client_ip": None, "is_trusted": True},
        "trusted",
    ),
    "a name in international letters": (
        sign(_from("Alice <alice@bücher.example>".encode()), "xn--bcher-kva.example"),
        {"envelope_sender": "x@evil.example"},
        "dkim",
    ),
    "a name with marks in quotes, and a comment": (
        sign(_from(b'"Alice (<>\\"" <alice@good.example> (Alice (<good>))'), "good.example"),
        {"envelope_sender": "x@evil.example"},
        "dkim",
    ),
    "a display name with another address": (
        sign(_from(b'"alice@good.example" <mallory@evil.example>'), "evil.example"),
        {"envelope_sender": "x@evil.example"},
        "dkim",
    ),
}


@pytest.mark.parametrize(("mail", "how", "by"), HONEST.values(), ids=HONEST)
async def test_honest_mail_passes(mail: bytes, how: dict[str, object], by: str) -> None:
    others = {
        "news.good.example TXT": ["v=spf1 ip4:192.0.2.8 -all"],
        "s1._domainkey.xn--bcher-kva.example TXT": [KEY],
    }
    found = await judge_mail(mail, _zone(**others), **how)
    assert (found.verdict, found.decided_by) == (Verdict.PASS, by)


async def test_the_one_who_passes_is_the_one_in_from_whatever_the_name_says() -> None:
    mail = sign(_from(b'"alice@good.example" <mallory@evil.example>'), "evil.example")
    found = await judge_mail(mail, _zone())
    assert (found.from_domain, found.from_organisation) == ("evil.example", "evil.example")


async def test_strangers_below_a_name_that_nobody_knows_are_strangers() -> None:
    """authheaders 0.16.3 takes `evil.test` and `ex.test` for one organisation."""
    zone = Zone(
        {
            "s1._domainkey.evil.test TXT": [KEY],
            "_dmarc.ex.test TXT": [REJECT],
            "_dmarc.test TXT": ["v=DMARC1; p=none"],
        }
    )
    found = await judge_mail(sign(_from(b"alice@ex.test"), "evil.test"), zone)
    assert (found.verdict, found.dkim[0].result, found.dkim[0].is_aligned) == (
        "fail",
        "pass",
        False,
    )


async def test_forged_results_are_counted_all_of_them() -> None:
    forged = b"Authentication-Results: mx.OURS.example; spf=pass\r\n" * 4
    forged += (
        b"ARC-Authentication-Results: i=1; mx.ours.example; spf=pass\r\n" + PROVIDER + b"none\r\n"
    )
    found = await judge_mail(forged + MAIL, _zone())
    assert (found.forged_results, found.trusted) == (6, ())


async def test_what_a_trusted_server_says_is_shown_as_it_says_it() -> None:
    spoken = (
        b"spf=softfail smtp.mailfrom=x@evil.example; dkim=fail header.d=good.example;"
        b" dmarc=fail header.from=good.example\r\n"
    )
    found = await judge_mail(PROVIDER + spoken + MAIL, _zone(), client_ip=None, is_trusted=True)
    (one,) = found.trusted
    assert one.authserv_id == "mx.provider.example"
    assert (one.spf, one.spf_domain) == ("softfail", "evil.example")
    assert (one.dkim, one.dkim_domain) == ("fail", "good.example")
    assert (one.dmarc, one.dmarc_domain) == ("fail", "good.example")
    assert (found.verdict, found.forged_results) == (Verdict.FAIL, 0)


async def test_behind_a_relay_that_says_nothing_nobody_is_called_a_forger() -> None:
    """Half of the evidence is not to be had there."""
    how = {"client_ip": None, "is_trusted": True, "envelope_sender": "x@good.example"}
    found = await judge_mail(MAIL, _zone(), **how)
    assert (found.spf.result, found.dmarc.result) == (Outcome.ABSENT, Outcome.ABSENT)
    assert (found.verdict, found.dmarc.policy) == (Verdict.UNVERIFIED, "reject")


@pytest.mark.parametrize(
    ("record", "verdict", "policy"),
    [
        (REJECT, "fail", "reject"),
        ("v=DMARC1; p=quarantine", "fail", "quarantine"),
        ("v=DMARC1; p=none", "unverified", "none"),
        ("v=DMARC1; p=quarantine; t=y", "unverified", "none"),
        ("nothing", "unverified", None),
    ],
)
async def test_what_fits_nothing_is_a_failure_where_the_domain_asks_for_it(
    record: str, verdict: str, policy: str | None
) -> None:
    zone = _zone(**{"_dmarc.good.example TXT": [record]})
    found = await judge_mail(MAIL, zone, envelope_sender="x@evil.example")
    assert (found.verdict, found.dmarc.policy) == (verdict, policy)


@pytest.mark.parametrize(
    ("exists", "verdict"), [(True, "unverified"), (False, "fail")], ids=["is there", "is not"]
)
async def test_a_subdomain_that_does_not_exist_is_judged_as_such(
    exists: bool,  # noqa: FBT001
    verdict: str,
) -> None:
    zone = _zone(**{"_dmarc.good.example TXT": ["v=DMARC1; p=none; np=reject"]})
    if exists:
        zone.records["a.good.example A"] = ["192.0.2.7"]
    found = await judge_mail(_from(b"alice@a.good.example"), zone, envelope_sender="x@evil.example")
    assert (found.verdict, found.dmarc.domain) == (verdict, "good.example")


SILENT: dict[str, tuple[str, dict[str, object], str, str]] = {
    "the key of their signature": ("s1._domainkey.good.example", {}, "temperror", "temperror"),
    "the key of a stranger's signature": ("s1._domainkey.evil.example", {}, "fail", "fail"),
    "their servers": (
        "good.example",
        {"envelope_sender": "x@good.example"},
        "temperror",
        "temperror",
    ),
    "a stranger's servers": (
        "evil.example",
        {"envelope_sender": "x@evil.example"},
        "fail",
        "fail",
    ),
    "their policy": ("_dmarc.good.example", {}, "unverified", "temperror"),
}


@pytest.mark.parametrize(("name", "how", "verdict", "dmarc"), SILENT.values(), ids=SILENT)
async def test_no_answer_is_not_a_failure_where_the_answer_could_have_helped(
    name: str, how: dict[str, object], verdict: str, dmarc: str
) -> None:
    domain = "evil.example" if "evil" in name else "good.example"
    signed = sign(MAIL, domain)
    if "_domainkey" not in name:
        signed = signed.replace(b"ten", b"six")
    zone = _zone()
    zone.silent.add(name)
    found = await judge_mail(signed, zone, **{"envelope_sender": "x@evil.example", **how})
    assert (found.verdict, found.dmarc.result) == (verdict, dmarc)


async def test_a_valid_signature_of_that_very_domain_needs_no_policy() -> None:
    zone = _zone()
    zone.silent.add("_dmarc.good.example")
    found = await judge_mail(sign(MAIL, "good.example"), zone)
    assert (found.verdict, found.dmarc.result) == (Verdict.PASS, Outcome.TEMPERROR)


async def test_a_valid_signature_of_a_relative_needs_the_organisation() -> None:
    zone = _zone(**{"s1._domainkey.a.good.example TXT": [KEY]})
    signed = sign(MAIL, "a.good.example")
    assert (await judge_mail(signed, zone)).verdict is Verdict.PASS
    zone.silent.add("_dmarc.a.good.example")
    found = await judge_mail(signed, zone, envelope_sender="x@evil.example")
    assert found.verdict is Verdict.TEMPERROR


async def test_strict_alignment_is_kept() -> None:
    zone = _zone(
        **{
            "s1._domainkey.a.good.example TXT": [KEY],
            "_dmarc.good.example TXT": ["v=DMARC1; p=reject; adkim=s"],
        }
    )
    found = await judge_mail(sign(MAIL, "a.good.example"), zone, envelope_sender="x@evil.example")
    assert (found.verdict, found.dkim[0].is_aligned) == (Verdict.FAIL, False)


def _all_is_temporary(found: Authentication) -> bool:
    outcomes = {found.spf.result, found.dmarc.result, *(one.result for one in found.dkim)}
    return outcomes == {Outcome.TEMPERROR} and found.verdict is Verdict.TEMPERROR


async def test_dns_that_never_answers_costs_the_budget_and_no_more() -> None:
    how = {"envelope_sender": "x@good.example", "reply_to": ("bob@evil.example",)}
    found = await judge_mail(sign(MAIL, "good.example"), DeadResolver(), budget_s=0.2, **how)
    assert _all_is_temporary(found)
    assert (found.from_domain, found.from_organisation) == ("good.example", None)
    assert found.reply_to_organisation is None


async def test_where_other_mail_waits_less_time_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier, "HURRIED_S", 0.05)
    how = {"envelope_sender": "x@good.example", "is_hurried": True}
    async with asyncio.timeout(30):
        found = await judge_mail(sign(MAIL, "good.example"), DeadResolver(), budget_s=600, **how)
    assert _all_is_temporary(found)


async def test_a_machine_without_dns_says_so(tmp_path: Path) -> None:
    resolver = DnsResolver(FakeClock(), system=tmp_path / "missing")
    how = {"envelope_sender": "x@good.example"}
    assert _all_is_temporary(await judge_mail(sign(MAIL, "good.example"), resolver, **how))


@pytest.mark.parametrize(
    ("addresses", "organisation"),
    [
        ((), None),
        (("bob@evil.example",), "evil.example"),
        (("bob@evil.example", "eve@mail.evil.example"), "evil.example"),
        (("bob@evil.example", "alice@good.example"), None),
        (("bob@evil.example", "eve@evil.example(.good.example"), None),
        (tuple(f"bob@a{number}.evil.example" for number in range(6)), None),
    ],
    ids=["none", "one", "two of one", "two of two", "no domain", "more than is asked for"],
)
async def test_answers_go_to_one_organisation_or_not(
    addresses: tuple[str, ...], organisation: str | None
) -> None:
    found = await judge_mail(MAIL, _zone(), reply_to=addresses)
    assert found.reply_to_organisation == organisation


async def test_the_question_and_the_message_must_agree_on_the_author() -> None:
    found = await judge_mail(sign(MAIL, "good.example"), _zone(), from_address="bob@good.example")
    assert found.verdict is Verdict.PERMERROR


async def test_a_second_from_is_seen_whoever_asks() -> None:
    """The question may come from a reader that looks at the first one only."""
    how = {"from_address": "mallory@evil.example", "envelope_sender": "x@evil.example"}
    found = await judge_mail(b"From: mallory@evil.example\r\n" + MAIL, _zone(), **how)
    assert found.verdict is Verdict.PERMERROR


async def test_a_file_that_is_gone_raises_nothing(tmp_path: Path) -> None:
    verifier = MailVerifier(FakeResolver(_zone()), FakeClock(), SERVERS)
    asked = question(MAIL)
    found = await verifier.verify(
        type(asked)(tmp_path / "gone", None, "x", "", False, asked.from_address, ())  # noqa: FBT003
    )
    verifier.close()
    assert found.verdict is Verdict.PERMERROR


async def test_mails_at_the_same_time_do_not_meet() -> None:
    good, evil = sign(MAIL, "good.example"), sign(MAIL, "evil.example")
    verifier = MailVerifier(FakeResolver(_zone()), FakeClock(), SERVERS)
    async with asyncio.TaskGroup() as group:
        asked = [
            (mail is good, group.create_task(verifier.verify(question(mail))))
            for _ in range(20)
            for mail in (good, evil)
        ]
    verifier.close()
    assert all((task.result().verdict is Verdict.PASS) is is_good for is_good, task in asked)


async def test_a_domain_with_many_labels_costs_at_most_eight_questions() -> None:
    resolver = FakeResolver(_zone())
    address = "alice@" + "a." * 100 + "good.example"
    await judge_mail(_from(address.encode()), resolver, client_ip=None)
    assert len([one for one in resolver.asked if one.name.startswith("_dmarc.")]) == 8
    assert Lookup(Kind.TXT, "_dmarc.good.example") in resolver.asked


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
        judge_mail(b"".join(lines), _zone(), envelope_sender="x@evil.example", helo="\0(")
    )
    is_evil = found.from_domain == "evil.example"
    assert (found.verdict is Verdict.PASS) is is_evil
