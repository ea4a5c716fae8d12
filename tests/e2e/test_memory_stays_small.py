"""What waits costs no memory: a long queue lies on the disk, and a relay that hangs holds what is under way and no more.

`make bench` measures a million (docs/performance.md); here two queues are compared, so that no figure of a machine counts.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from postroom.selftest.nursery import Nursery
from support.house import House, house_in
from support.relay import ScriptedRelay
from support.relay_script import Hold


FEW, MANY = 12_000, 32_000
# Octets. 400 are pages of the file, of which SQLite keeps 16 MiB at most; a row that is held takes 1,000.
MOST_A_ROW = 600
HANGING = 20
LISTS = ("/jobs?limit=100", "/deliveries?state=pending&limit=100", "/mailboxes", "/stats")


@dataclass(frozen=True)
class Run:
    """A daemon that lives, and the most that was resident of it."""

    pid: int
    octets: int


@pytest.mark.timeout(90)
async def test_twenty_thousand_more_that_wait_behind_a_relay_that_hangs_take_no_memory(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        relay.on("ehlo", Hold(), times=HANGING // 4)
        relay.on("dot", Hold())
        config = house.config.read_text()
        house.config.write_text(config.replace("concurrency = 50", f"concurrency = {HANGING}"))
        pid = await house.start()
        await queue(house, 0, FEW)
        await house.kill(pid)
        few = await peak_of_a_run(house, relay)
        await queue(house, FEW, MANY)
        await house.kill(few.pid)
        many = await peak_of_a_run(house, relay)
        assert (many.octets - few.octets) / (MANY - FEW) < MOST_A_ROW, (few, many)


async def queue(house: House, begin: int, end: int) -> None:
    """Hand in so many deliveries, a thousand in each job."""
    for first in range(begin, end, 1_000):
        await house.post(
            to=[f"r{number}@d{number % 50}.example" for number in range(first, first + 1_000)]
        )


async def peak_of_a_run(house: House, relay: ScriptedRelay) -> Run:
    """Start behind a crash, let the relay hang, ask for everything."""
    before = len(relay.connections)
    pid = await house.start()
    await relay.until(lambda: len(relay.connections) == before + HANGING)
    for path in LISTS * 5:
        assert (await house.ask("GET", path))[0] == 200
    async with house.session.get("http://localhost/v1/metrics") as answer:
        assert "postroom_commits_total" in await answer.text()
    (waiting,) = (await house.ask("GET", "/deliveries?state=pending&limit=1"))[1]["items"]
    assert (await house.ask("GET", f"/deliveries/{waiting['id']}/explain"))[0] == 200
    return Run(pid, most_resident(pid))


def most_resident(pid: int) -> int:
    """The kernel's own mark, so that no moment is missed."""
    status = Path(f"/proc/{pid}/status").read_text()
    kib = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    assert kib is not None
    return int(kib[1]) * 1024
