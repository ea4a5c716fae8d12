"""Asking who a mail is from: whatever the verifier does, there is an answer in time."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.authentication import Authentication, Verdict
from postroom.core.inmail import Person
from postroom.inbound.judging import NOT_JUDGED, Judge
from postroom.inbound.verify.verifier import MailVerifier
from postroom.ports.verifying import Question, Verifier
from support.arrivals import ALICE, arrival, in_mail
from support.clock import FakeClock
from support.judging import SERVERS
from support.verifying import FakeVerifier, judged
from support.zone import FakeResolver, Zone


RAW = f"From: {ALICE}\r\n\r\nHello.\r\n".encode()
QUESTION = Question(RAW, "192.0.2.7", "mx.customer.example", ALICE, False, ALICE, ())  # noqa: FBT003


@pytest.fixture(params=["fake", "real"])
def verifier(request: pytest.FixtureRequest) -> Iterator[Verifier]:
    if request.param == "fake":
        yield FakeVerifier()
        return
    real = MailVerifier(FakeResolver(Zone()), FakeClock(), SERVERS)
    yield real
    real.close()


async def test_who_publishes_nothing_is_unverified(verifier: Verifier) -> None:
    found = await verifier.verify(QUESTION)
    assert (found.verdict, found.decided_by) == (Verdict.UNVERIFIED, None)
    assert not found.has_aligned_signature


async def test_without_one_author_there_is_nobody_to_speak_of(verifier: Verifier) -> None:
    found = await verifier.verify(replace(QUESTION, from_address=None))
    assert found.verdict is Verdict.PERMERROR


async def test_a_file_that_is_gone_is_no_reason_to_raise(
    verifier: Verifier, tmp_path: Path
) -> None:
    found = await verifier.verify(replace(QUESTION, raw=tmp_path / "gone"))
    assert found.verdict is not Verdict.PASS


async def asked(fake: FakeVerifier, most_s: float = 5.0) -> tuple[Authentication, list[Exception]]:
    told: list[Exception] = []
    judge = Judge(fake, told.append, most_s)
    return await judge.judge(arrival(), in_mail(), RAW), told


async def test_a_verifier_that_never_answers_is_waited_for_no_longer() -> None:
    fake = FakeVerifier(gates={ALICE: asyncio.Event()})
    assert await asked(fake, 0.01) == (NOT_JUDGED, [])
    assert fake.under_way == 0


async def test_a_fault_of_the_verifier_is_told_and_costs_no_mail() -> None:
    fault = ZeroDivisionError("a fault of ours")
    assert await asked(FakeVerifier(faults={ALICE: fault})) == (NOT_JUDGED, [fault])


async def test_what_is_asked_is_what_the_reader_found() -> None:
    fake = FakeVerifier(told={ALICE: judged(Verdict.PASS)})
    judge = Judge(fake, [].append)
    reply_to = (Person("Office", "office@customer.example"), Person("nobody", ""))
    found = await judge.judge(arrival(sender=""), in_mail(reply_to=reply_to), RAW)
    assert found.verdict is Verdict.PASS
    await judge.judge(arrival(), in_mail(is_sender_ambiguous=True), RAW)
    await judge.judge(arrival(), in_mail(None), RAW)
    assert [(one.from_address, one.envelope_sender, one.reply_to) for one in fake.asked] == [
        (ALICE, "", ("office@customer.example",)),
        (None, ALICE, ()),
        (None, ALICE, ()),
    ]
