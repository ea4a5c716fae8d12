"""What waits on what, told by the loop that makes it wait: each row is what `GET /v1/waiting` says of a real queue."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from postroom.client import Client
from postroom.core.instant import format_instant, later
from postroom.ports.desk import Actor
from postroom.service.doubted import CLOCK_GATE
from support.inward import ALICE
from support.post import UID, Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Default, Hold, Reply


Told = dict[str, Any]
_FIGURES = ("value", "threshold", "until_at")
BOB = "bob@customer.example"


async def told(post: Post, folder: Path, **asked: str) -> Told:
    """The answer of the API to this question; what it says of a queue is what explain says of the first in it."""
    path = folder / "api.sock"
    client = Client(str(path))
    async with post.serve(path):
        found = await asyncio.to_thread(client.waiting, **asked)
        for queue in (queue for lane in found["items"] for queue in lane["queues"]):
            if queue["first_id"] is not None:
                explained = await asyncio.to_thread(client.explain, queue["first_id"])
                assert _stop_of(explained) == [queue[key] for key in ("blocked_by", *_FIGURES)]
    path.unlink()
    return found


def _stop_of(explained: Told) -> list[Any]:
    """What explain says blocks, with its figures."""
    name = explained["blocked_by"]
    gate = next((one for one in explained["gates"] if one["name"] == name), {})
    return [name, *(gate.get(key) for key in _FIGURES)]


def only_queue(said: Told) -> Told:
    (lane,) = said["items"]
    (queue,) = lane["queues"]
    return {**lane, **queue}


async def _later(post: Post, relay: ScriptedRelay) -> None:
    await post.submit(to=[ALICE], send_at=format_instant(_in(post, 3600)))


async def _paused(post: Post, relay: ScriptedRelay) -> None:
    await post.joined.api.admin.pause("support", "moving", Actor(UID), post.clock.now())
    await post.submit(to=[ALICE])


async def _refused(post: Post, relay: ScriptedRelay) -> None:
    relay.on("rcpt", Reply("451 4.2.1 later"))
    await post.submit(to=[ALICE])


async def _unreachable(post: Post, relay: ScriptedRelay) -> None:
    relay.on("connect", Reply("554 go away"))
    await post.submit(to=[ALICE])
    await post.quiet()
    await post.submit(to=[BOB])


def _in(post: Post, seconds: float) -> Any:
    return later(post.clock.now(), timedelta(seconds=seconds))


SALES = """
[[mailbox]]
id = "sales"
address = "sales@example.com"
relay = "main"
"""
Prepare = Callable[[Post, ScriptedRelay], Awaitable[None]]
ROWS: dict[str, tuple[Prepare, str, str | None, dict[str, int]]] = {
    "its time": (_later, "standard", None, {"pending": 1}),
    "a paused mailbox": (_paused, "standard", "hold", {"pending": 1}),
    "its next try": (_refused, "standard", None, {"retry_scheduled": 1}),
    "a relay in trouble": (
        _unreachable,
        "high",
        "relay_breaker",
        {"retry_scheduled": 1, "pending": 1},
    ),
}


@pytest.mark.parametrize(("prepare", "lane", "gate", "depth"), ROWS.values(), ids=ROWS.keys())
async def test_a_lane_says_what_it_waits_for(
    prepare: Prepare, lane: str, gate: str | None, depth: dict[str, int], tmp_path: Path
) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        await prepare(post, relay)
        await post.quiet()
        found = only_queue(await told(post, tmp_path))
        assert (found["mailbox_id"], found["relay"], found["depth"]) == ("support", "main", depth)
        assert found["blocked_by"] == gate
        is_due = gate is not None
        assert (found["first_id"] is not None, found["next_at"] is None) == (is_due, is_due)


async def test_a_paced_lane_says_until_when_and_how_many_are_read(tmp_path: Path) -> None:
    pace = "pace = { per_minute = 1 }"
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox=pace)) as post,
    ):
        for _ in range(4):
            await post.submit(to=[ALICE], priority="bulk")
        await post.quiet()
        found = only_queue(await told(post, tmp_path, mailbox_id="support", priority="bulk"))
        assert (found["blocked_by"], found["value"], found["threshold"]) == ("mailbox_pace", 1, 1)
        assert (found["read"], found["until_at"]) == (3, format_instant(_in(post, 60)))
        assert found["oldest_due_age_s"] == 0


async def test_a_domain_that_is_left_alone_has_a_queue_of_its_own(tmp_path: Path) -> None:
    box = 'domain_pace = { "customer.example" = { concurrency = 1 } }'
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox=box)) as post,
    ):
        relay.on("rcpt", held := Hold(), Default(), recipient=ALICE)
        await post.submit(to=[ALICE])
        await post.submit(to=[BOB])
        await relay.until(
            lambda: any("RCPT" in one for c in relay.connections for one in c.commands)
        )
        await post.quiet(under_way=1)
        said = await told(post, tmp_path, relay="main")
        assert said["in_flight"] == 1
        (lane,) = said["items"]
        assert lane["depth"] == {"sending": 1, "pending": 1}
        (queue,) = lane["queues"]
        assert (queue["domain"], queue["blocked_by"]) == ("customer.example", "domain_pace")
        held.release()
        await post.quiet()
        assert (await told(post, tmp_path))["items"] == []


async def test_what_is_tried_again_says_why_and_when_first(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        relay.on("rcpt", Reply("452 4.2.2 mailbox full"), recipient=ALICE)
        await post.submit(to=[ALICE])
        await post.submit(to=[ALICE])
        await post.submit(to=[ALICE], priority="bulk")
        await post.quiet()
        said = (await told(post, tmp_path))["retries"]
        assert [(one["priority"], one["deliveries"]) for one in said] == [
            ("standard", 2),
            ("bulk", 1),
        ]
        assert (await told(post, tmp_path, priority="bulk"))["retries"] == said[1:]
        found = said[0]
        assert found == {
            "mailbox_id": "support",
            "priority": "standard",
            "reason_code": "recipient.mailbox_full",
            "deliveries": 2,
            "next_at": format_instant(_in(post, 300)),
        }


async def test_after_a_reload_it_says_what_holds_by_the_new_settings(tmp_path: Path) -> None:
    pace = "pace = { per_minute = 1 }"
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox=pace)) as post,
    ):
        for _ in range(4):
            await post.submit(to=[ALICE], priority="bulk")
        await post.quiet()
        settings(tmp_path, relay.port, mailbox="pace = { per_minute = 2 }")
        await post.reload()
        await post.quiet()
        found = only_queue(await told(post, tmp_path))
        assert (found["blocked_by"], found["value"], found["threshold"]) == ("mailbox_pace", 2, 2)
        assert found["read"] == 2


async def test_of_a_mailbox_that_left_the_settings_it_says_that_it_is_held(tmp_path: Path) -> None:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, more=SALES)) as post,
    ):
        job = await post.submit(to=[ALICE], send_at=format_instant(_in(post, 3600)))
        path = tmp_path / "postroom.toml"
        path.write_text(path.read_text().replace('id = "support"', 'id = "other"'))
        await post.reload()
        await post.quiet()
        said = await told(post, tmp_path)
        (lane,) = said["items"]
        assert (lane["mailbox_id"], lane["relay"], lane["depth"]) == ("support", None, {"held": 1})
        assert lane["queues"] == []
        assert said["holds"] == [
            {"mailbox_id": "support", "hold_reason": "mailbox_removed", "deliveries": 1}
        ]
        assert await told(post, tmp_path, mailbox_id="support") == said
        assert await post.blocked(job) == ["hold"]


async def test_what_only_a_doubted_clock_calls_due_waits_for_the_clock(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        await post.submit(to=[ALICE], send_at=format_instant(_in(post, 86_400)))
        await post.quiet()
        post.clock.jump(30 * 86_400)
        await post.run(60)
        found = only_queue(await told(post, tmp_path))
        assert (found["blocked_by"], found["first_id"]) == (CLOCK_GATE.name, None)
