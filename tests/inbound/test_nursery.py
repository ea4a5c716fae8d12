"""The parser process: real ones, killed, starved, slow; the daemon gets its answer in every case."""

import asyncio
import os
import resource
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postroom.core.inmail import AutomationKind, Parse, Person
from postroom.inbound.nursery import Nursery
from support.bombs import BOMBS, NEIGHBOURS
from support.mails import ALICE, mail, read


MAIL = mail(f"From: Alice <{ALICE}>\nMessage-ID: <1@x.example>\nSubject: s\n\nwords\n")


@pytest.fixture
async def nursery() -> AsyncIterator[Nursery]:
    made = Nursery(size=1)
    yield made
    await made.close()


def pid(nursery: Nursery) -> int:
    return nursery._idle[0].pid


def told(pid: int, what: str) -> bytes:
    """What the kernel says of a process; nothing once it is gone."""
    path = Path(f"/proc/{pid}/{what}")
    return path.read_bytes() if path.exists() else b""


async def test_a_message_comes_back_as_it_is_read_here(nursery: Nursery, tmp_path: Path) -> None:
    assert await nursery.parse(MAIL, ALICE, tmp_path) == read(MAIL)


async def test_a_large_message_is_handed_over_by_its_path(nursery: Nursery, tmp_path: Path) -> None:
    path = tmp_path / "raw"
    path.write_bytes(MAIL)
    assert await nursery.parse(path, ALICE, tmp_path) == read(MAIL)


async def test_files_lie_in_the_directory(nursery: Nursery, tmp_path: Path) -> None:
    raw = mail("Content-Type: application/pdf; name=a.pdf\n\nabc")
    parsed = await nursery.parse(raw, "", tmp_path)
    (one,) = parsed.attachments
    assert (tmp_path / one.sha256).read_bytes() == b"abc"


async def test_no_process_lives_before_the_first_message(nursery: Nursery) -> None:
    assert nursery._idle == []


async def test_one_process_serves_many_messages(nursery: Nursery, tmp_path: Path) -> None:
    await nursery.parse(MAIL, ALICE, tmp_path)
    first = pid(nursery)
    for _ in range(3):
        await nursery.parse(MAIL, ALICE, tmp_path)
    assert pid(nursery) == first


