"""All real parts of the daemon in the test's own loop, on a clock that the test moves, over a scripted relay.

    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        job = await post.submit(to=["a@example.com"])
        await post.quiet()                       # all that can happen without time moving has happened
        assert await post.states(job) == {"a@example.com": "sent"}
        await post.run(300)                      # five minutes later

Real: store, submitter, staging, spool, dispatcher, pool, SMTP; listener, parsers and intake where the settings have a
listener. Not there: the API's socket (`serve` opens it), the keeper of leases and housekeeping.
"""

import asyncio
import io
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postroom.api.server import ApiServer
from postroom.config.loading import load
from postroom.config.settings import Settings
from postroom.core.job import Problem
from postroom.core.record import DeliveryRecord
from postroom.ops.chronicle import Chronicle
from postroom.ops.decisions import Decisions
from postroom.ops.host import SystemEntropy
from postroom.ops.logbook import Logbook
from postroom.ops.supervisor import find_supervisor
from postroom.ops.throttle import Throttle
from postroom.ops.tokenkeys import KeyRing
from postroom.ports.reloading import Reloaded
from postroom.ports.submitting import Refused, Repeated, SubmitResult, Submitted
from postroom.service.files import Files
from postroom.service.joined import Joined, find_keys, join
from postroom.service.tools import Tools
from postroom.store.sqlite.outbox import Outbox, Setting, open_outbox
from support.clock import FakeClock, breathe, settle
from support.heard import EAR, keys_of


UID = 1000
FREE = 1 << 40
MAIN = """\
[relay.main]
host = "127.0.0.1"
port = {port}
{relay}
[[mailbox]]
id = "support"
address = "Support <support@example.com>"
relay = "main"
attachment_roots = ["{folder}"]
{mailbox}
"""
PLAIN = 'tls = "none"'
ARTICLE = "retry = { first_s = 300, factor = 2, jitter = 0, max_attempts = 5 }"


def settings(
    folder: Path,
    port: int,
    *,
    mailbox: str = ARTICLE,
    relay: str = "",
    daemon: str = "",
    more: str = "",
) -> Settings:
    """One mailbox that sends through a relay on loopback; `mailbox`, `relay` and `daemon` are lines of theirs."""
    path = folder / "postroom.toml"
    relay = relay if "tls = " in relay else f"{PLAIN}\n{relay}"
    daemon = f'[daemon]\nstate_dir = "{folder}/state"\nlog_level = "debug"\n{daemon}\n'
    path.write_text(
        daemon + MAIN.format(port=port, folder=folder, mailbox=mailbox, relay=relay) + more
    )
    path.chmod(0o600)
    return load(path)


def setting(**changes: Any) -> Setting:
    """A disk with room, on which no ballast is laid."""
    return Setting(**{"min_free_bytes": FREE, "disk_free": _free, **changes})


def _free(_: Path) -> int:
    return FREE


