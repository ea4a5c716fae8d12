"""What a crash leaves, and what becomes of it at the next start."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.record import DeliveryRecord
from postroom.ports.looping import Recovered
from postroom.store.sqlite.opening import HostIdentity, OpeningRules
from postroom.store.sqlite.outbox import Outbox
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.store_host import HERE, NOON, outbox_in
from support.store_jobs import new_job, outcome_of, start_of


S = DeliveryState
ROOT = Path(__file__).resolve().parent.parent.parent
REBOOTED = replace(HERE, host=HostIdentity("machine-1", "boot-2"))


class Killed(Exception):
    """Ends a block as no clean stop does."""


async def crash_with(
    tmp_path: Path, rules: OpeningRules = HERE, *, starts: int = 0, marks: int = 0
) -> Recovered:
    """Open, start what waits, mark some of it, and stop in the middle of that; what the opening found."""
    found: list[Recovered] = []
    with suppress(Killed):
        async with outbox_in(tmp_path, rules=rules) as outbox:
            found.append(outbox.opened.recovered)
            for number in range(1, starts + 1):
                started = await outbox.loop.start(start_of(number))
                if started is not None and number <= marks:
                    await outbox.loop.mark(number, started.claim, NOON)
            raise Killed
    return found[0]


async def accept(tmp_path: Path, count: int = 1) -> None:
    async with outbox_in(tmp_path) as outbox:
        for _ in range(count):
            await outbox.intake.accept(new_job(outbox.intake))


async def seen(outbox: Outbox, number: int) -> DeliveryRecord:
    found = await outbox.reader.find_delivery(number)
    assert found is not None
    return found


async def test_before_the_mark_it_waits_again_and_after_it_is_in_doubt(tmp_path: Path) -> None:
    await accept(tmp_path, 3)
    await crash_with(tmp_path, starts=2, marks=1)
    async with outbox_in(tmp_path) as outbox:
        assert outbox.opened.recovered == Recovered(1, 1, 0, is_reboot=False, was_clean_stop=False)
        marked, started, waiting = [await seen(outbox, number) for number in (1, 2, 3)]
        assert (marked.state, marked.marked_at) == (S.UNCERTAIN, NOON)
        assert marked.reason_code is ReasonCode.CRASH_AFTER_MARK
        assert (marked.history[-1].by, marked.history[-1].attempt) == ("recovery", 1)
        assert (marked.attempts, marked.series_attempts) == (1, 1)
        assert (started.state, started.crashes, started.attempts) == (S.PENDING, 1, 0)
        assert started.reason_code is ReasonCode.CRASH_BEFORE_MARK
        assert (waiting.state, waiting.crashes) == (S.PENDING, 0)
        (event,) = await outbox.reader.find_events(0, 10)
        assert event.type == "delivery.uncertain"
        job = await outbox.reader.find_job(1)
        assert job is not None
        rows = await outbox.loop.find_waiting(
            "support", Lane.STANDARD, domain=None, skip=frozenset(), after=None, limit=9
        )
        assert [(row.number, row.is_suspect) for row in rows] == [(2, False), (3, False)]


async def test_two_crashes_make_a_suspect_and_the_third_ends_it(tmp_path: Path) -> None:
    await accept(tmp_path, 2)
    for _ in range(2):
        await crash_with(tmp_path, starts=1)
    async with outbox_in(tmp_path) as outbox:
        rows = await outbox.loop.find_waiting(
            "support", Lane.STANDARD, domain=None, skip=frozenset(), after=None, limit=9
        )
        assert [row.is_suspect for row in rows] == [True, False]
    await crash_with(tmp_path, starts=1)
    async with outbox_in(tmp_path) as outbox:
        assert outbox.opened.recovered.poison == 1
        now = await seen(outbox, 1)
        assert (now.state, now.reason_code, now.crashes) == (S.FAILED, ReasonCode.POISON, 3)
        events = await outbox.reader.find_events(0, 10)
        assert [event.type for event in events] == ["delivery.failed"]
        assert (await seen(outbox, 2)).crashes == 0


async def test_an_outcome_or_a_mark_in_between_makes_it_no_suspect(tmp_path: Path) -> None:
    await accept(tmp_path)
    await crash_with(tmp_path, starts=1)
    async with outbox_in(tmp_path) as outbox:
        await outbox.loop.start(start_of(1))
        await outbox.loop.finish(outcome_of(1, 2, S.RETRY_SCHEDULED, due_at=NOON))
        assert (await seen(outbox, 1)).crashes == 0


async def test_a_reboot_counts_no_crash(tmp_path: Path) -> None:
    await accept(tmp_path)
    await crash_with(tmp_path, starts=1)
    found = await crash_with(tmp_path, REBOOTED, starts=1)
    assert (found.to_pending, found.is_reboot) == (1, True)
    async with outbox_in(tmp_path, rules=REBOOTED) as outbox:
        assert (await seen(outbox, 1)).crashes == 1


async def test_a_clean_stop_counts_no_crash_and_is_known_as_one(tmp_path: Path) -> None:
    await accept(tmp_path)
    async with outbox_in(tmp_path) as outbox:
        await outbox.loop.start(start_of(1))
    async with outbox_in(tmp_path) as outbox:
        assert outbox.opened.recovered == Recovered(1, 0, 0, is_reboot=False, was_clean_stop=True)
        assert (await seen(outbox, 1)).crashes == 0


async def test_a_poisoned_copy_that_was_resent_is_in_doubt_and_not_failed(tmp_path: Path) -> None:
    def doubt(conn):  # type: ignore[no-untyped-def]
        conn.execute("UPDATE delivery SET doubts = 1, crashes = 2")
        return UnitResult(None)

    await accept(tmp_path)
    async with outbox_in(tmp_path) as outbox:
        await outbox.database.write(doubt, lane=WriteLane.REST)
    await crash_with(tmp_path, starts=1)
    async with outbox_in(tmp_path) as outbox:
        now = await seen(outbox, 1)
        assert (now.state, now.reason_code) == (S.UNCERTAIN, ReasonCode.POISON)


@pytest.mark.parametrize("words", [1, 60, 400])
async def test_what_was_told_before_a_kill_is_there_after_it(tmp_path: Path, words: int) -> None:
    told = run_and_kill(tmp_path, words)
    async with outbox_in(tmp_path) as outbox:
        for number, word in told.items():
            now = await seen(outbox, number)
            assert now.crashes <= 1
            match word:
                case "accepted" | "started":
                    assert now.state in {S.PENDING, S.UNCERTAIN, S.SENT}
                case "marked":
                    assert now.state in {S.UNCERTAIN, S.SENT}
                case "sent":
                    assert now.state is S.SENT
        counts = await outbox.reader.count_by_state()
        assert S.SENDING not in {state for _, _, state in counts}


def run_and_kill(directory: Path, words: int) -> dict[int, str]:
    """Kill the child after so many words; the last one that it said about each delivery."""
    told: dict[int, str] = {}
    child = subprocess.Popen(
        [sys.executable, "-m", "support.store_child", str(directory)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'daemon'}:{ROOT / 'tests'}"},
    )
    try:
        assert child.stdout is not None
        for _ in range(words):
            word, number = child.stdout.readline().split()
            told[int(number)] = word
    finally:
        child.kill()
        rest, _ = child.communicate(timeout=10)
    for line in rest.splitlines():
        if line.count(" ") == 1 and line.rpartition(" ")[2].isdigit():
            word, number = line.split()
            told[int(number)] = word
    return told
