"""An error of SQLite at the n-th statement, for every n of the life of a mail out and of a mail in (HAZARDS §1.5, Q13, Q14).

One store and one relay for each kind of error. The n-th round is a whole life in which the n-th statement of the
writing connection fails once; the rounds end with the first in which nothing failed, so every statement had its turn.
"""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from postroom.config.settings import Settings
from postroom.core.instant import SECOND
from postroom.ports.errors import StoreBroken, StoreError
from postroom.ports.submitting import Repeated, Submitted
from support.clock import breathe
from support.inward import LISTENER, TEMPLATES, free_port, mail, mail_to
from support.post import Post, open_post, setting, settings
from support.relay import ScriptedRelay
from support.relay_script import Hold, Reply
from support.store_host import FAULTS, FailingDisk, outbox_at


MOST = 300  # rounds: a life that grew this long would take the suite minutes
WRITES = 5  # that fail while the disk is full
STEP_S = 0.2  # while a real relay speaks, so that no time-out of a dialogue passes meanwhile
SUPPORT = "support@example.com"

UNKNOWN = ("COMMIT",)  # an error behind which nobody can tell what was stored
JOB = "SELECT number FROM job WHERE idempotency_key = ?"
STATE = "SELECT state, due_at FROM delivery WHERE job = ?"
STORED = "SELECT count(*) FROM received WHERE size_bytes > 0"
OPEN = "SELECT count(*) FROM received WHERE published_at IS NULL"
EVENTS = "SELECT count(*) FROM event WHERE type = 'message.received' AND data LIKE ?"


class Broke(Exception):
    """The store broke, as it has to when it is not known what a commit stored; the real daemon ends with 74."""


def rows(post: Post, sql: str, *given: object) -> list[tuple[Any, ...]]:
    """What another process finds in the file."""
    with closing(sqlite3.connect(post.settings.daemon.state_dir / "postroom.db")) as conn:
        return conn.execute(sql, given).fetchall()


@asynccontextmanager
async def life(said: Settings, disk: FailingDisk | None = None) -> AsyncIterator[Post]:
    """Raises: Broke."""
    store = setting() if disk is None else setting(factory=disk.faults.factory())
    try:
        async with open_post(said, store=store) as post:
            yield post
    except* StoreBroken as broken:
        raise Broke from broken


async def play_rounds(
    said: Settings, disk: FailingDisk, play: Callable[[Post, int], Awaitable[None]]
) -> dict[int, str]:
    """Play a life for every n: the statement that failed in each of them; a store that broke is opened anew."""
    fired: dict[int, str] = {}
    n = 0
    while n < MOST:
        try:
            async with life(said, disk) as post:
                while n < MOST:
                    n += 1
                    disk.arm(n)
                    await play(post, n)
                    await rest(post)
                    if disk.fired is None:
                        disk.arm(0)
                        return fired
                    fired[n] = disk.fired
        except* Broke:
            assert disk.fired is not None
            fired[n] = disk.fired
            disk.arm(0)
    pytest.fail("there is no end of statements")


async def until(post: Post, is_so: Callable[[], bool], step: Callable[[], float]) -> None:
    """Let time pass in steps until it is so. Raises: StoreBroken when it never will be."""
    async with asyncio.timeout(20):
        while not is_so():
            if post.outbox.database._writer.is_broken:
                raise StoreBroken
            post.clock.advance(step())
            await breathe()


async def rest(post: Post) -> None:
    """Return when the last commit was answered. Raises: StoreBroken when it broke the store."""
    writer = post.outbox.database._writer
    await until(post, lambda: writer.is_idle, lambda: 0)
    if writer.is_broken:
        raise StoreBroken


def who(n: int) -> str:
    return f"a{n}@d{n % 7}.example"


async def hand_in(post: Post, n: int, tries: int = 2) -> int:
    """A job that is handed in until it is taken; whatever is answered, the file knows the same."""
    for _ in range(tries):
        try:
            made = await post.hand_in(to=[who(n)], idempotency_key=f"k{n}")
        except StoreBroken:
            raise
        except StoreError:
            assert rows(post, JOB, f"k{n}") == []
            continue
        assert isinstance(made, Submitted | Repeated)
        assert rows(post, JOB, f"k{n}") == [(made.number,)]
        return made.number
    pytest.fail("it is refused for ever")