@dataclass
class Post:
    """The parts at work."""

    clock: FakeClock
    settings: Settings
    outbox: Outbox
    joined: Joined
    tools: Tools
    log: io.StringIO
    loop: asyncio.Task[None]
    named: int = 0

    async def hand_in(self, **fields: Any) -> SubmitResult:
        """What a job is answered."""
        plain = {"mailbox_id": "support", "subject": "Your report", "text": "Here it is.\n"}
        return await self.joined.api.submitter.submit({**plain, **fields}, UID)

    async def reload(self) -> Reloaded:
        """What the daemon takes up of the settings as they are written now."""
        told = await self.joined.reloads.reload("test", is_dry_run=False)
        assert isinstance(told, Reloaded), told
        return told

    async def submit(self, **fields: Any) -> int:
        """The number of a job that is taken, or was before."""
        made = await self.hand_in(**fields)
        assert isinstance(made, Submitted | Repeated), made
        return made.number

    async def fill(self, count: int, **fields: Any) -> list[int]:
        """So many jobs, each for somebody else."""
        self.named += count
        first = self.named - count
        return [await self.submit(to=[f"r{first + n}@example.com"], **fields) for n in range(count)]

    async def blocked(self, job: int) -> list[str]:
        """The gates that hold the only delivery of a job back."""
        found = await self.joined.api.loop.explain((await self.only(job)).number)
        assert found is not None
        return [gate.name for gate in found.gates if gate.verdict == "blocked"]

    async def problems(self, **fields: Any) -> tuple[Problem, ...]:
        """What is wrong with a job that is refused."""
        made = await self.hand_in(**fields)
        assert isinstance(made, Refused), made
        return made.problems

    async def deliveries(self, job: int) -> dict[str, DeliveryRecord]:
        """The deliveries of a job with their histories, by recipient."""
        found = await self.outbox.reader.find_job(job)
        assert found is not None
        told = [await self.outbox.reader.find_delivery(one.number) for one in found.deliveries]
        return {one.recipient: one for one in told if one is not None}

    async def only(self, job: int) -> DeliveryRecord:
        """The one delivery of a job."""
        (found,) = (await self.deliveries(job)).values()
        return found

    async def states(self, job: int) -> dict[str, str]:
        """Where each recipient's copy stands."""
        return {one: str(found.state) for one, found in (await self.deliveries(job)).items()}

    async def until(self, is_so: Callable[[], bool], timeout_s: float = 10) -> None:
        """Wait until it is so, without time moving."""
        async with asyncio.timeout(timeout_s):
            while not is_so():
                self._fail_with_loop()
                await breathe()

    async def until_answered(
        self, is_so: Callable[[], Awaitable[bool]], timeout_s: float = 10
    ) -> None:
        """The same for a question that takes its time."""
        async with asyncio.timeout(timeout_s):
            while not await is_so():
                self._fail_with_loop()
                await breathe()

    async def quiet(self, under_way: int = 0) -> None:
        """Return when nothing more happens by itself: the store idle, so many under way, nothing left to read or start."""
        async with asyncio.timeout(20):
            calm = 0
            while calm < 3:
                await settle(20)
                self._fail_with_loop()
                calm = calm + 1 if self._is_calm(under_way) else 0
                if not calm:
                    await breathe()

    async def run(self, seconds: float, step: float | None = None, under_way: int = 0) -> None:
        """Let time pass, in steps of so many seconds (all at once without), and let happen what comes of it."""
        for _ in range(1 if step is None else round(seconds / step)):
            self.clock.advance(seconds if step is None else step)
            await self.quiet(under_way)

    async def pass_until(self, is_so: Callable[[], bool], step: float = 0.5) -> None:
        """Let time pass in steps until it is so."""
        async with asyncio.timeout(10):
            while not is_so():
                self._fail_with_loop()
                self.clock.advance(step)
                await breathe()

    async def pass_until_answered(
        self, is_so: Callable[[], Awaitable[bool]], step: float = 0.5
    ) -> None:
        """The same for a question that takes its time."""
        async with asyncio.timeout(20):
            while not await is_so():
                self._fail_with_loop()
                self.clock.advance(step)
                await breathe()

    @asynccontextmanager
    async def serve(self, path: Path) -> AsyncIterator[None]:
        """The API on a Unix socket."""
        server = ApiServer(self.joined.api)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(str(path))
        listening.listen(128)
        await server.start([listening])
        try:
            yield
        finally:
            await server.close()

    def _is_calm(self, under_way: int) -> bool:
        dispatcher = self.joined.dispatcher
        feeds = [feed for line in dispatcher._lines.values() for feed in line.feeds]
        has_begun = dispatcher._offset is not None  # its first turn, after it asked who has mail
        return (
            has_begun
            and self.outbox.database._writer.is_idle
            and not dispatcher._woken.is_set()
            and len(dispatcher._flights.taken) == under_way
            and not any(feed.is_reading or feed.wants_read(self.clock.now()) for feed in feeds)
        )

    def _fail_with_loop(self) -> None:
        if self.loop.done():
            self.loop.result()


@asynccontextmanager
async def open_post(
    said: Settings,
    *,
    clock: FakeClock | None = None,
    store: Setting | None = None,
    ring: KeyRing | None = None,
) -> AsyncIterator[Post]:
    """The parts over the store that the settings name; at the end what is under way is given up."""
    clock = clock or FakeClock()
    log, folder = io.StringIO(), said.daemon.state_dir
    book = Logbook(log, clock, said.daemon.log_level, said.daemon.log_format, {})
    tools = Tools(
        clock=clock,
        entropy=SystemEntropy(),
        decisions=Decisions(book, Throttle(clock)),
        chronicle=Chronicle(book, Throttle(clock)),
        supervisor=find_supervisor({}),
        sockets=(),
        read_settings=lambda: load(said.daemon.state_dir.parent / "postroom.toml"),
    )
    files = Files(said.daemon.state_dir, clock)
    opened = open_outbox(
        said.daemon.state_dir, clock, tools.entropy, files.spool.has, None, store or setting()
    )
    async with opened as outbox:
        with files.opened(outbox.space):
            async with asyncio.TaskGroup() as group:
                ring = ring or await find_keys(said, tools, outbox)
                joined = await join(said, tools, outbox, files, ring, group)
                loop = group.create_task(joined.dispatcher.run())
                keepers = [
                    group.create_task(joined.doubts.run()),
                    group.create_task(joined.absent.run()),
                ]
                if joined.inward is not None:
                    await joined.inward.start()
                    intake = group.create_task(joined.inward.intake.run())
                post = Post(clock, said, outbox, joined, tools, log, loop)
                try:
                    yield post
                finally:
                    for keeper in keepers:
                        keeper.cancel()
                    if joined.inward is not None:
                        intake.cancel()
                        await joined.inward.close()
                    await _end(post)
                    EAR.hear_log(f"the parts in {folder}", log.getvalue(), keys_of(folder))


async def _end(post: Post) -> None:
    post.joined.dispatcher.drain()
    post.joined.dispatcher.interrupt()
    async with asyncio.timeout(10):
        while not post.loop.done():
            post.clock.advance(1)
            await breathe()
    await post.joined.way.close()
