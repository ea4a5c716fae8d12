"""Who looks like a person: when that is a loop, and when it is a conversation."""

from pathlib import Path
from typing import Any

from postroom.core.inmail import AutomationKind
from postroom.core.instant import MINUTE, SECOND
from postroom.ports.changes import ThreadHeld
from support.arrivals import ALICE
from support.robots import HELD, WAITS, House, house


K = AutomationKind


async def answer(at: House, thread: int, after_s: int) -> dict[str, Any]:
    """A turn: we write by ourselves, and somebody who looks like a person answers after so long."""
    await at.send(ALICE, thread, head=AUTOMATIC)
    at.pass_(after_s * SECOND)
    return await at.hear(ALICE, K.HUMAN, thread=thread)


AUTOMATIC = b"Subject: s\r\nAuto-Submitted: auto-generated\r\n"


async def begin(at: House) -> int:
    done = await at.write(ALICE)
    return done.deliveries[0].thread_number


async def test_who_looks_like_a_person_and_answers_eleven_times_at_once_is_held(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as at:
        thread = await begin(at)
        kinds = [(await answer(at, thread, 3))["automation"]["kind"] for _ in range(11)]
        assert kinds == ["human"] * 10 + ["loop"]
        assert at.said[-1]["automation"]["evidence"] == ["velocity_turns"]
        (held,) = at.changes(ThreadHeld)
        assert held.scopes == ("thread", "address")
        later = (await at.write(ALICE)).deliveries[0].number
        assert await at.state(later) == HELD
        # What is still on its way frees nothing; it stays a person's for who reads it.
        at.pass_(SECOND)
        event = await at.hear(ALICE, K.HUMAN, thread=thread)
        assert (event["type"], event["thread"]["held"]) == ("reply.received", True)
        assert await at.state(later) == HELD
        at.pass_(10 * MINUTE)
        event = await at.hear(ALICE, K.HUMAN, thread=thread)
        assert "held" not in event["thread"]
        assert await at.state(later) == WAITS


async def test_somebody_else_frees_it_at_once(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await begin(at)
        for _ in range(11):
            await answer(at, thread, 3)
        later = (await at.write(ALICE)).deliveries[0].number
        await at.hear("bob@customer.example", K.HUMAN, thread=thread)
        assert await at.state(later) == WAITS


async def test_a_chatty_person_is_none(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await begin(at)
        for number in range(90):
            # mostly fast, sometimes not
            event = await answer(at, thread, 45 if number % 8 == 7 else 12)
            assert event["automation"]["kind"] == "human"


async def test_who_writes_many_mails_after_one_of_ours_is_none(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await begin(at)
        await answer(at, thread, 3)
        for _ in range(150):
            event = await at.hear(ALICE, K.HUMAN, thread=thread)
            assert event["automation"]["kind"] == "human"


async def test_a_person_who_answers_a_person_at_once_is_none(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await begin(at)
        for _ in range(30):
            await at.send(ALICE, thread)  # its head says nothing of a machine
            at.pass_(SECOND)
            event = await at.hear(ALICE, K.HUMAN, thread=thread)
            assert event["automation"]["kind"] == "human"


async def test_a_hundred_turns_a_day_are_a_loop_at_any_speed(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        thread = await begin(at)
        kinds = [(await answer(at, thread, 120))["automation"]["kind"] for _ in range(101)]
        assert kinds == ["human"] * 100 + ["loop"]
