"""Answers on their way out: heads that continue a thread, who may answer, and preconditions that a reply overtakes."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.core.ids import Kind, encode_id
from postroom.core.inmail import AutomationKind, Person
from postroom.core.job import Problem
from postroom.ports.submitting import RefusalCode, Refused, Submitted
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.answering import House, open_house
from support.arrivals import ALICE, in_mail, token_of
from support.clock import breathe
from support.relay_script import Hold, Reply


def event_id(event: dict[str, Any]) -> str:
    return encode_id(Kind.EVENT, event["seq"])


async def test_an_answer_fills_itself_in(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        first = await house.sent()
        event = await house.replied(reply_to=(Person("", "sales@elsewhere.example"),))
        bare = {"mailbox_id": None, "subject": None, "to": None}
        made = await house.sent(**bare, in_reply_to_event=event_id(event), text="Ten.\n")
        assert made.is_reply_to_ignored
        assert made.thread_number == first.thread_number
        message = house.message(1)
        assert (message["To"], message["Subject"]) == (ALICE, "Re: Your report")
        assert message["In-Reply-To"] == "<9@customer.example>"
        assert message["References"].split() == [first.message_id, "<9@customer.example>"]


async def test_a_job_in_a_thread_follows_its_latest_message(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        first = await house.sent(conversation_id="c")
        second = await house.sent(conversation_id="c")
        assert "In-Reply-To" not in house.message(0)
        assert house.message(1)["In-Reply-To"] == first.message_id
        await house.replied()
        thread = encode_id(Kind.THREAD, first.thread_number or 0)
        await house.sent(thread_id=thread)
        assert house.message(2)["In-Reply-To"] == "<9@customer.example>"
        assert house.message(2)["References"].split() == [
            first.message_id,
            second.message_id,
            "<9@customer.example>",
        ]


async def test_personal_copies_follow_each_their_own_thread(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        both = {"to": [ALICE, "bob@example.com"], "copies": "individual", "conversation_id": "c"}
        first = await house.sent(**both)
        await house.sent(**both)
        before = {one.recipient: one.message_id for one in first.deliveries}
        for at in (2, 3):
            message = house.message(at)
            assert message["In-Reply-To"] == before[str(message["To"])]


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[RefusalCode, str]]] = {
    "an outsider": ({}, {"to": ["mallory@x.example"]}, (RefusalCode.RECIPIENT_NOT_IN_THREAD, "/to/0")),
    "an auto-reply": ({"automation": AutomationKind.AUTO_REPLY}, {}, (RefusalCode.REPLY_TARGET, "/in_reply_to_event")),
    "our own mail": ({"sender": "support+x@example.com"}, {}, (RefusalCode.REPLY_TARGET, "/in_reply_to_event")),
    "another mailbox": ({}, {"mailbox_id": "sales"}, (RefusalCode.UNKNOWN_MAILBOX, "/mailbox_id")),
    "no such event": ({}, {"in_reply_to_event": "evt_000000000009g"}, (RefusalCode.UNKNOWN_EVENT, "/in_reply_to_event")),
}  # fmt: skip


@pytest.mark.parametrize(("mail", "fields", "expected"), REFUSED.values(), ids=REFUSED)
async def test_what_is_no_answer_is_refused(
    tmp_path: Path, mail: dict[str, Any], fields: dict[str, Any], expected: tuple[RefusalCode, str]
) -> None:
    async with open_house(tmp_path) as house:
        await house.sent()
        event = await house.replied(**mail)
        bare = {"subject": None, "to": None, "in_reply_to_event": event_id(event)}
        made = await house.post.hand_in(**{**bare, **fields})
        assert isinstance(made, Refused)
        (problem,) = made.problems
        assert isinstance(problem, Problem)
        assert (made.code, problem.pointer) == expected


async def test_a_mailbox_answers_only_whom_it_may_write_to(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.sent(to=["ann@one.example"])
        event = await house.replied()
        house.post.settings.mailboxes["support"] = replace(  # type: ignore[index]
            house.post.settings.mailboxes["support"], recipients_allow=("one.example",)
        )
        made = await house.post.hand_in(to=None, in_reply_to_event=event_id(event))
        assert isinstance(made, Refused)
        assert made.code is RefusalCode.RECIPIENT_NOT_ALLOWED


async def test_a_second_answer_names_the_first_and_a_replay_is_no_second(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.sent()
        answer = {"to": None, "in_reply_to_event": event_id(await house.replied())}
        first = await house.sent(**answer, idempotency_key="k")
        assert await house.post.submit(**answer, idempotency_key="k") == first.number
        again = await house.post.hand_in(**answer)
        assert isinstance(again, Refused)
        assert (again.code, again.job_number) == (RefusalCode.ALREADY_REPLIED, first.number)


async def test_an_honest_retry_is_known_after_its_event_is_gone(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.sent()
        event = await house.replied()
        bare = {
            "mailbox_id": None,
            "subject": None,
            "to": None,
            "in_reply_to_event": event_id(event),
        }
        first = await house.sent(**bare, idempotency_key="k")

        def unit(conn: sqlite3.Connection) -> UnitResult[None]:
            conn.execute("DELETE FROM event")
            return UnitResult(None)

        await house.post.outbox.database.write(unit, lane=WriteLane.REST)
        assert await house.post.submit(**bare, idempotency_key="k") == first.number


async def test_a_reply_that_comes_while_the_content_goes_out_wins(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.sent()
        event = await house.replied()
        hold = Hold()
        house.relay.on("data", hold, Reply("354 go on"), times=1)
        answer = {"to": None, "in_reply_to_event": event_id(event)}
        job = await house.post.submit(**answer, **{"if": {"no_inbound_since": event_id(event)}})
        await house.post.until(lambda: len(house.relay.transactions) == 2)
        await house.replied(text="Wait.", message_id="<10@customer.example>")
        hold.release()
        await house.post.quiet()
        found = await house.post.only(job)
        assert (found.state, found.attempts) == ("skipped", 0)
        assert found.history[-1].reason_code == "precondition_false"
        assert not house.relay.transactions[1].is_whole
        assert [one["type"] for one in await house.office.events("delivery.skipped")]


async def test_a_reply_that_nobody_has_read_yet_makes_an_answer_wait(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        first = await house.sent()
        event = await house.replied()
        received = await house.office.receive(token_of(1), at=house.post.clock.now())
        thread = encode_id(Kind.THREAD, first.thread_number or 0)
        condition = {"no_inbound_since": event_id(event)}
        job = await house.post.submit(to=[ALICE], thread_id=thread, **{"if": condition})
        await house.post.run(20, step=1)
        number = (await house.post.only(job)).number
        told = await house.post.joined.api.loop.explain(number)
        assert told is not None
        gate = next(one for one in told.gates if one.name == "precondition")
        assert (gate.verdict, gate.value) == ("blocked", "inbound_pending")
        assert "inbound.waited" not in house.post.log.getvalue()
        assert len(house.relay.transactions) == 1
        await house.post.run(40, step=1)
        assert house.post.log.getvalue().count('"inbound.waited"') == 1
        mail = in_mail(automation=AutomationKind.AUTO_REPLY)
        at = house.post.clock.now()
        await house.office.publish(mail, token_of(1), received=received, at=at)
        await house.post.run(1)
        found = await house.post.only(job)
        assert (found.state, found.attempts, found.deferrals) == ("sent", 1, 0)


AUDIT = (
    "CREATE TABLE audit (number INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT, thread INTEGER)",
    """CREATE TRIGGER audit_mail AFTER INSERT ON received_thread
        BEGIN INSERT INTO audit (what, thread) VALUES ('mail', NEW.thread); END""",
    """CREATE TRIGGER audit_mark AFTER UPDATE OF marked_at ON delivery WHEN NEW.marked_at IS NOT NULL
        BEGIN INSERT INTO audit (what, thread) VALUES ('mark', NEW.thread); END""",
)


def watch_order(conn: sqlite3.Connection) -> UnitResult[None]:
    for statement in AUDIT:
        conn.execute(statement)
    return UnitResult(None)


def read_order(conn: sqlite3.Connection) -> list[tuple[str, int]]:
    return [tuple(row) for row in conn.execute("SELECT what, thread FROM audit ORDER BY number")]


async def answer_late(house: House, made: Submitted, seq: int, who: str) -> int:
    thread = encode_id(Kind.THREAD, made.thread_number or 0)
    condition = {"no_inbound_since": encode_id(Kind.EVENT, seq)}
    return await house.post.submit(to=[who], thread_id=thread, **{"if": condition})


async def overtake(house: House, made: Submitted, who: str, wait: int, reading: int) -> None:
    """One more mail, stored after so many turns of the loop, and read after so many more."""
    token, at = token_of(made.deliveries[0].accepted.number), house.post.clock.now()
    for _ in range(wait):
        await breathe()
    received = await house.office.receive(token, at=at)
    for _ in range(reading):
        await breathe()
    mail = in_mail(who, text=f"Wait, {made.number}.")
    await house.office.publish(mail, token, received=received, at=at)


async def test_whatever_the_moment_a_reply_before_the_mark_wins(tmp_path: Path) -> None:
    """60 answers and 58 mails race, one mail came before and one never does; the store's own order says who was first."""
    people = [f"p{n}@customer.example" for n in range(60)]
    async with open_house(tmp_path, "concurrency = 10") as house:
        sent = [await house.sent(to=[who]) for who in people]
        numbers = [made.deliveries[0].accepted.number for made in sent]
        seqs = [(await house.replied(one, message_id=None))["seq"] for one in numbers]
        await house.post.outbox.database.write(watch_order, lane=WriteLane.REST)
        await overtake(house, sent[0], people[0], 0, 0)
        async with asyncio.TaskGroup() as group:
            answers = [
                group.create_task(answer_late(house, *of))
                for of in zip(sent, seqs, people, strict=True)
            ]
            for at, (made, who) in list(enumerate(zip(sent, people, strict=True)))[2:]:
                group.create_task(overtake(house, made, who, at * 37 % 40, at * 7 % 10))
        await house.post.run(5, step=0.5)
        states = [(await house.post.only(one.result())).state for one in answers]
        order = await house.post.outbox.database.read(read_order)
        marks = [at for at, (what, _) in enumerate(order) if what == "mark"]
        assert set(states) == {"sent", "skipped"}
        assert len(marks) == states.count("sent")
        for at in marks:
            assert ("mail", order[at][1]) not in order[:at]
        whole = [one for one in house.relay.transactions if one.is_whole]
        assert len(whole) == len(people) + len(marks)
