"""The API on a Unix socket in a test's directory, with fakes behind it, and a client that talks to it."""

import asyncio
import io
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp

from postroom.api.parts import Bounds, Parts
from postroom.api.server import ApiServer
from postroom.api.tasks import Kept
from postroom.core.ids import Kind, encode_id
from postroom.ops.bells import CommitBells
from support.api_fakes import (
    SUPPORT,
    FakeBackups,
    FakeLoop,
    FakeMessages,
    FakeReloads,
    FakeSignals,
    FakeTrust,
    FakeUploads,
)
from support.api_outbox import FakeOutbox
from support.api_submitter import FakeSubmitter
from support.clock import HandClock
from support.lease_fakes import FakeConversations, FakeLeases
from support.records import NOW


UID = 1000
HELLO = {"mailbox_id": "support", "subject": "Hello", "text": "Hello.\n", "to": ["ann@example.com"]}
JOB_1 = encode_id(Kind.JOB, 1)


@dataclass(frozen=True, slots=True)
class Said:
    """One answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["code"])


@dataclass
class Api:
    """A running API: its parts as fakes, and ways to ask it."""

    path: Path
    server: ApiServer
    parts: Parts
    outbox: FakeOutbox
    submitter: FakeSubmitter
    uploads: FakeUploads
    loop: FakeLoop
    signals: FakeSignals
    messages: FakeMessages
    leases: FakeLeases
    bells: CommitBells
    conversations: FakeConversations
    faults: list[tuple[str, Exception]]
    session: aiohttp.ClientSession

    async def ask(self, method: str, path: str, body: object = None, **more: Any) -> Said:
        """One request; `body` goes out as JSON, `data` as it is."""
        if body is not None:
            more["data"] = json.dumps(body).encode()
        if isinstance(more.get("data"), bytes):
            more["data"] = io.BytesIO(more["data"])
        async with self.session.request(method, f"http://localhost{path}", **more) as answer:
            content = await answer.read()
            return Said(answer.status, {k.lower(): v for k, v in answer.headers.items()}, content)

    async def get(self, path: str, **more: Any) -> Said:
        return await self.ask("GET", "/v1" + path, **more)

    async def post(self, path: str, body: object = None, **more: Any) -> Said:
        return await self.ask("POST", "/v1" + path, body, **more)

    @asynccontextmanager
    async def raw(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A bare connection."""
        reader, writer = await asyncio.open_unix_connection(str(self.path))
        try:
            yield reader, writer
        finally:
            writer.close()


def unix_socket(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen(64)
    return listening


def fixed_uid(peer: socket.socket) -> int | None:
    return UID


def fake_parts(group: asyncio.TaskGroup, faults: list[tuple[str, Exception]]) -> Parts:
    outbox = FakeOutbox()
    return Parts(
        submitter=FakeSubmitter(outbox),
        reader=outbox,
        admin=outbox,
        leases=FakeLeases(),
        bells=CommitBells(),
        conversations=FakeConversations(),
        uploads=FakeUploads(),
        backups=FakeBackups(),
        reloads=FakeReloads(),
        loop=FakeLoop(outbox),
        signals=FakeSignals(),
        messages=FakeMessages(),
        mailboxes={"support": SUPPORT},
        clock=HandClock(NOW),
        trust=FakeTrust(),
        is_operator=lambda uid: uid == UID,
        kept=Kept(group),
        principal=fixed_uid,
        on_fault=lambda name, fault: faults.append((name, fault)),
        on_store_refused=lambda fault: faults.append(("store", fault)),
        on_crowded=lambda uid: faults.append((f"crowded by {uid}", OSError())),
        on_accepted=lambda new, result: None,
        version="1.2.3",
        bounds=Bounds(),
    )


@asynccontextmanager
async def running(where: Path, **changed: Any) -> AsyncIterator[Api]:
    """An API that answers; `changed` replaces parts."""
    faults: list[tuple[str, Exception]] = []
    async with asyncio.TaskGroup() as group:
        parts = replace(fake_parts(group, faults), **changed)
        server = ApiServer(parts)
        path = where / "api.sock"
        await server.start([unix_socket(path)])
        connector = aiohttp.UnixConnector(path=str(path))
        async with aiohttp.ClientSession(connector=connector) as session:
            try:
                yield Api(
                    path,
                    server,
                    parts,
                    parts.reader,  # type: ignore[arg-type]
                    parts.submitter,  # type: ignore[arg-type]
                    parts.uploads,  # type: ignore[arg-type]
                    parts.loop,  # type: ignore[arg-type]
                    parts.signals,  # type: ignore[arg-type]
                    parts.messages,  # type: ignore[arg-type]
                    parts.leases,  # type: ignore[arg-type]
                    parts.bells,  # type: ignore[arg-type]
                    parts.conversations,  # type: ignore[arg-type]
                    faults,
                    session,
                )
            finally:
                await server.close()


async def answer_to(api: Api, *said: bytes) -> bytes:
    """All that a bare connection is answered before it is closed."""
    async with api.raw() as (reader, writer):
        for piece in said:
            writer.write(piece)
        return await reader.read()


async def first_line(api: Api, *said: bytes) -> bytes:
    """The first line of the answer to a bare connection."""
    async with api.raw() as (reader, writer):
        for piece in said:
            writer.write(piece)
        return await reader.readline()


async def until(condition: Any) -> None:
    """Wait until this is so."""
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.get_running_loop().run_in_executor(None, int)


def handlers(api: Api) -> list[Any]:
    """The connections on which a call is under way."""
    assert api.server._runner is not None
    server = api.server._runner.server
    assert server is not None
    return [one for one in server.connections if one._current_request is not None]
