"""A stop, a signal that is none, and a second daemon: nothing is lost, and nothing is counted as a crash."""

import os
import signal
from pathlib import Path
from typing import Any

import aiohttp

from postroom.selftest.nursery import Nursery
from support.house import House, crashes_of, house_in
from support.relay import ScriptedRelay
from support.relay_script import Default, Hold


WHO = "a@one.example"
JOB: dict[str, Any] = {"to": [WHO], "idempotency_key": "k"}
NOT_OURS = (aiohttp.ClientError, OSError)


async def test_a_stop_in_time_counts_no_crash_and_drops_what_has_no_mark(
    tmp_path: Path, nursery: Nursery
) -> None:
    """The relay holds both: one before its mark, one after. drain_s is over, so both are given up."""
    before, after = "rcpt@one.example", "dot@one.example"
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery, drain_s=0.2) as house,
    ):
        relay.on("rcpt", Hold(), recipient=before, times=1)
        relay.on("dot", Hold(), recipient=after, times=1)
        pid = await house.start()
        job = await house.post(to=[before, after], copies="individual")
        await relay.until(lambda: relay.copies(after) == 1 and len(relay.transactions) == 2)
        assert await house.stop(pid) == 0
        assert '"drain"' in house.log

        await house.start()
        assert await house.settled(job["id"]) == {before: "sent", after: "uncertain"}
        found = await house.deliveries(job["id"])
        assert [found[who]["crashes"] for who in (before, after)] == [0, 0]
        assert crashes_of(found[before]) == 0
        assert (found[before]["attempts"], found[before]["deferrals"]) == (1, 1)
        assert [relay.copies(who) for who in (before, after)] == [1, 1]


async def test_a_stop_waits_for_what_is_under_way_and_takes_nothing_new(
    tmp_path: Path, nursery: Nursery
) -> None:
    hold = Hold()
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        relay.on("dot", hold, Default(), times=1)
        pid = await house.start()
        job = await house.post(**JOB)
        await relay.until(lambda: relay.copies(WHO) == 1)
        os.kill(pid, signal.SIGTERM)
        await house.until(lambda: not (tmp_path / "api.sock").exists() or _is_refused(house))
        assert await house.end(pid, 0) is None
        hold.release()
        assert await house.end(pid) == 0
        assert not (tmp_path / "api.sock").exists()
        await house.start()
        assert await house.states(job["id"]) == {WHO: "sent"}
        assert relay.copies(WHO) == 1


async def _is_refused(house: House) -> bool:
    try:
        await house.ask("GET", "/healthz")
    except NOT_OURS:
        return True
    return False


async def test_a_second_daemon_ends_with_75_and_the_first_goes_on(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        await house.start()
        second = await house.start(is_awaited=False)
        assert await house.end(second) == os.EX_TEMPFAIL
        job = await house.post(**JOB)
        assert await house.settled(job["id"]) == {WHO: "sent"}


async def test_a_signal_that_does_not_say_stop_ends_nothing_and_leaves_no_doubt(
    tmp_path: Path, nursery: Nursery
) -> None:
    hold = Hold()
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        relay.on("dot", hold, Default(), times=1)
        pid = await house.start()
        job = await house.post(**JOB)
        await relay.until(lambda: relay.copies(WHO) == 1)
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            os.kill(pid, number)
            await house.until(lambda name=number.name: _is_logged(house, name))
        hold.release()
        assert await house.settled(job["id"]) == {WHO: "sent"}
        assert await house.stop(pid) == 0


async def _is_logged(house: House, name: str) -> bool:
    assert house.alive
    return f'"{name}"' in house.log
