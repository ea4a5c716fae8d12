"""Loops hold what goes there, and end by a person's mail or hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, decode_id
from postroom.core.inmail import AutomationKind
from postroom.core.mailbox import AcceptNew
from postroom.core.reason import ReasonCode
from postroom.core.refusal import Wanted
from postroom.ports.changes import ThreadFreed, ThreadHeld
from postroom.ports.desk import Actor
from postroom.ports.looping import MarkStopped, Started
from support.arrivals import ALICE
from support.robots import HELD, ROBOT, WAITS, house, loop_in_thread
from support.store_jobs import outcome_of


S = DeliveryState
K = AutomationKind
ANN = Actor(1000)


def thread_of(event: dict[str, Any]) -> int:
    number = decode_id(Kind.THREAD, event["thread"]["id"])
    assert number is not None
    return number


async def test_a_job_for_a_held_thread_begins_held_and_others_go_on(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await loop_in_thread(at)
        later = (await at.write(thread=thread)).deliveries[0]
        assert (later.state, later.reason_code) == (S.HELD, ReasonCode.LOOP)
        assert await at.state(later.number) == HELD
        assert await at.start(later.number) is None
        await at.send()  # to the same robot, in a thread of its own
        await at.send(ALICE)


async def test_a_hold_that_comes_while_it_is_sent_wins_before_the_mark(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        first = await at.write()
        thread = first.deliveries[0].thread_number
        started = await at.start(first.deliveries[0].number)
        assert isinstance(started, Started)
        marked = (await at.write(thread=thread)).deliveries[0].number
        other = await at.start(marked)
        assert isinstance(other, Started)
        await at.outbox.loop.mark(marked, other.claim, at.now)
        for _ in range(6):
            await at.hear(thread=thread)
        stopped = await at.outbox.loop.mark(started.number, started.claim, at.now)
        assert stopped == MarkStopped(S.HELD, ReasonCode.LOOP)
        assert await at.state(started.number) == HELD
        done = replace(outcome_of(marked, other.claim, S.SENT), at=at.now)
        assert await at.outbox.loop.finish(done) is S.SENT


async def test_what_fails_after_its_mark_is_not_tried_again_in_a_held_thread(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as at:
        first = (await at.write()).deliveries[0]
        started = await at.start(first.number)
        assert isinstance(started, Started)
        await at.outbox.loop.mark(first.number, started.claim, at.now)
        for _ in range(6):
            await at.hear(thread=first.thread_number)
        again = replace(
            outcome_of(first.number, started.claim, S.RETRY_SCHEDULED), due_at=at.now, at=at.now
        )
        assert await at.outbox.loop.finish(again) is S.RETRY_SCHEDULED
        assert await at.start(first.number) is None
        assert await at.state(first.number) == HELD


async def test_a_persons_mail_frees_the_thread(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await loop_in_thread(at)
        later = (await at.write(thread=thread)).deliveries[0].number
        event = await at.hear(ALICE, K.HUMAN, thread=thread)
        assert event["automation"]["kind"] == "human"
        assert "held" not in event["thread"]
        assert await at.state(later) == WAITS
        (freed,) = at.changes(ThreadFreed)
        assert (freed.thread_number, freed.by, freed.deliveries) == (thread, "intake", 2)
        assert isinstance(await at.start(later), Started)
        # Counting begins anew: five more are no loop.
        for _ in range(5):
            assert (await at.hear(thread=thread))["automation"]["kind"] == "auto_reply"
        assert (await at.hear(thread=thread))["automation"]["kind"] == "loop"


@pytest.mark.parametrize("kind", [K.LIST, K.BULK, K.REPORT, K.AUTO_REPLY])
async def test_a_machines_mail_frees_nothing(tmp_path: Path, kind: AutomationKind) -> None:
    async with house(tmp_path) as at:
        thread = await loop_in_thread(at)
        event = await at.hear(ALICE, kind, thread=thread)
        assert event["thread"]["held"] is True
        assert at.changes(ThreadFreed) == []


async def test_an_operator_frees_the_thread(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await loop_in_thread(at)
        later = (await at.write(thread=thread)).deliveries[0].number
        found = await at.outbox.conversations.find_thread(thread, 100)
        assert found is not None
        (hold,) = found.holds
        assert (hold.scope, hold.name, hold.evidence) == ("thread", None, "velocity_thread")
        assert await at.outbox.admin.resume_thread(thread, ANN, at.now) is True
        assert await at.state(later) == WAITS
        (freed,) = at.changes(ThreadFreed)
        assert freed.by == "uid:1000"
        delivery = await at.outbox.reader.find_delivery(later)
        assert delivery is not None
        assert delivery.history[-1].by == "uid:1000"
        after = await at.outbox.conversations.find_thread(thread, 100)
        assert after is not None
        assert after.holds == ()
        assert await at.outbox.admin.resume_thread(thread, ANN, at.now) is True
        assert await at.outbox.admin.resume_thread(999_999, ANN, at.now) is False
        assert len(at.changes(ThreadFreed)) == 1


async def test_a_persons_mail_from_there_frees_the_domain(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for number in range(6):
            await at.send(f"answer-{number}@desk.example")
            await at.hear(f"ticket-{number}@desk.example")
        later = (await at.write("ann@desk.example")).deliveries[0].number
        assert await at.state(later) == HELD
        await at.hear("bob@desk.example", K.HUMAN, wanted=Wanted(AcceptNew.NONE))
        assert await at.state(later) == HELD
        await at.hear("bob@elsewhere.example", K.HUMAN)
        assert await at.state(later) == HELD
        await at.hear("carol@desk.example", K.HUMAN)
        assert await at.state(later) == WAITS


async def test_a_loop_is_remembered_over_a_restart(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = (await at.write()).deliveries[0].thread_number
        for _ in range(5):
            await at.hear(thread=thread)
    async with house(tmp_path) as at:
        at.mails = 100
        event = await at.hear(thread=thread)
        assert event["automation"]["kind"] == "loop"
    async with house(tmp_path) as at:
        assert (await at.write(thread=thread)).deliveries[0].state is S.HELD


async def test_what_two_loops_hold_waits_for_the_end_of_both(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await loop_in_thread(at)
        later = (await at.write(thread=thread)).deliveries[0].number
        for _ in range(6):
            await at.hear()
        assert [one.evidence for one in at.changes(ThreadHeld)] == [
            "velocity_thread",
            "velocity_address",
        ]
        await at.hear(ALICE, K.HUMAN, thread=thread)
        assert await at.state(later) == HELD
        await at.hear("ann@desk.example", K.HUMAN)
        assert await at.state(later) == HELD
        await at.hear(ROBOT, K.HUMAN)
        assert await at.state(later) == WAITS


async def test_a_loop_in_a_thread_does_not_count_against_the_peers_others(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await loop_in_thread(at)
        for _ in range(5):
            event = await at.hear()
            assert event["automation"]["kind"] == "auto_reply"


async def test_after_an_end_by_hand_a_peer_is_counted_anew(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.send()
        for _ in range(6):
            event = await at.hear()
        assert event["automation"]["evidence"] == ["velocity_address"]
        await at.outbox.admin.resume_thread(thread_of(event), ANN, at.now)
        kinds = [(await at.hear())["automation"]["kind"] for _ in range(6)]
        assert kinds == ["auto_reply"] * 5 + ["loop"]
