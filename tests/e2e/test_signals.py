"""Signals in every order, at every moment of a daemon's life: it goes on or ends in order, and no mail is lost or doubled."""

import hashlib
import itertools
import os
import select
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from postroom.selftest.nursery import Nursery
from support.house import House, house_in
from support.real_daemon import real_daemon
from support.relay import ScriptedRelay
from support.relay_script import Default, Hold


WHO = "a@one.example"
STOPS = ("INT", "TERM")
OTHERS = ("HUP", "USR1", "USR2", "PIPE", "TSTP", "CONT", "STOP")
STAGES = ("connect", "ehlo", "mail", "rcpt", "data", "body", "dot")
ENDS = {
    "asked": "TERM",
    "by a terminal": "INT",
    "asked twice": "TERM TERM",
    "impatient": "INT INT INT TERM TERM",
    "in the midst of others": "HUP TERM USR1 USR2 PIPE HUP",
    "while it stands still": "STOP TERM HUP CONT",
    "and then put to sleep": "TERM STOP USR1 CONT INT",
    "as a shell does it": "TSTP CONT HUP CONT TERM CONT",
}
LIVES_ON = (
    "HUP",
    "USR1 USR2",
    "PIPE PIPE",
    "TSTP CONT",
    "STOP HUP CONT",
    "USR2 HUP HUP USR1 PIPE CONT",
)


def _drawn(seed: int) -> str:
    """A sequence by chance that ends it, the same for the same seed; who was stopped goes on."""
    drawn = hashlib.sha256(b"%d" % seed).digest()
    words = [OTHERS[one % len(OTHERS)] for one in drawn[:6]]
    for one in drawn[6:8]:
        words.insert(one % len(words), STOPS[one % len(STOPS)])
    return " ".join([*words, "CONT"])


def _send(pid: int, words: str) -> None:
    for word in words.split():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.Signals[f"SIG{word}"])


def _is_listening_to_signals(pid: int) -> bool:
    """Whether it has made up its mind about the last of them."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (signal.SIGUSR2 - 1) & 1)


async def _ended_in_order(house: House, pid: int) -> None:
    assert await house.end(pid) == 0
    assert not (house.folder / "api.sock").exists()


async def _sent_once(house: House, relay: ScriptedRelay, job: str) -> None:
    """By this daemon or by the next one."""
    if not house.alive:
        await house.start()
    assert await house.settled(job) == {WHO: "sent"}
    assert relay.copies(WHO) == 1
    assert "delivery.uncertain" not in house.log


def _cases(moments: Sequence[str]) -> list[tuple[str, str]]:
    """Each moment with an end of its own and with one by chance, so that every end is played with several."""
    ends = list(ENDS.values())
    listed = [(moment, ends[number % len(ends)]) for number, moment in enumerate(moments)]
    return [*listed, *((moment, _drawn(number)) for number, moment in enumerate(moments[::2]))]


@pytest.mark.parametrize(("stage", "words"), _cases(STAGES))
async def test_with_a_mail_at_any_stage_it_ends_in_order_and_the_mail_goes_once(
    stage: str, words: str, tmp_path: Path, nursery: Nursery
) -> None:
    hold = Hold()
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        relay.on(stage, hold, Default(), times=1)
        pid = await house.start()
        job = (await house.post(to=[WHO]))["id"]
        await relay.until(lambda: hold.is_reached)
        _send(pid, " ".join(LIVES_ON))
        assert (await house.ask("GET", "/readyz"))[0] == 200
        _send(pid, words)
        hold.release()
        await _ended_in_order(house, pid)
        await _sent_once(house, relay, job)


@pytest.mark.parametrize("words", [*LIVES_ON, *ENDS.values()])
async def test_with_nothing_to_do_it_goes_on_or_ends(
    words: str, tmp_path: Path, nursery: Nursery
) -> None:
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        pid = await house.start()
        _send(pid, words)
        if words in LIVES_ON:
            job = (await house.post(to=[WHO]))["id"]
            await _sent_once(house, relay, job)
            _send(pid, "TERM")
        await _ended_in_order(house, pid)


@pytest.mark.parametrize("words", [" ".join(LIVES_ON), *list(ENDS.values())[::2], _drawn(99)])
async def test_while_it_starts_the_last_word_counts(
    words: str, tmp_path: Path, nursery: Nursery
) -> None:
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        first = await house.start()
        job = (await house.post(to=[WHO], send_at="2099-01-01T00:00:00Z"))["id"]
        await house.kill(first)  # so that the next one has something to look after at its start
        pid = await house.start(is_awaited=False)
        await house.until(lambda: _is_listening_to_signals(pid))
        _send(pid, words)
        if any(word in STOPS for word in words.split()):
            await _ended_in_order(house, pid)
            await house.start()
        await house.until(house._is_ready)
        assert await house.states(job) == {WHO: "pending"}


@pytest.mark.parametrize("words", [*LIVES_ON[::2], *list(ENDS.values())[1::2], _drawn(7)])
async def test_while_it_drains_it_is_asked_once_and_waits_for_what_is_under_way(
    words: str, tmp_path: Path, nursery: Nursery
) -> None:
    hold = Hold()
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        relay.on("dot", hold, Default(), times=1)
        pid = await house.start()
        job = (await house.post(to=[WHO]))["id"]
        await relay.until(lambda: relay.copies(WHO) == 1)
        _send(pid, "TERM")
        await house.until(lambda: "daemon.draining" in house.log)
        _send(pid, words)
        assert await house.end(pid, 0.05) is None
        hold.release()
        await _ended_in_order(house, pid)
        await _sent_once(house, relay, job)


def test_until_its_very_end_no_signal_makes_another_end_of_it() -> None:
    with real_daemon() as daemon:
        process = daemon.process
        assert process is not None
        process.terminate()
        for word in itertools.cycle((*STOPS, "HUP", "USR1", "USR2")):
            _send(process.pid, word)
            select.select([], [], [], 0.001)  # its last moment is some tenths of a second long
            if process.poll() is not None:
                break
        assert process.returncode == 0
        assert not (daemon.folder / "api.sock").exists()
