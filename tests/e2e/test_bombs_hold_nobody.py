"""Messages made to cost time or memory, through the real daemon: it answers, sends and takes other mail all the while."""

import asyncio
import re
from pathlib import Path

import pytest

from postroom.selftest.nursery import Nursery
from support.bombs import bombs
from support.house import House, house_in
from support.inward import SUPPORT, find_events, free_port, listening_at, mail, mail_to
from support.pulse import pulse_of
from support.relay import ScriptedRelay


# For /healthz. A bomb that goes off in the daemon's loop costs seconds; a machine with other tests to run took 0.6.
ANSWER_S = 1.5
LONGEST = 60_000  # of a line: a longer one is refused at the door


@pytest.mark.timeout(90)
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
        async with pulse_of(tmp_path / "api.sock") as pulse, asyncio.TaskGroup() as group:
            throwing = group.create_task(_throw(port, given))
            for number in range(12):
                await _write_and_send(house, port, number)
            taken = await throwing
            await house.until(lambda: house.log.count('"mail.published"') >= 12 + taken, 50)
        assert taken > len(given) - 5, "the door takes nearly all, so they must be read"
        assert pulse.asked > 50
        assert pulse.slowest_s < ANSWER_S
        found = await find_events(house)
        assert len(found) == 12 + taken
        assert {one["type"] for one in found} == {"message.received"}


async def _throw(port: int, given: dict[str, bytes]) -> int:
    """Hand in every bomb, each from a sender of its own; how many were taken."""
    taken = 0
    for number, content in enumerate(given.values()):
        own = content.replace(b"<bomb@", b"<bomb%d@" % number, 1)  # else some are copies of others
        told = await mail_to(port, _folded(own), SUPPORT, sender=f"m{number}@evil.example")
        assert told[:1] in ("2", "5"), told
        taken += told.startswith("250")
    return taken


def _folded(content: bytes) -> bytes:
    """The same in lines that are taken."""
    head, end, body = content.partition(b"\r\n\r\n")
    longest = rb"([^\r\n]{%d})(?=[^\r\n])" % LONGEST
    return re.sub(longest, rb"\1\r\n ", head) + end + re.sub(longest, rb"\1\r\n", body)


async def _write_and_send(house: House, port: int, number: int) -> None:
    who = f"p{number}@customer.example"
    letter = mail(f"Letter {number}.", From=who, To=SUPPORT, Subject="Hello")
    assert (await mail_to(port, letter, SUPPORT, sender=who)).startswith("250")
    job = await house.post(to=[f"r{number}@one.example"])
    assert await house.settled(job["id"]) == {f"r{number}@one.example": "sent"}
