"""Messages made to cost time or memory, through the real daemon: it answers, sends and takes other mail all the while."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from support.bombs import bombs
from support.clock import breathe
from support.house import House, Nursery, house_in
from support.inward import SUPPORT, came_in, find_events, free_port, listening_at, mail, mail_to
from support.relay import ScriptedRelay


MALLORY = "mallory@evil.example"
ANSWER_S = 1.0  # for /healthz on a machine that others use too; the daemon's own heartbeat is told beside it
CALM_S = 0.5


@dataclass
class Pulse:
    """How slow the daemon answered at worst."""

    slowest: float = 0.0
    asked: int = 0

    async def feel(self, house: House) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            status, _ = await house.ask("GET", "/healthz")
            self.slowest = max(self.slowest, loop.time() - began)
            self.asked += 1
            assert status == 200
            for _ in range(10):
                await breathe()


async def test_while_bombs_go_off_the_daemon_answers_sends_and_takes_mail(
    tmp_path: Path, nursery: Nursery
) -> None:
    port = free_port()
    given = dict(bombs())
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery, more=listening_at(port)) as house,
    ):
        await house.start()
        pulse = Pulse()
        async with asyncio.TaskGroup() as group:
            feeling = group.create_task(pulse.feel(house))
            for name, content in given.items():
                print(name, pulse)
                told = await mail_to(port, content, SUPPORT, sender=MALLORY)
                assert told[:1] in ("2", "5"), told
            for number in range(10):
                who = f"p{number}@customer.example"
                letter = mail(f"Letter {number}.", From=who, To=SUPPORT, Subject="Hello")
                assert (await mail_to(port, letter, SUPPORT, sender=who)).startswith("250")
                job = await house.post(to=[f"r{number}@one.example"])
                assert await house.settled(job["id"]) == {f"r{number}@one.example": "sent"}
            await house.until(lambda: _has_all_letters(house))
            feeling.cancel()
        _, stats = await house.ask("GET", "/stats")
        print(pulse, stats["loop_lag_max_s"], len(given))
        assert pulse.slowest < ANSWER_S


async def _has_all_letters(house: House) -> bool:
    found = await find_events(house)
    return sum(one["message"]["text"].startswith("Letter") for one in found) == 10
