"""SIGKILL before and after every named commit, and at every stage of a dialogue: what is accepted goes out once."""

import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from postroom.selftest.nursery import Nursery
from support.house import House, crashes_of, house_in
from support.relay import ScriptedRelay
from support.relay_script import Hold


WHO = "a@one.example"
JOB: dict[str, Any] = {"to": [WHO], "idempotency_key": "k"}
NOT_OURS = (aiohttp.ClientError, OSError)


async def hand_in(house: House, **fields: Any) -> dict[str, Any] | None:
    """The answer, or None where the daemon died before it gave one."""
    try:
        return await house.post(**{**JOB, **fields})
    except NOT_OURS:
        return None


@pytest.mark.parametrize(
    ("point", "side", "is_answered", "state", "crashes", "copies"),
    [
        ("accept", "before", False, None, 0, 0),
        ("accept", "after", False, "sent", 0, 1),
        ("start", "before", True, "sent", 0, 1),
        ("start", "after", True, "sent", 1, 1),
        ("mark", "before", True, "sent", 1, 1),
        ("mark", "after", True, "uncertain", 0, 0),
        ("finish", "before", True, "uncertain", 0, 1),
        ("finish", "after", True, "sent", 0, 1),
    ],
)
async def test_a_daemon_killed_at_a_commit_loses_nothing_and_sends_nothing_twice(
    *,
    point: str,
    side: str,
    is_answered: bool,
    state: str | None,
    crashes: int,
    copies: int,
    tmp_path: Path,
    nursery: Nursery,
) -> None:
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        pid = await house.start(kill=[point, side])
        answered = await hand_in(house)
        assert (answered is not None) is is_answered
        assert await house.end(pid) == -signal.SIGKILL
        assert (tmp_path / "api.sock").is_socket(), "left behind by the one that was killed"

        await house.start()
        _, known = await house.ask("GET", "/jobs?idempotency_key=k")
        assert bool(known["items"]) is (state is not None)
        again = await house.post(**JOB)
        assert again["deduplicated"] is (state is not None)
        assert await house.settled(again["id"]) == {WHO: state or "sent"}
        found = (await house.deliveries(again["id"]))[WHO]
        assert crashes_of(found) == crashes
        assert relay.copies(WHO) == (copies or (state is None))
        assert len([one for one in relay.transactions if one.is_whole]) <= 1


@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_daemon_killed_in_its_recovery_recovers_at_the_next_start(
    side: str, tmp_path: Path, nursery: Nursery
) -> None:
    hold = Hold()
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        relay.on("rcpt", hold, times=1)
        pid = await house.start()
        job = await house.post(**JOB)
        await relay.until(lambda: bool(relay.transactions))
        await house.kill(pid)
        pid = await house.start(kill=["recover", side], is_awaited=False)
        assert await house.end(pid) == -signal.SIGKILL

        await house.start()
        assert await house.settled(job["id"]) == {WHO: "sent"}
        assert crashes_of((await house.deliveries(job["id"]))[WHO]) == 1
        assert relay.copies(WHO) == 1


STAGES = {
    "mail": "sent",
    "rcpt": "sent",
    "data": "sent",
    "body": "sent",
    "dot": "uncertain",
    "answered": "sent",
}
CONNECT = """\
[[mailbox]]
id = "connect"
address = "connect@example.com"
[mailbox.relay]
host = "127.0.0.1"
port = {port}
tls = "none"
"""


