"""SIGKILL before and after every commit of a mail's way in: what was answered 250 becomes one event, and is answered once."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from postroom.selftest.nursery import Nursery
from support.bombs import big_attachment
from support.clock import breathe
from support.house import House, house_in
from support.inward import ALICE, answer_to, came_in, free_port, listening_at, mail_to, reply_to
from support.relay import ScriptedRelay
from support.relay_script import Transaction


NOT_OURS = (aiohttp.ClientError, OSError)


@asynccontextmanager
async def office(
    folder: Path, nursery: Nursery
) -> AsyncIterator[tuple[ScriptedRelay, House, int, Transaction]]:
    """A house whose daemon has sent Alice a mail and was stopped then."""
    port = free_port()
    async with (
        ScriptedRelay() as relay,
        house_in(folder, relay.port, nursery, more=listening_at(port)) as house,
    ):
        pid = await house.start()
        job = await house.post(to=[ALICE], conversation_id="c")
        await house.settled(job["id"])
        assert await house.stop(pid) == 0
        yield relay, house, port, relay.transactions[0]


async def hand_in(port: int, content: bytes, to: str) -> str:
    """What was answered; '' where the daemon died before it said anything."""
    try:
        return await mail_to(port, content, to)
    except OSError:
        return ""


async def lease(house: House, **fields: Any) -> list[dict[str, Any]]:
    status, told = await house.ask("POST", "/leases", {"consumer": "agents", **fields})
    assert status == 200, told
    return list(told["leases"])


async def assert_pending_once(house: House) -> dict[str, Any]:
    """One event, which one lease shows."""
    (event,) = await came_in(house)
    assert event["type"] == "reply.received"
    assert event["thread"]["matched_by"] == "reply_token"
    (held,) = await lease(house, wait_s=5)
    assert [one["id"] for one in held["events"]] == [event["id"]]
    return held


BODIES: dict[str, Callable[[bytes], bytes]] = {
    "small": lambda answer: answer,
    "in the spool": lambda answer: answer + b"many words\r\n" * 20_000,
}


@pytest.mark.parametrize(
    ("point", "side", "kind"),
    [
        ("receive", "before", "in the spool"),
        ("receive", "after", "small"),
        ("publish", "before", "in the spool"),
        ("publish", "after", "small"),
        ("close", "before", "small"),
        ("close", "after", "in the spool"),
    ],
)
async def test_a_mail_becomes_one_event_wherever_the_daemon_is_killed(
    point: str, side: str, kind: str, tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (_, house, port, sent):
        pid = await house.start(kill=[point, side])
        content = BODIES[kind](answer_to(sent, "Yes."))
        told = await hand_in(port, content, reply_to(sent))
        # intake may be quicker than the reply to the dot: whoever missed it comes again
        assert not told or (point != "receive" and told.startswith("250"))
        assert await house.end(pid) == -signal.SIGKILL

        await house.start()
        if not told:
            assert (await mail_to(port, content, reply_to(sent))).startswith("250")
        await assert_pending_once(house)
        assert (await mail_to(port, content, reply_to(sent))).startswith("250")
        other = answer_to(sent, "And another.")
        assert (await mail_to(port, other, reply_to(sent))).startswith("250")
        await came_in(house, 2)
        assert len(await came_in(house)) == 2


async def test_a_mail_that_was_never_sent_again_is_there_after_a_kill_behind_its_commit(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (_, house, port, sent):
        pid = await house.start(kill=["receive", "after"])
        assert await hand_in(port, answer_to(sent, "Yes."), reply_to(sent)) == ""
        assert await house.end(pid) == -signal.SIGKILL
        await house.start()
        await assert_pending_once(house)


async def test_every_mail_that_was_answered_250_is_one_event_though_the_daemon_is_killed_again_and_again(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (_, house, port, sent):
        is_over = asyncio.Event()
        answered: list[str] = []

        async with asyncio.TaskGroup() as group:
            for who in range(3):
                group.create_task(_write(port, sent, who, answered, is_over))
            for points in (None, ["publish", "before"], ["receive", "after"], ["close", "before"]):
                pid = await house.start(kill=points, is_awaited=False)
                if points is None:
                    await house.until(lambda: len(answered) > 6)
                    await house.kill(pid)
                else:
                    assert await house.end(pid, 20) == -signal.SIGKILL
            await house.start()
            is_over.set()
        found = await came_in(house, len(answered), 20)
        texts = [one["message"]["new_text"].strip() for one in found]
        assert not set(answered) - set(texts)
        # beyond the answered ones, only a last one that each writer saw no answer to
        assert len(set(texts) - set(answered)) <= 3
        for who in range(3):
            own = [text for text in texts if text.startswith(f"Writer {who} ")]
            assert own == [f"Writer {who} letter {number}." for number in range(len(own))]


async def _write(
    port: int, sent: Transaction, who: int, answered: list[str], is_over: asyncio.Event
) -> None:
    """One letter after the other, each again until it is taken."""
    number = 0
    while not is_over.is_set():
        text = f"Writer {who} letter {number}."
        if (await hand_in(port, answer_to(sent, text), reply_to(sent))).startswith("250"):
            answered.append(text)
            number += 1
        for _ in range(10):
            await breathe()


async def test_a_parser_that_was_at_work_ends_with_its_daemon(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (_, house, port, sent):
        pid = await house.start()
        content = big_attachment()
        assert (await mail_to(port, content, reply_to(sent))).startswith("250")
        await house.until(lambda: bool(_children(pid)))
        parsers = _children(pid)
        await house.kill(pid)
        await house.until(lambda: not any(_lives(one) for one in parsers))
        await house.start()
        (event,) = await came_in(house)
        assert [one["filename"] for one in event["message"]["attachments"]] == ["a.zip"]


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("side", ["before", "after"])
async def test_the_same_attempt_gets_its_lease_wherever_the_daemon_is_killed(
    side: str, tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (_, house, port, sent):
        pid = await house.start(kill=["lease", side])
        assert (await mail_to(port, answer_to(sent, "Yes."), reply_to(sent))).startswith("250")
        (event,) = await came_in(house)
        with pytest.raises(NOT_OURS):
            await lease(house, attempt_id="a1")
        assert await house.end(pid) == -signal.SIGKILL

        await house.start()
        (held,) = await lease(house, attempt_id="a1")
        assert [one["id"] for one in held["events"]] == [event["id"]]
        assert held["receive_count"] == 1
        assert await lease(house, attempt_id="a2") == []
        (again,) = await lease(house, attempt_id="a1")
        assert (again["id"], again["fence"]) == (held["id"], held["fence"])


@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_completion_is_done_once_wherever_the_daemon_is_killed(
    side: str, tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (relay, house, port, sent):
        pid = await house.start(kill=["complete", side])
        assert (await mail_to(port, answer_to(sent, "Yes."), reply_to(sent))).startswith("250")
        (event,) = await came_in(house)
        (held,) = await lease(house)
        asked = {
            "fence": held["fence"],
            "replies": [{"text": "Glad to hear it.", "in_reply_to_event": event["id"]}],
        }
        path = f"/leases/{held['id']}/complete"
        with pytest.raises(NOT_OURS):
            await house.ask("POST", path, asked)
        assert await house.end(pid) == -signal.SIGKILL

        await house.start()
        for _ in range(2):
            status, told = await house.ask("POST", path, asked)
            assert status in (200, 202), told
        await relay.until(lambda: relay.copies(ALICE) == 2)
        assert await lease(house, wait_s=1) == []
        _, jobs = await house.ask("GET", f"/jobs?thread_id={event['thread']['id']}")
        assert len(jobs["items"]) == 2
        assert relay.copies(ALICE) == 2


@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_release_is_repeated_after_a_kill_and_burns_one_try(
    side: str, tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (_, house, port, sent):
        pid = await house.start(kill=["release", side])
        assert (await mail_to(port, answer_to(sent, "Yes."), reply_to(sent))).startswith("250")
        await came_in(house)
        (held,) = await lease(house)
        path, asked = f"/leases/{held['id']}/release", {"fence": held["fence"], "failed": True}
        with pytest.raises(NOT_OURS):
            await house.ask("POST", path, asked)
        assert await house.end(pid) == -signal.SIGKILL

        await house.start()
        status, told = await house.ask("POST", path, asked)
        assert status == 200, told
        (again,) = await lease(house)
        assert (again["receive_count"], again["fence"]) == (2, held["fence"] + 1)


async def test_a_fence_that_ended_before_a_kill_stays_refused_after_it(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with office(tmp_path, nursery) as (relay, house, port, sent):
        pid = await house.start()
        assert (await mail_to(port, answer_to(sent, "Yes."), reply_to(sent))).startswith("250")
        (event,) = await came_in(house)
        (old,) = await lease(house, lease_s=1)
        await house.kill(pid)
        await house.start()
        (new,) = await lease(house, wait_s=5)
        assert new["fence"] > old["fence"]
        reply = {"text": "Twice?", "in_reply_to_event": event["id"]}
        asked = {"fence": old["fence"], "replies": [reply]}
        for one in (old, new):
            status, told = await house.ask("POST", f"/leases/{one['id']}/complete", asked)
            assert (status, told["code"]) == (409, "lease_lost")
        assert relay.copies(ALICE) == 1