async def settled(post: Post, number: int) -> str:
    """How a delivery ended."""

    def state() -> tuple[str, int | None]:
        ((found, due_at),) = rows(post, STATE, number)
        return found, due_at

    def step() -> float:
        found, due_at = state()
        waits = found in ("pending", "retry_scheduled") and due_at is not None
        return max(STEP_S, (due_at - post.clock.now()) / SECOND if waits else 0)

    await until(post, lambda: state()[0] in ("sent", "uncertain", "failed", "held"), step)
    return state()[0]


@pytest.mark.parametrize("kind", FAULTS)
async def test_what_was_accepted_goes_out_once_whichever_statement_fails(
    kind: str, tmp_path: Path
) -> None:
    disk, ended = FailingDisk(kind), dict[int, str]()
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port)

        async def play(post: Post, n: int) -> None:
            relay.on("rcpt", Reply("451 4.3.0 later"), recipient=who(n), times=1)
            ended[n] = await settled(post, await hand_in(post, n))

        fired = await play_rounds(said, disk, play)
        async with life(said) as post:
            for n in fired.keys() - ended.keys():
                state = await settled(post, await hand_in(post, n))
                assert state == "sent" or fired[n] in UNKNOWN, (n, fired[n], state)
                assert relay.copies(who(n)) == 1 or state == "uncertain", (n, fired[n])
            await post.quiet()
        assert set(ended.values()) == {"sent"}
        assert [n for n in ended if relay.copies(who(n)) != 1] == []
        assert all(relay.copies(who(n)) <= 1 for n in fired)
        assert len(fired) > 20
        assert (fired.keys() == ended.keys() - {max(ended)}) is not kind.startswith("I/O")


async def test_a_disk_that_fills_up_at_any_write_and_stays_full_loses_and_doubles_nothing(
    tmp_path: Path,
) -> None:
    """Nothing is started again: it goes on by itself as soon as there is room."""
    disk = FailingDisk("full", WRITES)
    async with ScriptedRelay() as relay:

        async def play(post: Post, n: int) -> None:
            relay.on("rcpt", Reply("451 4.3.0 later"), recipient=who(n), times=1)
            assert await settled(post, await hand_in(post, n, tries=WRITES + 1)) == "sent"
            assert relay.copies(who(n)) == 1

        fired = await play_rounds(settings(tmp_path, relay.port), disk, play)
    assert len(fired) > 20


@pytest.mark.parametrize("kind", FAULTS)
async def test_what_was_answered_250_becomes_one_event_whichever_statement_fails(
    kind: str, tmp_path: Path
) -> None:
    disk, told, port = FailingDisk(kind), dict[int, str](), free_port()
    said = settings(tmp_path, 1, mailbox=TEMPLATES, more=LISTENER.format(port=port))

    async def play(post: Post, n: int) -> None:
        content = mail("Hello.", Subject=f"mail {n}.", From="alice@customer.example", To=SUPPORT)
        before = rows(post, STORED)
        for _ in range(2):
            told[n] = await mail_to(port, content, SUPPORT)
            if told[n].startswith("250"):
                break
            assert told[n].startswith(("451", "452")), told[n]
            await rest(post)
            assert rows(post, STORED) == before
        await until(post, lambda: rows(post, OPEN) == [(0,)], lambda: 1.0)

    fired = await play_rounds(said, disk, play)
    async with life(said) as post:
        await until(post, lambda: rows(post, OPEN) == [(0,)], lambda: 1.0)
        for n, answer in told.items():
            found = rows(post, EVENTS, f"%mail {n}.%")
            assert found == [(1,)] if answer.startswith("250") else fired[n] in UNKNOWN, (n, found)
    assert len(fired) > 10


@pytest.mark.parametrize("kind", FAULTS)
async def test_a_start_in_which_a_statement_fails_is_no_start_and_the_next_one_finds_everything(
    kind: str, tmp_path: Path
) -> None:
    disk = FailingDisk(kind)
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port)
        hold = Hold()
        relay.on("rcpt", hold, times=1)
        async with life(said) as post:
            job = await post.submit(to=[who(0)])
            await relay.until(lambda: bool(relay.transactions))
            copy = tmp_path / "before"
            shutil.copytree(said.daemon.state_dir, copy)
        for n in range(1, MOST):
            shutil.rmtree(said.daemon.state_dir)
            shutil.copytree(copy, said.daemon.state_dir)
            disk.arm(n)
            with suppress(StoreError):
                async with outbox_at(said.daemon.state_dir, disk):
                    pass
            if disk.fired is None:
                break
            async with outbox_at(said.daemon.state_dir) as outbox:
                found = await outbox.reader.find_job(job)
                assert found is not None
                assert [str(one.state) for one in found.deliveries] == ["pending"], disk.fired
        assert n > 10
