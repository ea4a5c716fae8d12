"""What was received becomes events, in order and once, in the thread that a token names; over a real store."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.core.mailbox import AcceptNew
from postroom.core.refusal import Wanted
from postroom.core.token import Token, TokenKind, TokenStatus
from postroom.inbound.intake import IntakeMailbox
from postroom.ports.arriving import ArrivalRecipient, RawFile
from support.arrivals import ALICE, SUPPORT, arrival, token_of
from support.intake import DIGEST, PDF, House, house, with_file


BOB = "bob@customer.example"


@pytest.fixture
async def at_home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened


async def test_what_lay_there_and_what_comes_becomes_events(at_home: House) -> None:
    await at_home.came("One")
    async with at_home.at_work() as intake:
        await at_home.done(1)
        await at_home.came("Two")
        await at_home.done(2)
        assert intake.waiting == 0
    assert await at_home.subjects() == ["One", "Two"]
    assert await at_home.office.outbox.inbox.find_received(0, 9) == ()
    assert list((at_home.filing.root).iterdir()) == []


async def test_a_slow_mail_holds_back_its_sender_only_and_order_is_kept(at_home: House) -> None:
    gate = at_home.parser.gates["A1"] = asyncio.Event()
    for subject, sender in (("A1", ALICE), ("A2", ALICE.upper()), ("B1", BOB), ("B2", BOB)):
        await at_home.came(subject, sender)
    async with at_home.at_work():
        await at_home.done(2)
        assert await at_home.subjects() == ["B1", "B2"]
        gate.set()
        await at_home.done(4)
    assert await at_home.subjects() == ["B1", "B2", "A1", "A2"]


async def test_of_the_null_sender_each_token_is_a_line_and_none_waits_for_nobody(
    at_home: House,
) -> None:
    tokens = [token_of(number, TokenKind.BOUNCE) for number in (7, 8)]
    gates = at_home.parser.gates
    gates["first"], gates["unknown"] = asyncio.Event(), asyncio.Event()
    await at_home.came("first", "", tokens[0])
    await at_home.came("second", "", tokens[0])
    await at_home.came("unknown", "")
    await at_home.came("also unknown", "")
    await at_home.came("another", "", tokens[1])
    async with at_home.at_work(at_once=5):
        await at_home.done(2)
        assert sorted(await at_home.subjects()) == ["also unknown", "another"]
        for gate in gates.values():
            gate.set()
        await at_home.done(5)
    subjects = await at_home.subjects()
    assert subjects.index("first") < subjects.index("second")


async def test_no_more_are_read_at_once_than_may_be(at_home: House) -> None:
    gate = asyncio.Event()
    for n in range(9):
        at_home.parser.gates[f"m{n}"] = gate
        await at_home.came(f"m{n}", f"s{n}@x.example")
    async with at_home.at_work(at_once=3):
        async with asyncio.timeout(5):
            while len(at_home.parser.began) < 3:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            for _ in range(50):  # time enough for more
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        gate.set()
        await at_home.done(9)
    assert at_home.parser.most == 3


async def test_a_mail_to_two_mailboxes_is_an_event_in_each_and_then_it_is_done(
    at_home: House,
) -> None:
    sales = ArrivalRecipient("sales@example.com", "sales", None)
    one = arrival(SUPPORT, sales, "support+x@example.com", raw=b"Hello\r\n")
    await at_home.office.outbox.inbox.receive(one)
    async with at_home.at_work():
        await at_home.done(2)
    first, second = await at_home.office.events()
    assert first["envelope"]["to"] == [SUPPORT, "support+x@example.com"]
    assert second["envelope"]["to"] == ["sales@example.com"]
    assert await at_home.office.outbox.inbox.find_received(0, 9) == ()


async def test_attachments_lie_in_the_spool_before_anyone_hears_of_them(at_home: House) -> None:
    at_home.parser.changes["Files"] = with_file(DIGEST, PDF)
    await at_home.came("Files")
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events()
    refs = [one["ref"] for one in event["message"]["attachments"]]
    refs.append(event["message"]["html_ref"])
    assert len(set(refs)) == 3
    for ref in refs:
        found = await at_home.office.outbox.reader.find_staged(ref)
        assert found is not None
        assert at_home.spool.path(found.sha256).read_bytes() == PDF


async def test_a_large_mail_is_read_from_the_spool(at_home: House) -> None:
    with at_home.spool.incoming() as incoming:
        incoming.write(b"%PDF a small file")
        kept = RawFile(incoming.keep(), len(PDF))
    await at_home.came("", raw=kept)
    async with at_home.at_work():
        await at_home.done(1)
    assert await at_home.subjects() == [PDF.decode()]


HEADERS: dict[str, Any] = {
    "a trusted relay's Delivered-To": (True, {"forwarded_for": ("r-x@reply.example.com",)}, True),
    "anybody's Delivered-To": (False, {"forwarded_for": ("r-x@reply.example.com",)}, False),
    "To or Cc": (False, {"header_recipients": (SUPPORT, "r-x@reply.example.com")}, True),
    "another mailbox's": (False, {"header_recipients": ("sales-r-x@reply.example.com",)}, False),
}


@pytest.mark.parametrize(("trusted", "more", "is_found"), HEADERS.values(), ids=HEADERS.keys())
async def test_a_token_is_looked_for_in_the_header_when_the_envelope_has_none(
    at_home: House, *, trusted: bool, more: dict[str, Any], is_found: bool
) -> None:
    done = await at_home.office.sent()
    token = token_of(done.deliveries[0].number)
    at_home.tokens.known = {
        "r-x@reply.example.com": ("support", token),
        "sales-r-x@reply.example.com": ("sales", token),
    }
    at_home.parser.changes["Hi"] = lambda mail, directory: replace(mail, **more)
    one = replace(arrival(raw=b"Hi\r\n"), is_trusted=trusted)
    await at_home.office.outbox.inbox.receive(one)
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events("reply.received", "message.received")
    assert (event["thread"]["matched_by"] == "reply_token") == is_found


async def test_the_envelopes_token_goes_before_the_headers(at_home: House) -> None:
    first, second = await at_home.office.sent(), await at_home.office.sent()
    at_home.tokens.known = {
        "r-x@reply.example.com": ("support", token_of(first.deliveries[0].number))
    }
    at_home.parser.changes["Hi"] = lambda mail, directory: replace(
        mail, header_recipients=("r-x@reply.example.com",)
    )
    expired = token_of(second.deliveries[0].number, status=TokenStatus.EXPIRED)
    await at_home.came("Hi", ALICE, expired)
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events("reply.received")
    assert event["authentication"]["reply_token"]["status"] == "expired"
    assert event["thread"]["confidence"] == "strong"


async def test_a_mail_from_the_mailbox_itself_is_a_loop(at_home: House) -> None:
    await at_home.came("Hello me", SUPPORT.upper())
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events()
    assert (event["type"], event["automation"]["kind"]) == ("auto_reply.received", "loop")
    assert event["thread"]["version"] == 0


@pytest.mark.parametrize(("token", "kind"), [(token_of(7), "auto_reply"), (None, "human")])
async def test_what_reads_as_a_machines_answer_is_one_where_a_token_says_that_it_answers(
    at_home: House, token: Token | None, kind: str
) -> None:
    at_home.parser.changes["Away"] = lambda mail, _: replace(
        mail, evidence_if_answer=("text", "no-quote")
    )
    await at_home.came("Away", ALICE, *(() if token is None else (token,)))
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events()
    assert event["automation"]["kind"] == kind
    assert event["automation"]["evidence"] == (
        [] if token is None else ["text", "no-quote", "token"]
    )


async def test_a_mailbox_that_wants_no_strangers_keeps_their_mail_unaccepted(
    at_home: House,
) -> None:
    at_home.boxes["support"] = IntakeMailbox(SUPPORT, Wanted(AcceptNew.NONE))
    await at_home.came("Buy!")
    async with at_home.at_work():
        await at_home.done(1)
    (event,) = await at_home.office.events()
    assert event["accepted"] is False


async def test_the_same_mail_again_is_no_second_event(at_home: House) -> None:
    for _ in range(3):
        await at_home.came("Once")
    async with at_home.at_work():
        await at_home.done(3)
    assert await at_home.subjects() == ["Once"]
