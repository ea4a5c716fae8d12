"""A house in which real daemons live one after another, on one state directory, in front of a scripted relay.

async with house_in(tmp_path, relay) as house:
    pid = await house.start()
    await house.post(to=["a@example.com"])
    await house.kill(pid)
    await house.start()
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

from postroom.selftest.nursery import Nursery
from support.clock import breathe
from support.nursery import Birth


T = TypeVar("T")

SETTINGS = """\
[daemon]
state_dir = "{folder}/state"
drain_s = {drain_s}
log_level = "debug"
[api]
socket = "{folder}/api.sock"
[relay.main]
host = "127.0.0.1"
port = {port}
tls = "none"
concurrency = 50
[[mailbox]]
id = "support"
address = "Support <support@example.com>"
relay = "main"
concurrency = 50
attachment_roots = ["{folder}"]
retry = {{ first_s = 1, jitter = 0, cap_s = 1 }}
"""


@dataclass
class House:
    """The nursery that makes daemons, and the way to talk with the one that lives."""

    folder: Path
    nursery: Nursery
    session: aiohttp.ClientSession
    alive: set[int] = field(default_factory=set)

    @property
    def config(self) -> Path:
        return self.folder / "postroom.toml"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    async def start(self, *, is_awaited: bool = True, **more: Any) -> int:
        """The pid of a new daemon, once it is ready."""
        birth = Birth(str(self.config), str(self.folder / "log"), **more)
        pid = await self._ask(self.nursery.start, birth)
        self.alive.add(pid)
        if is_awaited:
            await self.until(self._is_ready)
        return pid

    async def end(self, pid: int, timeout_s: float = 10) -> int | None:
        """How a daemon ended; None = it still lives."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while (code := await self._ask(self.nursery.find_end, pid)) is None:
                    await breathe()
                self.alive.discard(pid)
                return code
        return None

    async def kill(self, pid: int) -> None:
        """SIGKILL."""
        os.kill(pid, signal.SIGKILL)
        assert await self.end(pid) == -signal.SIGKILL

    async def stop(self, pid: int) -> int | None:
        """SIGTERM; how it ended."""
        os.kill(pid, signal.SIGTERM)
        return await self.end(pid)

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and JSON."""
        url = f"http://localhost/v1{path}"
        async with self.session.request(method, url, json=body) as answer:
            return answer.status, await answer.json(content_type=None)

    async def post(self, **fields: Any) -> dict[str, Any]:
        """The answer to a job that is taken."""
        plain = {"mailbox_id": "support", "subject": "Subject-of-a-job", "text": "text-of-a-job"}
        status, told = await self.ask("POST", "/jobs", {**plain, **fields})
        assert status in (200, 202), told
        return dict(told)

    async def deliveries(self, job_id: str) -> dict[str, dict[str, Any]]:
        """What is told of each delivery of a job, by recipient."""
        _, job = await self.ask("GET", f"/jobs/{job_id}")
        told = [await self.ask("GET", f"/deliveries/{one['id']}") for one in job["deliveries"]]
        return {one["recipient"]: one for _, one in told}

    async def states(self, job_id: str) -> dict[str, str]:
        """Where each recipient's copy stands."""
        _, job = await self.ask("GET", f"/jobs/{job_id}")
        return {one["recipient"]: one["state"] for one in job["deliveries"]}

    async def settled(self, job_id: str) -> dict[str, str]:
        """The same once the job is settled."""
        await self.ask("GET", f"/jobs/{job_id}?wait=settled&timeout_s=20")
        return await self.states(job_id)

    async def until(self, is_so: Callable[[], Any], timeout_s: float = 10) -> None:
        """Wait until a question, asked again and again, is answered with yes."""
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    found = is_so()
                    if await found if asyncio.iscoroutine(found) else found:
                        return
                    await breathe()
        except TimeoutError:
            raise AssertionError(self.log[-3000:]) from None

    async def _is_ready(self) -> bool:
        try:
            status, _ = await self.ask("GET", "/readyz")
        except (aiohttp.ClientError, OSError):
            return False
        return status == 200

    async def _ask(self, question: Callable[..., T], *given: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(None, question, *given)


@asynccontextmanager
async def house_in(
    folder: Path, port: int, nursery: Nursery, *, drain_s: float = 5, more: str = ""
) -> AsyncIterator[House]:
    """A house on an empty folder, without a daemon yet; whoever still lives at the end is killed."""
    (folder / "postroom.toml").write_text(
        SETTINGS.format(folder=folder, port=port, drain_s=drain_s) + more
    )
    (folder / "postroom.toml").chmod(0o600)
    connector = aiohttp.UnixConnector(str(folder / "api.sock"), force_close=True, limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        house = House(folder, nursery, session)
        try:
            yield house
        finally:
            for pid in tuple(house.alive):
                os.kill(pid, signal.SIGKILL)
                await house.end(pid)


def crashes_of(delivery: dict[str, Any]) -> int:
    """How often a recovery found it before its mark: a count that an outcome ends, so the history tells."""
    reasons = [row.get("reason_code") for row in delivery["history"]]
    return reasons.count("crash.before_mark")