async def test_a_daemon_killed_at_any_stage_of_a_dialogue_sends_once_or_says_that_it_does_not_know(
    tmp_path: Path,
    nursery: Nursery,
) -> None:
    async with (
        ScriptedRelay() as relay,
        ScriptedRelay() as mute,
        house_in(tmp_path, relay.port, nursery, more=CONNECT.format(port=mute.port)) as house,
    ):
        for stage in ("rcpt", "data", "body", "dot"):
            relay.on(stage, Hold(), recipient=f"{stage}@one.example", times=1)
        mute.on("connect", Hold(), times=1)
        (tmp_path / "big").write_bytes(b"x" * (8 << 20))  # more than lies between two sockets
        big = [{"path": str(tmp_path / "big")}]
        pid = await house.start()
        jobs = {}
        for stage in ("answered", "rcpt", "data", "body", "dot"):
            files = big if stage == "body" else []
            job = await house.post(to=[f"{stage}@one.example"], attachments=files)
            jobs[stage] = job["id"]
        await relay.until(lambda: len(relay.transactions) == 5 and relay.copies("dot@one.example"))
        await house.settled(jobs["answered"])
        relay.on("mail", Hold(), times=1)
        jobs["mail"] = (await house.post(to=["mail@one.example"]))["id"]
        jobs["connect"] = (await house.post(to=["c@one.example"], mailbox_id="connect"))["id"]
        await mute.until(lambda: bool(mute.connections))
        await relay.until(lambda: sum("MAIL" in "".join(c.commands) for c in relay.connections) > 4)
        await house.kill(pid)

        await house.start()
        for stage, expected in STAGES.items():
            assert await house.settled(jobs[stage]) == {f"{stage}@one.example": expected}
            assert relay.copies(f"{stage}@one.example") == 1
        assert await house.settled(jobs["connect"]) == {"c@one.example": "sent"}
        assert mute.copies("c@one.example") == 1


async def test_what_was_accepted_under_load_is_there_after_a_kill_and_goes_out_once(
    tmp_path: Path,
    nursery: Nursery,
) -> None:
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        pid = await house.start()
        to = [f"r{n}@d{n % 5}.example" for n in range(300)]
        job = await house.post(to=to, copies="individual")
        await relay.until(lambda: len(relay.transactions) > 60)
        await house.kill(pid)
        await house.start()
        states = await house.settled(job["id"])
        assert set(states) == set(to)
        for who, state in states.items():
            assert state in ("sent", "uncertain")
            assert relay.copies(who) <= 1
            assert relay.copies(who) == 1 or state == "uncertain"


async def test_two_crashes_make_a_suspect_that_goes_alone_and_the_third_ends_it(
    tmp_path: Path,
    nursery: Nursery,
) -> None:
    """A reboot in between counts for nothing, and who is not to blame is sent whatever the others do."""
    poison = [f"p{n}@one.example" for n in range(3)]
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        for who in poison:
            relay.on("rcpt", Hold(), recipient=who)
        first = await house.start(boot_id="one")
        job = (await house.post(to=poison, copies="individual"))["id"]
        await _crash(house, relay, first, since=0, under_way=3)

        seen = []
        for under_way in (3, 3, 1, 1, 1):
            since = len(relay.connections)
            pid = await house.start(boot_id="two")
            await _assert_others_go(house)
            found = (await house.deliveries(job)).values()
            seen.append(sorted(one["crashes"] for one in found if one["state"] != "failed"))
            await _crash(house, relay, pid, since=since, under_way=under_way)
        assert seen == [[0, 0, 0], [1, 1, 1], [2, 2, 2], [2, 2], [2]]

        await house.start(boot_id="two")
        await _assert_others_go(house)
        ended = (await house.deliveries(job)).values()
        assert {(one["state"], one["reason_code"]) for one in ended} == {("failed", "poison")}
        _, letters = await house.ask("GET", "/dead-letters")
        assert len(letters["items"]) == 3


async def _crash(
    house: House, relay: ScriptedRelay, pid: int, *, since: int, under_way: int
) -> None:
    """Kill a daemon once the relay holds so many poison mails on connections since then, and never held more."""

    def held() -> int:
        return sum("<p" in "".join(one.commands) for one in relay.connections[since:])

    await relay.until(lambda: held() == under_way)
    await house.kill(pid)
    assert held() == under_way


async def _assert_others_go(house: House) -> None:
    bystander = await house.post(to=["fine@one.example"])
    assert await house.settled(bystander["id"]) == {"fine@one.example": "sent"}
