"""What a verdict costs and comes to where DNS is silent, slow or not there."""

import asyncio
from pathlib import Path

import pytest

from postroom.core.authentication import Authentication, Outcome, Verdict
from postroom.inbound.verify import verifier
from postroom.inbound.verify.resolver import DnsResolver
from postroom.ports.resolving import Answer, Kind, Lookup
from support.clock import FakeClock
from support.good_and_evil import good_and_evil, mail_from
from support.judging import MAIL, SERVERS, judge_mail, question
from support.signing import sign
from support.zone import DeadResolver, FakeResolver


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
    zone = good_and_evil()
    zone.silent.add(name)
    found = await judge_mail(signed, zone, **{"envelope_sender": "x@evil.example", **how})
    assert (found.verdict, found.dmarc.result) == (verdict, dmarc)


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


async def test_a_domain_with_many_labels_costs_at_most_eight_questions() -> None:
    resolver = FakeResolver(good_and_evil())
    address = "alice@" + "a." * 100 + "good.example"
    await judge_mail(mail_from(address.encode()), resolver, client_ip=None)
    assert len([one for one in resolver.asked if one.name.startswith("_dmarc.")]) == 8
    assert Lookup(Kind.TXT, "_dmarc.good.example") in resolver.asked


class Late(FakeResolver):
    """Answers when it is let to."""

    gate: asyncio.Event
    came: asyncio.Event

    async def ask(self, lookup: Lookup) -> Answer:
        self.came.set()
        await self.gate.wait()
        return await super().ask(lookup)


async def test_what_is_closed_in_the_middle_says_nothing_of_the_mail() -> None:
    late = Late(good_and_evil())
    late.gate, late.came = asyncio.Event(), asyncio.Event()
    closing = verifier.MailVerifier(late, FakeClock(), SERVERS)
    async with asyncio.TaskGroup() as group:
        judging = group.create_task(closing.verify(question(sign(MAIL, "good.example"))))
        await late.came.wait()
        closing.close()
        late.gate.set()
        for _ in range(20):
            await asyncio.to_thread(int)
        assert not judging.done()
        judging.cancel()
