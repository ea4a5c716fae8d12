"""202 comes after the commit, and a job outlives its caller: through the API's socket, with a store that stands still."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp

from support.clock import settle
from support.post import Post, open_post, setting, settings
from support.relay import ScriptedRelay
from support.slow_commit import SlowCommit


LATER = "2030-01-01T00:00:00Z"


def job(n: int, **more: Any) -> dict[str, Any]:
    return {
        "mailbox_id": "support",
        "to": [f"r{n}@one.example"],
        "subject": "s",
        "text": "t",
        "send_at": LATER,
        "idempotency_key": f"key-{n}",
        **more,
    }


async def test_no_202_before_the_commit_returns_and_64_clients_share_three_commits(
    tmp_path: Path,
) -> None:
    slow = SlowCommit()
    store = setting(factory=slow.faults.factory())
    path = tmp_path / "api.sock"
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port), store=store) as post,
        post.serve(path),
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path), limit=0)) as session,
        asyncio.TaskGroup() as group,
    ):

        async def ask(n: int) -> int:
            async with session.post("http://localhost/v1/jobs", json=job(n)) as answer:
                return answer.status

        await post.quiet()
        before = slow.count
        with slow.held():
            first = group.create_task(ask(0))
            await slow.reached()
            asked = [first, *(group.create_task(ask(n)) for n in range(1, 64))]
            await post.until(lambda: post.outbox.database.stats().waiting == 63)
            await settle(100)
            assert not any(one.done() for one in asked)
        assert [await one for one in asked] == [202] * 64
        assert slow.count - before <= 3


async def test_a_client_that_is_gone_before_the_commit_finds_its_job_by_its_key(
    tmp_path: Path,
) -> None:
    slow = SlowCommit()
    store = setting(factory=slow.faults.factory())
    path = tmp_path / "api.sock"
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port), store=store) as post,
        post.serve(path),
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session,
    ):
        await post.quiet()
        with slow.held():
            _, writer = await asyncio.open_unix_connection(str(path))
            body = json.dumps(job(1)).encode()
            writer.write(
                b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
            )
            await slow.reached()
            writer.transport.abort()
            await settle(100)
        async with session.post("http://localhost/v1/jobs", json=job(1)) as answer:
            told = await answer.json()
        assert (answer.status, told["deduplicated"], told["status"]) == (200, True, "accepted")
        assert await _count(post) == 1


async def test_fifty_posts_of_one_key_at_once_make_one_job_and_one_mail(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port)) as post,
        post.serve(path),
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path), limit=0)) as session,
        asyncio.TaskGroup() as group,
    ):

        async def ask() -> tuple[int, str]:
            now = job(1)
            del now["send_at"]
            async with session.post("http://localhost/v1/jobs", json=now) as answer:
                return answer.status, (await answer.json())["id"]

        asked = [group.create_task(ask()) for _ in range(50)]
        told = [await one for one in asked]
        assert sorted(status for status, _ in told) == [200] * 49 + [202]
        assert len({id_ for _, id_ in told}) == 1
        await post.quiet()
        assert relay.copies("r1@one.example") == 1


async def _count(post: Post) -> int:
    return sum((await post.outbox.reader.count_by_state()).values())
