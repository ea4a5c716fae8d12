"""People write to 64 agents on one inbox whose daemon is killed again and again: one holder for a thread, in order, nothing lost, nothing twice."""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from postroom.selftest.nursery import Nursery
from support.clock import breathe
from support.house import House, house_in
from support.inward import answer_to, came_in, free_port, listening_at, mail_to, reply_to
from support.relay import ScriptedRelay
from support.relay_script import Transaction


AGENTS = 64
THREADS = 24
LETTERS = 3  # of each person
KILLS = 4
INBOX = {"consumer": "agents", "types": ["reply.received"]}
SHORT_S = 1.0  # the lease of an agent that will die with it


@dataclass
class Floor:
    """What the agents did. `held`: until when a thread is somebody's, by the clock of who got it before it asked."""

    house: House
    held: dict[str, tuple[str, float]] = field(default_factory=dict)
    acted: dict[str, list[int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    attempts: int = 0
    deaths: int = 0

    async def work(self, name: str) -> None:
        """Lease, look, answer, complete; sometimes die with the lease in hand and come back as another."""
        while True:
            self.attempts += 1
            attempt = f"{name}-{self.attempts}"
            is_doomed = self.attempts % 20 == 0
            lease_s = SHORT_S if is_doomed else 60.0
            asked_at = _now()
            wish = {"wait_s": 1, "lease_s": lease_s, "attempt_id": attempt, **INBOX}
            told = await self._ask("/leases", wish)
            for lease in told["leases"]:
                self._take(lease, attempt, asked_at + lease_s)
                if is_doomed:
                    self.deaths += 1
                else:
                    await self._handle(lease, attempt)

    def _take(self, lease: dict[str, Any], attempt: str, until: float) -> None:
        thread = lease["thread"]["id"]
        holder, held_until = self.held.get(thread, (attempt, 0.0))
        if holder != attempt and _now() < held_until:
            self.faults.append(f"{thread} went to {attempt} while {holder} had it")
        self.held[thread] = (attempt, until)
        seqs = [event["seq"] for event in lease["events"]]
        if seqs != sorted(seqs):
            self.faults.append(f"{thread}: {seqs} is not the order")

    async def _handle(self, lease: dict[str, Any], attempt: str) -> None:
        thread, last = lease["thread"]["id"], lease["events"][-1]
        seqs = [event["seq"] for event in lease["events"]]
        for _ in range(self.attempts % 5):
            await breathe()
        if self.held[thread][0] != attempt:
            self.faults.append(f"{thread} was {attempt}'s, and {self.held[thread][0]} took it")
        del self.held[
            thread
        ]  # another may have it before we hear that we are done; until then the fence judges
        reply = {"text": f"About {last['id']}.", "in_reply_to_event": last["id"]}
        done = await self._ask(
            f"/leases/{lease['id']}/complete",
            {"fence": lease["fence"], "ack": "all", "replies": [reply]},
        )
        if done["status"] not in (200, 202):
            self.faults.append(f"complete: {done}")
        self.acted.setdefault(thread, []).extend(seqs)

    async def _ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer, asked for until there is one: the same again is safe (CONTRACT §4)."""
        while True:
            with suppress(aiohttp.ClientError, OSError):
                status, told = await self.house.ask("POST", path, body)
                if status < 500:
                    return {"leases": [], **told, "status": status}
            for _ in range(10):
                await breathe()


async def test_sixty_four_agents_and_a_daemon_that_is_killed_again_and_again(
    tmp_path: Path, nursery: Nursery
) -> None:
    port = free_port()
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery, more=listening_at(port)) as house,
    ):
        pid = await house.start()
        people = [f"p{n}@customer.example" for n in range(THREADS)]
        job = await house.post(to=people, copies="individual")
        assert set((await house.settled(job["id"])).values()) == {"sent"}
        floor = Floor(house)
        wanted = THREADS * LETTERS

        async with asyncio.TaskGroup() as group:
            agents = [group.create_task(floor.work(f"agent{n}")) for n in range(AGENTS)]
            writer = group.create_task(_write_all(port, relay.transactions[:THREADS]))
            for part in range(1, KILLS + 1):
                least = wanted * part // (KILLS + 2)
                await house.until(lambda least=least: _count(floor) >= least, 20)  # type: ignore[misc]
                await house.kill(pid)
                pid = await house.start()
            await house.until(lambda: writer.done() and _count(floor) >= wanted, 30)
            for agent in agents:
                agent.cancel()

        assert floor.faults == []
        assert floor.deaths > 0
        events = await came_in(house, wanted)
        expected: dict[str, list[int]] = {}
        for event in events:
            expected.setdefault(event["thread"]["id"], []).append(event["seq"])
        assert floor.acted == expected
        for seqs in expected.values():
            assert len(seqs) == LETTERS
        await _assert_answered_once(house, relay)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _count(floor: Floor) -> int:
    return sum(map(len, floor.acted.values()))


async def _write_all(port: int, sent: list[Transaction]) -> None:
    """Three letters from everybody, each handed in until it is taken."""
    for number in range(LETTERS):
        for one in sent:
            (who,) = one.recipients
            content = answer_to(one, f"Letter {number} of {who}.", sender=who)
            while True:
                with suppress(OSError):
                    told = await mail_to(port, content, reply_to(one), sender=who)
                    if told.startswith("250"):
                        break
                await breathe()


async def _assert_answered_once(house: House, relay: ScriptedRelay) -> None:
    """Each answer went out at most once, and once where we know that it did."""
    for state in ("pending", "sending", "retry_scheduled"):
        await house.until(lambda state=state: _is_none_in(house, state))  # type: ignore[misc]
    copies: Counter[str] = Counter()
    for one in relay.transactions:
        if one.may_be_delivered and b"About evt_" in (one.content or b""):
            copies[(one.content or b"").rpartition(b"About ")[2].decode().split(".")[0]] += 1
    assert set(copies.values()) == {1}
    sent, unknown = await _count_in(house, "sent"), await _count_in(house, "uncertain")
    assert sent - THREADS <= len(copies) <= sent - THREADS + unknown


async def _is_none_in(house: House, state: str) -> bool:
    return await _count_in(house, state) == 0


async def _count_in(house: House, state: str) -> int:
    _, told = await house.ask("GET", f"/deliveries?state={state}&limit=200")
    return len(told["items"])
