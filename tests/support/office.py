"""Every part of the daemon but its socket, with a relay to send by and a listener to be written to.

async with office(tmp_path) as (relay, post, port):
    assert (await mail_to(port, mail("Hello"), SUPPORT)).startswith("250")
    (event,) = await events(post, 1)
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.inward import LISTENER, TEMPLATES, free_port
from support.post import ARTICLE, Post, open_post, settings
from support.relay import ScriptedRelay


@asynccontextmanager
async def office(folder: Path) -> AsyncIterator[tuple[ScriptedRelay, Post, int]]:
    """The relay, the daemon, and the port of its listener."""
    port = free_port()
    more = LISTENER.format(port=port)
    async with ScriptedRelay() as relay:
        said = settings(folder, relay.port, mailbox=f"{ARTICLE}\n{TEMPLATES}", more=more)
        async with open_post(said) as post:
            yield relay, post, port


async def events(post: Post, count: int) -> list[dict[str, Any]]:
    """What came in, once it is so many events."""
    found: list[dict[str, Any]] = []

    async def look() -> bool:
        log = await post.outbox.reader.find_events(0, 100)
        found[:] = [{"type": str(one.type), **one.data} for one in log if "envelope" in one.data]
        return len(found) >= count

    await post.until_answered(look)
    assert len(found) == count
    return found
