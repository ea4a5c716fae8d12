"""Honest mail passes, for whom it is from, and as strictly as its domain asks for."""

import pytest

from postroom.core.authentication import Outcome, Verdict
from support.good_and_evil import KEY, PROVIDER, REJECT, good_and_evil, mail_from
from support.judging import MAIL, judge_mail
from support.signing import sign
from support.zone import Zone


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
        sign(mail_from("Alice <alice@bücher.example>".encode()), "xn--bcher-kva.example"),
        {"envelope_sender": "x@evil.example"},
        "dkim",
    ),
    "a name with marks in quotes, and a comment": (
        sign(mail_from(b'"Alice (<>\\"" <alice@good.example> (Alice (<good>))'), "good.example"),
        {"envelope_sender": "x@evil.example"},
        "dkim",
    ),
    "a display name with another address": (
        sign(mail_from(b'"alice@good.example" <mallory@evil.example>'), "evil.example"),
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
    found = await judge_mail(mail, good_and_evil(**others), **how)
    assert (found.verdict, found.decided_by) == (Verdict.PASS, by)


async def test_the_one_who_passes_is_the_one_in_from_whatever_the_name_says() -> None:
    mail = sign(mail_from(b'"alice@good.example" <mallory@evil.example>'), "evil.example")
    found = await judge_mail(mail, good_and_evil())
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
    found = await judge_mail(sign(mail_from(b"alice@ex.test"), "evil.test"), zone)
    assert (found.verdict, found.dkim[0].result, found.dkim[0].is_aligned) == (
        "fail",
        "pass",
        False,
    )


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
    zone = good_and_evil(**{"_dmarc.good.example TXT": [record]})
    found = await judge_mail(MAIL, zone, envelope_sender="x@evil.example")
    assert (found.verdict, found.dmarc.policy) == (verdict, policy)


@pytest.mark.parametrize(
    ("exists", "verdict"), [(True, "unverified"), (False, "fail")], ids=["is there", "is not"]
)
async def test_a_subdomain_that_does_not_exist_is_judged_as_such(
    exists: bool,  # noqa: FBT001
    verdict: str,
) -> None:
    zone = good_and_evil(**{"_dmarc.good.example TXT": ["v=DMARC1; p=none; np=reject"]})
    if exists:
        zone.records["a.good.example A"] = ["192.0.2.7"]
    found = await judge_mail(
        mail_from(b"alice@a.good.example"), zone, envelope_sender="x@evil.example"
    )
    assert (found.verdict, found.dmarc.domain) == (verdict, "good.example")


async def test_a_valid_signature_of_that_very_domain_needs_no_policy() -> None:
    zone = good_and_evil()
    zone.silent.add("_dmarc.good.example")
    found = await judge_mail(sign(MAIL, "good.example"), zone)
    assert (found.verdict, found.dmarc.result) == (Verdict.PASS, Outcome.TEMPERROR)


async def test_a_valid_signature_of_a_relative_needs_the_organisation() -> None:
    zone = good_and_evil(**{"s1._domainkey.a.good.example TXT": [KEY]})
    signed = sign(MAIL, "a.good.example")
    assert (await judge_mail(signed, zone)).verdict is Verdict.PASS
    zone.silent.add("_dmarc.a.good.example")
    found = await judge_mail(signed, zone, envelope_sender="x@evil.example")
    assert found.verdict is Verdict.TEMPERROR


async def test_strict_alignment_is_kept() -> None:
    zone = good_and_evil(
        **{
            "s1._domainkey.a.good.example TXT": [KEY],
            "_dmarc.good.example TXT": ["v=DMARC1; p=reject; adkim=s"],
        }
    )
    found = await judge_mail(sign(MAIL, "a.good.example"), zone, envelope_sender="x@evil.example")
    assert (found.verdict, found.dkim[0].is_aligned) == (Verdict.FAIL, False)


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
    found = await judge_mail(MAIL, good_and_evil(), reply_to=addresses)
    assert found.reply_to_organisation == organisation
