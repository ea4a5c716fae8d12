"""A disk that is really full: a small file system of the kernel's, and what the daemon on it says, sends and remembers.

The order in which things fail is the promise: intake first, then the terminator, and what a relay answered never.
"""

import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from postroom.selftest.nursery import Nursery
from support.house import House, house_in
from support.inward import SUPPORT, came_in, free_port, listening_at, mail, mail_to
from support.relay import ScriptedRelay
from support.relay_script import Default, Hold
from support.small_disk import MIB, SmallDisk, apart, small_disk


KEPT = 20 * MIB  # more than the ballast, as on a disk of any size
SIZE = 72 * MIB  # room for a ballast beside that
FILES = 400
ANSWERED, STOPPED, LATER, NEW = (f"{name}@one.example" for name in ("a", "b", "c", "d"))
JOB = {"mailbox_id": "support", "to": [NEW], "subject": "s", "text": "t"}
HELLO = mail("Hello.", From="alice@customer.example", Subject="Hello", To=SUPPORT)


@pytest.fixture(scope="module")
def own_nursery() -> Iterator[Nursery]:
    with apart() as made:
        yield made


@pytest.fixture
def disk(own_nursery: Nursery, tmp_path: Path) -> SmallDisk:
    return small_disk(tmp_path, own_nursery, size_bytes=SIZE, files=FILES)


async def is_refused(house: House) -> bool:
    return (await house.ask("GET", "/readyz"))[0] == 503


async def is_open(house: House) -> bool:
    return (await house.ask("GET", "/readyz"))[0] == 200


async def check_refusals(house: House, port: int) -> None:
    """A job, a file and a mail are refused, each as its protocol says "later"."""
    await house.until(lambda: is_refused(house))
    status, told = await house.ask("POST", "/jobs", JOB)
    assert (status, told["code"], told["retryable"]) == (507, "storage_full", True)
    status, told = await house.ask("POST", "/attachments?filename=a.txt", {"some": "content"})
    assert (status, told["code"]) == (507, "storage_full")
    assert (await mail_to(port, HELLO, SUPPORT)).startswith("452")


async def check_recovery(house: House, port: int) -> None:
    """The same daemon takes everything again, and nobody told it to."""
    await house.until(lambda: is_open(house))
    job = await house.post(to=[NEW])
    assert await house.settled(job["id"]) == {NEW: "sent"}
    assert (await mail_to(port, HELLO, SUPPORT)).startswith("250")
    (event,) = await came_in(house)
    assert event["type"] == "message.received"


async def fill_log(house: House, state: Path) -> int:
    """Post until the write-ahead log grows: what was copied out of it is written over before; how many bytes it has."""
    log = state / "postroom.db-wal"
    old = log.stat().st_size
    while log.stat().st_size == old:
        await house.post(to=[LATER], send_at="2099-01-01T00:00:00Z")
    return log.stat().st_size


@pytest.mark.parametrize(
    "take",
    [lambda disk: disk.fill(KEPT - MIB), lambda disk: disk.fill_files(10)],
    ids=["bytes", "files"],
)
async def test_what_is_new_is_refused_while_there_is_room_for_what_was_taken(
    tmp_path: Path, own_nursery: Nursery, disk: SmallDisk, take: Callable[[SmallDisk], None]
) -> None:
    port, hold = free_port(), Hold()
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, own_nursery, more=listening_at(port)) as house,
    ):
        relay.on("mail", hold, Default(), times=1)
        await house.start(kept=KEPT)
        job = await house.post(to=[ANSWERED])
        await relay.until(lambda: bool(relay.connections))
        take(disk)
        await check_refusals(house, port)
        assert house.log.count('"store.refused"') == 1
        hold.release()
        assert await house.settled(job["id"]) == {ANSWERED: "sent"}
        disk.make_room()
        await check_recovery(house, port)
        assert relay.copies(ANSWERED) == relay.copies(NEW) == 1


async def test_on_a_full_disk_no_final_dot_goes_and_what_was_answered_is_recorded_from_the_reserve(
    tmp_path: Path, own_nursery: Nursery, disk: SmallDisk
) -> None:
    port, dot, go_ahead = free_port(), Hold(), Hold()
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, own_nursery, more=listening_at(port)) as house,
    ):
        relay.on("dot", dot, Default(), recipient=ANSWERED)
        relay.on("data", go_ahead, Default(), recipient=STOPPED)
        pid = await house.start(kept=KEPT)
        jobs = {who: (await house.post(to=[who]))["id"] for who in (ANSWERED, STOPPED)}
        await relay.until(lambda: len(relay.transactions) == 2)
        await relay.until(lambda: any(one.is_whole for one in relay.transactions))
        await fill_log(house, disk.seen)
        disk.fill()
        await check_refusals(house, port)

        go_ahead.release()
        content = next(one for one in relay.transactions if STOPPED in one.recipients)
        await relay.until(lambda: content.content is not None)
        assert not content.is_whole, "its mark finds no room, so its dot does not go"
        dot.release()
        await house.until(lambda: not (disk.seen / "ballast").exists())
        assert await house.settled(jobs[ANSWERED]) == {ANSWERED: "sent"}
        await check_refusals(house, port)

        disk.make_room()
        assert await house.settled(jobs[STOPPED]) == {STOPPED: "sent"}
        await check_recovery(house, port)
        assert [relay.copies(who) for who in (ANSWERED, STOPPED, NEW)] == [1, 1, 1]
        assert await house.stop(pid) == 0


async def test_a_start_without_room_is_no_start_and_the_next_one_finds_everything(
    tmp_path: Path, own_nursery: Nursery, disk: SmallDisk
) -> None:
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, own_nursery) as house:
        pid = await house.start(kept=KEPT)
        job = await house.post(to=[LATER], send_at="2099-01-01T00:00:00Z")
        await house.stop(pid)
        for take in (disk.fill_files, disk.fill):
            take()
            refused = await house.start(is_awaited=False, kept=KEPT)
            assert await house.end(refused) == 74, house.log
            disk.make_room()
        await house.start(kept=KEPT)
        assert await house.states(job["id"]) == {LATER: "pending"}


async def test_a_write_that_the_kernel_refuses_ends_the_daemon_and_the_next_one_doubles_nothing(
    tmp_path: Path, nursery: Nursery
) -> None:
    """On any machine: no file of the daemon may grow any more. What a COMMIT did then is not known, so nobody guesses."""
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        relay.on("dot", Hold(), recipient=ANSWERED)
        pid = await house.start()
        marked = await house.post(to=[ANSWERED])
        waiting = await house.post(to=[LATER], send_at="2099-01-01T00:00:00Z")
        await relay.until(lambda: any(one.is_whole for one in relay.transactions))
        grown = await fill_log(house, tmp_path / "state")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (grown, grown))
        job = {**JOB, "idempotency_key": "k"}
        assert (await house.ask("POST", "/jobs", job))[0] == 503
        assert await house.end(pid) == 74

        await house.start()
        assert await house.states(marked["id"]) == {ANSWERED: "uncertain"}
        assert await house.states(waiting["id"]) == {LATER: "pending"}
        assert (await house.ask("POST", "/jobs", job))[0] in {200, 202}
        await relay.until(lambda: relay.copies(NEW) == 1)
        await house.until(lambda: house.log.count('"delivery.sent"') == 1)
        assert relay.copies(ANSWERED) == relay.copies(NEW) == 1