async def test_that_no_process_can_be_started_now_is_no_fault_of_the_message(
    nursery: Nursery, tmp_path: Path
) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            await nursery.parse(MAIL, ALICE, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (await nursery.parse(MAIL, ALICE, tmp_path)).parse is Parse.COMPLETE


async def test_a_process_that_died_meanwhile_costs_no_message(
    nursery: Nursery, tmp_path: Path
) -> None:
    await nursery.parse(MAIL, ALICE, tmp_path)
    process = nursery._idle[0]
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    assert (await nursery.parse(MAIL, ALICE, tmp_path)).parse is Parse.COMPLETE


async def test_a_crash_in_a_used_process_costs_no_message(nursery: Nursery, tmp_path: Path) -> None:
    await nursery.parse(MAIL, ALICE, tmp_path)
    os.kill(pid(nursery), signal.SIGSTOP)
    asyncio.get_running_loop().call_later(0.05, os.kill, pid(nursery), signal.SIGKILL)
    assert await nursery.parse(MAIL, ALICE, tmp_path) == read(MAIL)


async def test_what_one_mail_left_behind_costs_no_other(nursery: Nursery, tmp_path: Path) -> None:
    await nursery.parse(MAIL, ALICE, tmp_path)
    starved = pid(nursery)
    resource.prlimit(starved, resource.RLIMIT_AS, (1 << 20, 1 << 30))
    big = MAIL + b"more words\r\n" * 1_000_000
    assert (await nursery.parse(big, ALICE, tmp_path)).parse is Parse.COMPLETE
    assert not told(starved, "status")


async def test_a_crash_leaves_a_message_with_its_header(nursery: Nursery, tmp_path: Path) -> None:
    async with asyncio.TaskGroup() as group:
        parsing = group.create_task(nursery.parse(MAIL, ALICE, tmp_path))
        while not (children := _children()):
            await asyncio.wait([parsing], timeout=0.001)
        os.kill(*children, signal.SIGKILL)
    parsed = parsing.result()
    assert parsed.parse is Parse.FAILED
    assert parsed.sender == Person("Alice", ALICE)
    assert (parsed.message_id, parsed.subject, parsed.text) == ("<1@x.example>", "s", "")
    assert "not_read" in parsed.defects
    assert parsed.automation is AutomationKind.HUMAN
    assert parsed.dedupe == read(MAIL).dedupe
    assert (await nursery.parse(MAIL, ALICE, tmp_path)).parse is Parse.COMPLETE


def _children() -> list[int]:
    """The parser processes of this one."""
    tasks = Path("/proc/self/task").iterdir()
    pids = [int(one) for task in tasks for one in (task / "children").read_text().split()]
    return [one for one in pids if b"postroom.inbound.worker" in told(one, "cmdline")]


async def test_a_process_that_hangs_is_ended_in_time(tmp_path: Path) -> None:
    nursery = Nursery(size=1, wall_s=0.3)
    await nursery.parse(MAIL, ALICE, tmp_path)
    stopped = pid(nursery)
    os.kill(stopped, signal.SIGSTOP)
    path = tmp_path / "raw"
    path.write_bytes(MAIL)
    began = time.perf_counter()
    parsed = await nursery.parse(path, ALICE, tmp_path)
    assert time.perf_counter() - began < 3
    assert parsed.parse is Parse.LIMITED
    assert parsed.dedupe == read(MAIL).dedupe
    assert not told(stopped, "status")
    await nursery.close()


async def test_a_file_that_cannot_be_written_is_trouble_of_ours(
    nursery: Nursery, tmp_path: Path
) -> None:
    raw = mail("Content-Type: application/pdf; name=a.pdf\n\nabc")
    with pytest.raises(FileNotFoundError):
        await nursery.parse(raw, "", tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        await nursery.parse(tmp_path / "none", "", tmp_path)


async def test_giving_up_ends_the_process(nursery: Nursery, tmp_path: Path) -> None:
    await nursery.parse(MAIL, ALICE, tmp_path)
    stopped = pid(nursery)
    os.kill(stopped, signal.SIGSTOP)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await nursery.parse(MAIL, ALICE, tmp_path)
    assert not told(stopped, "status")
    assert (await nursery.parse(MAIL, ALICE, tmp_path)).parse is Parse.COMPLETE


async def test_closing_leaves_no_process(tmp_path: Path) -> None:
    nursery = Nursery()
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(nursery.parse(MAIL, ALICE, tmp_path))
    pids = [process.pid for process in nursery._idle]
    assert len(pids) == 2
    await nursery.close()
    assert not any(told(one, "status") for one in pids)


async def test_the_process_knows_no_secret(
    nursery: Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", "/secret")
    await nursery.parse(MAIL, ALICE, tmp_path)
    environment = told(pid(nursery), "environ")
    assert b"secret" not in environment
    assert {one.partition(b"=")[0] for one in environment.split(b"\0")} <= {
        b"PYTHONPATH", b"PYTHONDONTWRITEBYTECODE", b"LC_CTYPE", b"",
    }  # fmt: skip


@pytest.mark.parametrize("what", ["address space", "cpu time", "core file size", "file size"])
async def test_the_kernel_limits_the_process(nursery: Nursery, tmp_path: Path, what: str) -> None:
    await nursery.parse(MAIL, ALICE, tmp_path)
    limits = told(pid(nursery), "limits").decode().lower().splitlines()
    (line,) = [one for one in limits if one.startswith(f"max {what}")]
    assert line.removeprefix(f"max {what}").split()[0].isdigit()


HEAVY = (
    "twenty-four MiB of base64", "nested links", "empty parts", "encoded words", "quotes in To", "short fields",
    "semicolons", "made-up charsets", "padding in base64", "attributes", "link runs", "a million lines",
)  # fmt: skip


async def test_the_loop_runs_on_while_bombs_are_read(nursery: Nursery, tmp_path: Path) -> None:
    await nursery.parse(MAIL, ALICE, tmp_path)
    for name in HEAVY:
        path = tmp_path / name
        path.write_bytes((BOMBS | NEIGHBOURS)[name]())
        async with asyncio.TaskGroup() as group:
            parsing = group.create_task(nursery.parse(path, ALICE, tmp_path))
            worst = 0.0
            while not parsing.done():
                # What this process computed between two turns held the loop, whatever else the machine did.
                began = time.process_time()
                await asyncio.wait([parsing], timeout=0.002)
                worst = max(worst, time.process_time() - began)
        assert parsing.result().message_id == "<bomb@evil.example>"
        assert worst < 0.05, name


@pytest.mark.parametrize("name", ["quotes in To", "short fields", "encoded words", "semicolons"])
async def test_a_header_that_is_a_bomb_is_still_described(name: str, tmp_path: Path) -> None:
    nursery = Nursery(size=1, wall_s=0.0)
    parsed = await nursery.parse(BOMBS[name](), ALICE, tmp_path)
    assert parsed.parse is Parse.LIMITED
    assert parsed.message_id == "<bomb@evil.example>"
    await nursery.close()
