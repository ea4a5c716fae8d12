"""Senders are judged before their mail is an event: in bounded time, holding up nobody else, and once."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.core.authentication import Verdict
from postroom.core.mailbox import AcceptNew, Require
from postroom.core.refusal import Wanted
from postroom.inbound.intake import IntakeMailbox
from postroom.ports.arriving import ArrivalRecipient
from support.arrivals import ALICE, SUPPORT, arrival
from support.intake import House, house
from support.verifying import judged


BOB = "bob@customer.example"


@pytest.fixture
async def at_home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened


async def test_a_mail_whose_sender_takes_long_to_judge_holds_back_its_line_and_nothing_else(
    at_home: House,
) -> None:
    gate = at_home.verifier.gates[ALICE] = asyncio.Event()
    for subject, sender in (("A1", ALICE), ("B1", BOB), ("A2", ALICE), ("B2", BOB)):
        await at_home.came(subject, sender)
    async with at_home.at_work(at_once=1):
        await at_home.done(2)
        assert await at_home.subjects() == ["B1", "B2"]
        assert sorted(at_home.parser.began) == ["A1", "B1", "B2"]
        gate.set()
        await at_home.done(4)
    assert await at_home.subjects() == ["B1", "B2", "A1", "A2"]


async def test_no_more_are_judged_at_once_than_may_be_in_hand(at_home: House) -> None:
    gate = asyncio.Event()
    senders = [f"s{n}@x.example" for n in range(9)]
    for sender in senders:
        at_home.verifier.gates[sender] = gate
        await at_home.came(f"from {sender}", sender)
    async with at_home.at_work(in_hand=3):
        async with asyncio.timeout(5):
            while at_home.verifier.under_way < 3:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            for _ in range(50):  # time enough for more
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        assert len(at_home.parser.began) == 3
        gate.set()
        await at_home.done(9)
    assert at_home.verifier.most == 3


async def test_less_time_is_spent_on_a_mail_that_others_of_its_line_wait_for(
    at_home: House,
) -> None:
    for subject, sender in (("A1", ALICE), ("A2", ALICE), ("B1", BOB)):
        await at_home.came(subject, sender)
    async with at_home.at_work():
        await at_home.done(3)
    asked = at_home.verifier.asked
    assert [one.is_hurried for one in asked if one.from_address == ALICE] == [True, False]
    assert [one.is_hurried for one in asked if one.from_address == BOB] == [False]


async def test_less_time_is_spent_on_each_where_many_are_judged(at_home: House) -> None:
    for number in range(9):
        await at_home.came(f"from {number}", f"s{number}@x.example")
    async with at_home.at_work(in_hand=6) as intake:
        await at_home.done(9)
        assert at_home.verifier.asked[0].is_hurried
        while intake.waiting:
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        await at_home.came("later", BOB)
        await at_home.done(10)
    assert not at_home.verifier.asked[-1].is_hurried


async def test_the_verdict_is_in_the_event_and_is_asked_for_once_for_all_mailboxes(
    at_home: House,
) -> None:
    at_home.verifier.told[ALICE] = judged(Verdict.PASS, decided_by="dkim")
    sales = ArrivalRecipient("sales@example.com", "sales", None)
    await at_home.office.outbox.inbox.receive(arrival(SUPPORT, sales, raw=b"Hello\r\n"))
    async with at_home.at_work():
        await at_home.done(2)
    events = await at_home.office.events()
    assert [one["authentication"]["verdict"] for one in events] == ["pass", "pass"]
    (question,) = at_home.verifier.asked
    assert (question.from_address, question.envelope_sender) == (ALICE, ALICE)
    assert (question.client_ip, question.helo) == ("192.0.2.7", "mx.customer.example")
    assert question.raw == b"Hello\r\n"


async def test_a_verifier_that_fails_costs_no_mail(at_home: House) -> None:
    at_home.verifier.faults[ALICE] = ValueError("a fault of ours")
    at_home.boxes["support"] = IntakeMailbox(SUPPORT, Wanted())
    await at_home.came("Hello")
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events()
    assert event["authentication"]["verdict"] == "temperror"
    assert event["accepted"] is False
    assert at_home.account.faults == [at_home.verifier.faults[ALICE]]


async def test_a_crash_while_the_sender_is_judged_loses_nothing(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        home.verifier.gates[ALICE] = asyncio.Event()
        await home.came("Hello")
        async with home.at_work(), asyncio.timeout(5):
            while not home.verifier.asked:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
    async with house(tmp_path) as home:
        async with home.at_work():
            await home.done(1)
        assert await home.subjects() == ["Hello"]


QUESTIONS: dict[str, Any] = {
    "whoever delivers": ({"is_trusted": False}, "192.0.2.7"),
    "a trusted relay that says nothing": ({"is_trusted": True}, None),
    "a trusted relay that says whom it had it from": (
        {"is_trusted": True, "relay_ip": "198.51.100.2"},
        "192.0.2.7",
    ),
    "a program of this machine": ({"client_ip": "127.0.0.1"}, None),
    "the same by IPv6": ({"client_ip": "::1"}, None),
}


@pytest.mark.parametrize(("more", "client_ip"), QUESTIONS.values(), ids=QUESTIONS.keys())
async def test_spf_is_asked_for_the_client_that_the_mail_came_from(
    at_home: House, more: dict[str, Any], client_ip: str | None
) -> None:
    await at_home.office.outbox.inbox.receive(replace(arrival(raw=b"Hello"), **more))
    async with at_home.at_work():
        await at_home.done(1)
    assert at_home.verifier.asked[0].client_ip == client_ip
    (event,) = await at_home.office.events()
    assert event["envelope"].get("relay_ip") == more.get("relay_ip")


async def test_what_a_mailbox_requires_is_judged_after_the_mail_is_stored(at_home: House) -> None:
    at_home.boxes["support"] = IntakeMailbox(SUPPORT, Wanted(AcceptNew.ALL, Require.DMARC))
    at_home.verifier.told[BOB] = judged(Verdict.PASS)
    await at_home.came("From somebody", ALICE)
    await at_home.came("From Bob", BOB)
    async with at_home.at_work():
        await at_home.done(2)
    events = {one["message"]["subject"]: one for one in await at_home.office.events()}
    assert events["From somebody"]["refused_by"] == "require"
    assert "accepted" not in events["From Bob"]
