"""Real daemons that are told to read their settings again: by the command, by SIGHUP, under systemd, at any moment of their lives."""

import contextlib
import json
import os
import pty
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from postroom.client import Client
from support.clock import breathe
from support.house import House, Nursery, house_in
from support.real_daemon import POSTROOM, SETTINGS, RealDaemon, env, real_daemon
from support.relay import ScriptedRelay
from support.relay_script import Default, Hold


OTHER = '[[mailbox]]\nid = "other"\naddress = "other@example.com"\nrelay = "main"\n'
WHO = "a@example.com"


@pytest.fixture(scope="module")
def daemon() -> Iterator[RealDaemon]:
    with real_daemon() as made:
        yield made


@asynccontextmanager
async def house_of(
    folder: Path, nursery: Nursery, **more: Any
) -> AsyncIterator[tuple[House, ScriptedRelay]]:
    async with ScriptedRelay() as relay, house_in(folder, relay.port, nursery, **more) as house:
        yield house, relay


def waits_for_hangups(pid: int) -> bool:
    """Whether a SIGHUP would be kept, or heard: before that nothing of ours runs yet."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    masks = [int(line.split()[1], 16) for line in status if line[:6] in {"SigBlk", "SigCgt"}]
    return any(mask >> (signal.SIGHUP - 1) & 1 for mask in masks)


def lines(house: House, event: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in house.log.splitlines() if line.startswith("{")]
    return [line for line in found if line["event"] == event]


def write(house: House, more: str) -> None:
    house.config.write_text(house.config.read_text() + more)


def test_the_command_takes_up_what_was_changed_and_says_it(daemon: RealDaemon) -> None:
    plain = daemon.config.read_text()
    try:
        daemon.config.write_text(plain + OTHER)
        told = daemon.cli("reload", "--dry-run")
        assert (told.code, told.out.splitlines()[1].split()) == (
            0,
            ["mailbox.other", "added", "other@example.com", "now"],
        )
        assert daemon.json("reload")["changed"][0]["path"] == "mailbox.other"
        sent = daemon.cli(
            *("send", "--mailbox", "other", "--to", WHO, "--subject", "s", "--text", "t", "--wait")
        )
        assert sent.code == 0, sent.err
        daemon.config.write_text(plain + OTHER.replace('relay = "main"', 'relay = "nobody"'))
        wrong = daemon.cli("reload")
        assert wrong.code == 78
        assert "mailbox.other.relay: names 'nobody', which there is not." in wrong.err
        (other,) = [one for one in daemon.json("mailboxes")["items"] if one["id"] == "other"]
        assert other["state"] == "active"
    finally:
        daemon.config.write_text(plain)
        assert daemon.cli("reload").code == 0
    (other,) = [one for one in daemon.json("mailboxes")["items"] if one["id"] == "other"]
    assert other["state"] == "removed"
    refused = daemon.cli("send", "--mailbox", "other", "--to", WHO, "--subject", "s", "--text", "t")
    assert refused.code == 67


async def test_a_hangup_takes_up_settings_and_a_file_that_is_wrong_changes_nothing(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with house_of(tmp_path, nursery) as (house, relay):
        pid = await house.start()
        plain = house.config.read_text()
        write(house, OTHER)
        os.kill(pid, signal.SIGHUP)
        await house.until(lambda: lines(house, "config.reloaded"))
        (line,) = lines(house, "config.reloaded")
        assert (line["by"], line["changed"]) == ("SIGHUP", "mailbox.other")
        house.config.write_text(plain + "[daemon\n")
        os.kill(pid, signal.SIGHUP)
        await house.until(lambda: lines(house, "config.refused"))
        (line,) = lines(house, "config.refused")
        assert line["level"] == "error"
        assert "is not TOML" in line["detail"]
        job = await house.post(mailbox_id="other", to=[WHO])
        assert await house.settled(job["id"]) == {WHO: "sent"}
        assert relay.copies(WHO) == 1
        assert await house.stop(pid) == 0


async def test_a_hangup_while_it_starts_waits_until_it_is_ready_and_never_ends_it(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with house_of(tmp_path, nursery) as (house, _):
        pid = await house.start(is_awaited=False)
        await house.until(lambda: waits_for_hangups(pid))
        os.kill(pid, signal.SIGHUP)
        while not await house._is_ready():
            os.kill(pid, signal.SIGHUP)
            await breathe()
        await house.until(lambda: lines(house, "config.reloaded"))
        order = [json.loads(line)["event"] for line in house.log.splitlines()]
        assert order.index("daemon.ready") < order.index("config.reloaded")
        assert await house.stop(pid) == 0


async def test_while_it_stops_it_reads_nothing_any_more(tmp_path: Path, nursery: Nursery) -> None:
    async with house_of(tmp_path, nursery) as (house, relay):
        hold = Hold()
        relay.on("dot", hold, Default())
        pid = await house.start()
        job = await house.post(to=[WHO])
        await relay.until(lambda: relay.copies(WHO) == 1)
        write(house, OTHER)
        os.kill(pid, signal.SIGTERM)
        await house.until(lambda: lines(house, "daemon.draining"))
        os.kill(pid, signal.SIGHUP)
        await house.until(lambda: lines(house, "signal.ignored"))
        hold.release()
        assert await house.end(pid) == 0
        assert lines(house, "config.reloaded") == []
        assert job["status"] == "accepted"


async def test_a_dead_daemon_starts_with_what_a_reload_had_begun(
    tmp_path: Path, nursery: Nursery
) -> None:
    """Killed right behind it, whatever of it was stored."""
    async with house_of(tmp_path, nursery, more=OTHER) as (house, relay):
        plain = house.config.read_text().replace(OTHER, "")
        hold = Hold()
        relay.on("rcpt", hold, Default())
        pid = await house.start()
        job = await house.post(mailbox_id="other", to=[WHO])
        await relay.until(lambda: bool(relay.transactions))
        house.config.write_text(plain)
        status, told = await house.ask("POST", "/reload")
        assert (status, [one["path"] for one in told["changed"]]) == (200, ["mailbox.other"])
        await house.kill(pid)
        hold.release()
        relay.clear()
        pid = await house.start()
        assert await house.states(job["id"]) == {WHO: "held"}
        house.config.write_text(plain + OTHER)
        assert (await house.ask("POST", "/reload"))[0] == 200
        assert await house.settled(job["id"]) == {WHO: "sent"}
        assert relay.copies(WHO) == 1
        await house.stop(pid)


async def test_twenty_hangups_under_traffic_lose_nothing_and_send_nothing_twice(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with house_of(tmp_path, nursery) as (house, relay):
        pid = await house.start()
        plain = house.config.read_text()
        people = [f"r{n}@example.com" for n in range(200)]
        jobs = []
        for n in range(20):
            some = people[n * 10 : n * 10 + 10]
            jobs += [await house.post(to=[one]) for one in some]
            house.config.write_text(
                plain.replace("concurrency = 50", f"concurrency = {1 + n % 5}") + OTHER * (n % 2)
            )
            os.kill(pid, signal.SIGHUP)
        for job in jobs:
            assert set((await house.settled(job["id"])).values()) == {"sent"}
        assert [relay.copies(one) for one in people] == [1] * len(people)
        status, told = await house.ask("POST", "/reload")
        assert (status, told["changed"]) == (200, [])
        assert lines(house, "config.refused") == []
        assert await house.stop(pid) == 0


def test_a_terminal_that_hangs_up_stops_what_it_started(tmp_path: Path) -> None:
    (tmp_path / "postroom.toml").write_text(SETTINGS.format(folder=tmp_path, port=25))
    (tmp_path / "postroom.toml").chmod(0o600)
    ours, theirs = pty.openpty()
    command = [*POSTROOM, "run", "--config", str(tmp_path / "postroom.toml")]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env())
    os.close(theirs)
    try:
        assert Client(str(tmp_path / "api.sock"), retry_s=30).is_ready()
        process.send_signal(signal.SIGHUP)
        said = b""
        with contextlib.suppress(OSError):  # how a terminal says that nobody is there any more
            while piece := os.read(ours, 65536):
                said += piece
        assert process.wait(15) == 0
        assert b"daemon.stopped" in said
    finally:
        process.kill()
        process.wait()
        os.close(ours)
