"""Loops are found by counting what machines write, and what is none (CASES C08, C11, C14; S8)."""

from pathlib import Path
from typing import Any

import pytest

from postroom.core.authentication import Verdict
from postroom.core.delivery import DeliveryState
from postroom.core.inmail import AutomationKind
from postroom.core.instant import MINUTE, SECOND
from postroom.core.reason import ReasonCode
from postroom.ports.changes import StateMoved, ThreadHeld
from postroom.ports.desk import Actor
from support.arrivals import ALICE, in_mail, token_of
from support.robots import HELD, ROBOT, WAITS, house, loop_in_thread
from support.verifying import judged


S = DeliveryState
K = AutomationKind
ANN = Actor(1000)
HOUR = 60 * MINUTE


async def test_the_sixth_mail_of_a_machine_in_ten_minutes_makes_its_thread_held(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as at:
        waiting = (await at.write()).deliveries[0]
        await at.send(thread=waiting.thread_number)
        for _ in range(5):
            event = await at.hear(thread=waiting.thread_number)
            assert event["automation"] == {"kind": "auto_reply", "evidence": []}
            assert "held" not in event["thread"]
        assert await at.state(waiting.number) == WAITS
        event = await at.hear(thread=waiting.thread_number)
        assert event["automation"] == {"kind": "loop", "evidence": ["velocity_thread"]}
        assert (event["type"], event["thread"]["held"]) == ("auto_reply.received", True)
        assert event["thread"]["held_at"] == "2026-11-30T12:00:00.000000Z"
        assert event["thread"]["version"] == 0
        assert await at.state(waiting.number) == HELD
        (held,) = at.changes(ThreadHeld)
        assert (held.evidence, held.peer_domain) == ("velocity_thread", "desk.example")
        assert (held.scopes, held.deliveries) == (("thread",), 1)
        assert StateMoved("support", 1, S.PENDING, S.HELD, ReasonCode.LOOP, 1) in at.told.changes
        found = await at.outbox.reader.find_delivery(waiting.number)
        assert found is not None
        assert (found.history[-1].after, found.history[-1].by) == (S.HELD, "intake")
        assert found.reason_code is ReasonCode.LOOP


async def test_a_loop_is_told_once(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await loop_in_thread(at)
        for _ in range(10):
            event = await at.hear(thread=thread)
            assert event["automation"]["kind"] == "auto_reply"
            assert event["thread"]["held"] is True
        assert len(at.changes(ThreadHeld)) == 1


async def test_c08_a_robot_that_opens_a_conversation_with_each_answer_is_held_by_its_address(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as at:
        kinds = []
        for _ in range(6):
            await at.send()
            event = await at.hear()
            kinds.append(event["automation"]["kind"])
            at.pass_(30 * SECOND)
        assert kinds == ["auto_reply"] * 5 + ["loop"]
        assert event["automation"]["evidence"] == ["velocity_address"]
        assert event["thread"]["held"] is True
        (held,) = at.changes(ThreadHeld)
        assert held.scopes == ("thread", "address")
        later = (await at.write()).deliveries[0]
        assert later.state is S.HELD
        assert (await at.write(ALICE)).deliveries[0].state is S.PENDING
        assert (await at.write("ann@desk.example")).deliveries[0].state is S.PENDING
        assert (await at.write(mailbox_id="news")).deliveries[0].state is S.PENDING
        # Where such a delivery is held, its thread says why, and can be resumed.
        found = await at.outbox.conversations.find_thread(later.thread_number, 100)
        assert found is not None
        (hold,) = found.holds
        assert (hold.scope, hold.name) == ("address", ROBOT)
        await at.outbox.admin.resume_thread(later.thread_number, ANN, at.now)
        assert await at.state(later.number) == WAITS


async def test_a_robot_with_an_address_for_each_mail_is_held_by_its_domain(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for number in range(5):
            event = await at.hear(f"ticket-{number}@desk.example")
            assert event["automation"]["kind"] == "auto_reply"
            await at.send(f"ticket-{number}@desk.example")
        event = await at.hear("ticket-5@desk.example")
        assert event["automation"] == {"kind": "loop", "evidence": ["velocity_domain"]}
        (held,) = at.changes(ThreadHeld)
        assert (held.evidence, held.scopes) == ("velocity_domain", ("thread", "domain"))
        assert (await at.write("ann@desk.example")).deliveries[0].state is S.HELD
        assert (await at.write("ann@other.example")).deliveries[0].state is S.PENDING


async def test_out_of_office_answers_to_a_mailing_are_no_loop(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for number in range(40):
            await at.send(f"person-{number}@big.example")
        for number in range(30):
            event = await at.hear(f"person-{number}@big.example")
            assert event["automation"]["kind"] == "auto_reply"
        # Some answer from other addresses, where far more was sent.
        for number in range(15):
            event = await at.hear(f"private-{number}@big.example")
            assert event["automation"]["kind"] == "auto_reply"
        assert at.changes(ThreadHeld) == []


async def test_one_person_can_not_hold_what_goes_to_a_large_provider(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.send("person-1@big.example")
        await at.send("person-2@big.example")
        for number in range(30):
            event = await at.hear(f"mallory+{number}@big.example")
            assert event["automation"]["kind"] == "auto_reply"
            at.pass_(SECOND)
        assert (await at.write("person-3@big.example")).deliveries[0].state is S.PENDING


@pytest.mark.parametrize(
    ("verdict", "has_token", "is_held"),
    [
        (Verdict.FAIL, False, False),
        (Verdict.FAIL, True, True),
        (Verdict.UNVERIFIED, False, True),
    ],
    ids=["forged", "with a token", "nobody vouches"],
)
async def test_forged_mail_makes_no_loop(
    tmp_path: Path, verdict: Verdict, *, has_token: bool, is_held: bool
) -> None:
    async with house(tmp_path) as at:
        delivery = (await at.office.sent(ROBOT)).deliveries[0]
        thread = await at.outbox.conversations.find_thread(delivery.thread_number, 1)
        assert thread is not None
        named = (thread.deliveries[0].message_id,)
        tokens = (token_of(delivery.number),) if has_token else ()
        for number in range(8):
            mail = in_mail(ROBOT, automation=K.AUTO_REPLY, text=str(number), in_reply_to=named)
            await at.office.published(mail, *tokens, authentication=judged(verdict))
        later = (await at.write(thread=delivery.thread_number)).deliveries[0]
        assert (later.state is S.HELD) is is_held


async def test_many_who_are_away_in_one_conversation_are_no_loop(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        people = [f"person-{number}@big.example" for number in range(30)]
        done = await at.office.sent(*people)
        for one, delivery in zip(people, done.deliveries, strict=True):
            await at.hear(one, thread=delivery.thread_number)
        assert at.changes(ThreadHeld) == []


async def test_notices_of_a_machine_that_we_never_write_to_are_no_loop(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for _ in range(50):
            event = await at.hear("alerts@monitor.example")
            assert event["automation"]["kind"] == "auto_reply"
            at.pass_(SECOND)


@pytest.mark.parametrize("kind", [K.LIST, K.REPORT])
async def test_lists_and_reports_are_not_counted(tmp_path: Path, kind: AutomationKind) -> None:
    async with house(tmp_path) as at:
        number = await at.send()
        found = await at.outbox.reader.find_delivery(number)
        assert found is not None
        for _ in range(30):
            event = await at.hear(kind=kind, thread=found.thread_number)
            assert event["automation"]["kind"] == kind
        assert at.changes(ThreadHeld) == []


async def test_five_in_ten_minutes_are_allowed_for_ever_and_twenty_a_day(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.send()
        thread = (await at.write()).deliveries[0].thread_number
        kinds = []
        for _ in range(21):
            kinds.append((await at.hear(thread=thread))["automation"]["kind"])
            at.pass_(20 * MINUTE)
        assert kinds == ["auto_reply"] * 20 + ["loop"]
        other = (await at.write()).deliveries[0].thread_number
        at.pass_(24 * HOUR)
        for _ in range(30):
            kinds.append((await at.hear(thread=other))["automation"]["kind"])
            at.pass_(75 * MINUTE)
        assert kinds[21:] == ["auto_reply"] * 30


async def test_our_own_mail_that_comes_back_again_and_again_is_a_loop_too(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        done = await at.write()
        thread = done.deliveries[0].thread_number
        for _ in range(6):
            event = await at.hear("support@example.com", K.LOOP, thread=thread)
        assert event["automation"]["evidence"] == ["velocity_thread"]
        assert await at.state(done.deliveries[0].number) == HELD


async def test_counts_are_few_and_forgotten_after_a_day(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.send()
        for _ in range(60):
            await at.hear("alerts@monitor.example")
            at.pass_(20 * MINUTE)

        def count(conn: Any) -> int:
            return int(conn.execute("SELECT count(*) FROM velocity").fetchone()[0])

        assert await at.outbox.database.read(count) <= 60 * 2 + 2 * 21


async def test_a_copy_is_counted_once(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        number = await at.send()
        found = await at.outbox.reader.find_delivery(number)
        assert found is not None
        mail = in_mail(
            ROBOT, "Automatic reply: s", automation=K.AUTO_REPLY, in_reply_to=(found.message_id,)
        )
        await at.office.published(mail, at=at.now)
        for _ in range(20):
            await at.office.doubled(mail, at=at.now)
        assert at.changes(ThreadHeld) == []


async def test_notices_of_one_subject_in_a_thread_without_us_are_no_loop(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for number in range(20):
            mail = in_mail("alerts@monitor.example", "Re: disk", automation=K.AUTO_REPLY,
                           message_id=f"<{number}@monitor.example>", in_reply_to=("<0@monitor.example>",), text=str(number))  # fmt: skip
            event = await at.office.published(mail, at=at.now)
            assert event["automation"]["kind"] == "auto_reply"
        assert event["thread"]["matched_by"] == "in_reply_to"
