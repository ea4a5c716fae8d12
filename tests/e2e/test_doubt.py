"""Doubt in real daemons that are killed: a relay that swallows its answers, and real SMTP on the way in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from postroom.selftest.nursery import Nursery
from support.house import House, house_in
from support.inward import (
    ALICE,
    SUPPORT,
    answer_to,
    came_in,
    free_port,
    listening_at,
    mail_to,
    parsed,
    reply_to,
)
from support.relay import ScriptedRelay
from support.relay_script import Drop, Hold


BOB = "bob@customer.example"


@asynccontextmanager
async def office(
    folder: Path, nursery: Nursery, policy: str = ""
) -> AsyncIterator[tuple[ScriptedRelay, House, int]]:
    port = free_port()
    more = f"{policy}\n{listening_at(port)}"
    async with (
        ScriptedRelay() as relay,
        house_in(folder, relay.port, nursery, more=more) as house,
    ):
        yield relay, house, port


async def become(house: House, job: dict[str, Any], who: str, state: str) -> dict[str, Any]:
    """The delivery once it is in this state."""
    found: dict[str, Any] = {}

    async def look() -> bool:
        found.update((await house.deliveries(job["id"]))[who])
        return found["state"] == state

    await house.until(look)
    return found


async def test_evidence_that_came_before_a_kill_counts_after_it(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (relay, house, port):
        relay.on("dot", Hold())
        pid = await house.start()
        job = await house.post(to=[ALICE, BOB], copies="individual")
        await relay.until(lambda: relay.copies(ALICE) + relay.copies(BOB) == 2)
        sent = next(one for one in relay.transactions if ALICE in one.recipients)
        answer = answer_to(sent, "I have it.", has_ids=False)
        assert (await mail_to(port, answer, reply_to(sent))).startswith("250")
        await came_in(house)
        assert (await house.states(job["id"]))[ALICE] == "sending"
        await house.kill(pid)
        await house.start()
        alice = await become(house, job, ALICE, "sent")
        bob = await become(house, job, BOB, "uncertain")
        assert (alice["settled_by"], alice["feedback"]) == ("evidence", "replied")
        assert (bob["settled_by"], bob["attempts"]) == ("recovery", 1)
        (late,) = [one for one in relay.transactions if BOB in one.recipients]
        answer = answer_to(late, "So have I.", to=SUPPORT, sender=BOB)
        assert (await mail_to(port, answer, SUPPORT, sender=BOB)).startswith("250")
        bob = await become(house, job, BOB, "sent")
        assert bob["reason_code"] == "evidence.message_id"
        assert (relay.copies(ALICE), relay.copies(BOB)) == (1, 1)
        assert (await house.ask("GET", f"/jobs/{job['id']}"))[1]["status"] == "completed"


async def test_a_policy_sends_again_once_whatever_is_killed(
    tmp_path: Path, nursery: Nursery
) -> None:
    """The first daemon dies with the doubt, the second sends the second copy and dies as well, the third leaves it alone."""
    policy = 'on_uncertain = { policy = "resend", after_s = 1 }'
    async with office(tmp_path, nursery, policy) as (relay, house, _):
        relay.on("dot", Hold())
        pid = await house.start()
        job = await house.post(to=[ALICE])
        await relay.until(lambda: relay.copies(ALICE) == 1)
        await house.kill(pid)
        pid = await house.start()
        await relay.until(lambda: relay.copies(ALICE) == 2, timeout_s=10)
        await house.kill(pid)
        relay.clear()
        pid = await house.start()
        found = await become(house, job, ALICE, "uncertain")
        assert (found["resends"], found["unanswered_marks"]) == (1, 1)
        told = (await house.ask("GET", f"/deliveries/{found['id']}/explain"))[1]
        (gate,) = told["gates"]
        assert (gate["name"], gate["until_at"]) == ("doubt", None)
        assert gate["threshold"] == "resend, but not this one: it may have been sent again before"
        relay.on("dot", Drop(), recipient=BOB, times=1)
        other = await house.post(to=[BOB])
        await become(house, other, BOB, "sent")
        assert await house.stop(pid) == 0
        assert (relay.copies(ALICE), relay.copies(BOB)) == (2, 2)
        assert len({str(parsed(one)["Message-ID"]) for one in relay.transactions[:2]}) == 1
        again = [one for one in found["history"] if one["by"] == "policy"]
        assert [(one["from"], one["to"]) for one in again] == [("uncertain", "pending")]


async def test_a_policy_takes_for_sent_what_waited_before_it_was_set(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (relay, house, _):
        relay.on("dot", Drop())
        pid = await house.start()
        job = await house.post(to=[ALICE])
        await become(house, job, ALICE, "uncertain")
        assert await house.stop(pid) == 0
        text = house.config.read_text()
        policy = 'on_uncertain = { policy = "assume_sent", after_s = 1 }\nretry'
        house.config.write_text(text.replace("retry", policy, 1))
        await house.start()
        found = await become(house, job, ALICE, "sent")
        assert (found["settled_by"], found["reason_code"]) == ("policy", "policy.assume_sent")
        assert relay.copies(ALICE) == 1
        assert '"event": "doubt.settled"' in house.log
        status, events = await house.ask("GET", "/events?limit=100")
        assert status == 200
        assert [one["type"] for one in events["items"]] == ["delivery.uncertain", "delivery.sent"]
