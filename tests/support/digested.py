"""The digest over all real parts of the daemon: a keeper whose mail is only kept, and mail that fails."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path

from postroom.ops.chronicle import Chronicle
from postroom.ops.depth import Depth
from postroom.ops.logbook import Logbook
from postroom.ops.logwords import LogFormat, LogLevel
from postroom.ops.throttle import Throttle
from postroom.service.digesting import DigestKeeper, Letters
from postroom.service.ownermail import OwnerMail
from support.post import Post, open_post, settings
from support.posted import Posted
from support.relay import ScriptedRelay
from support.relay_script import Reply


HOUR = 3_600
DAY = 24 * HOUR
OWNER = "ops@example.com"
OWNED = f'owner = "{OWNER}"\nretry = {{ first_s = 300, jitter = 0 }}'
OTHER = """
[[mailbox]]
id = "sales"
address = "sales@example.com"
relay = "main"
"""


class Run:
    """A keeper of digests over the store of a post, with mail that is only kept."""

    def __init__(self, post: Post, posted: Posted | None = None) -> None:
        self.post, self.posted = post, posted or Posted()
        book = Logbook(StringIO(), post.clock, LogLevel.INFO, LogFormat.JSON, {})
        chronicle = Chronicle(book, Throttle(post.clock))
        worlds, depth = post.joined.way.worlds, Depth({})
        mail = OwnerMail(self.posted, self.posted, worlds, depth, chronicle, "secret")
        self.keeper = DigestKeeper(
            post.outbox.digests,
            Letters(mail, lambda: "host.example"),
            timedelta(hours=7),
            post.clock,
            post.joined.trust,
            chronicle,
        )

    async def look(self) -> list[str]:
        """The subjects of what is mailed now."""
        before = len(self.posted.jobs)
        await self.keeper._look()
        return [one["subject"] for one in self.posted.jobs[before:]]


@asynccontextmanager
async def post_with(tmp_path: Path, more: str = "") -> AsyncIterator[tuple[ScriptedRelay, Post]]:
    """Begins at seven o'clock."""
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=OWNED, more=more)
        async with open_post(said) as post:
            yield relay, post


async def fail(relay: ScriptedRelay, post: Post, who: str = "gone@example.com") -> None:
    relay.on("rcpt", Reply("550 5.1.1 User unknown"), recipient=who)
    await post.submit(to=[who])
    await post.quiet()
