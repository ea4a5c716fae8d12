"""The stream of events: it begins now or where it was left, without a gap, and ends with a word."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest

from postroom.api.parts import Bounds
from postroom.core.ids import Kind, encode_id
from postroom.core.record import EventRecord
from postroom.ports.changes import EventPublished
from support.api_server import Api, handlers, running, until
from support.records import NOW


def event(seq: int) -> EventRecord:
    return EventRecord(seq, "reply.received", "support", NOW, {})


def log(api: Api, *seqs: int) -> None:
    api.outbox.events = tuple(event(seq) for seq in seqs)
    api.outbox.span = ("log-1", min(seqs, default=0), max(seqs, default=0))


def published(api: Api) -> None:
    api.bells.committed([EventPublished(0, "support", 3, "reply.received", ())])


class Stream:
    """An open stream."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer

    async def block(self) -> dict[str, str]:
        """The fields of the next block; comments have no name."""
        found: dict[str, str] = {}
        async with asyncio.timeout(5):
            while line := (await self.answer.content.readline()).decode().rstrip("\n"):
                name, _, value = line.partition(":")
                found[name] = value.strip()
        return found

    async def seq(self) -> int:
        found = await self.block()
        assert json.loads(found["data"])["seq"] == int(found["id"])
        return int(found["id"])


async def opened(api: Api, query: str = "", **headers: str) -> Stream:
    url = f"http://localhost/v1/events/stream{query}"
    answer = await api.session.get(url, headers=headers)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/event-stream"
    stream = Stream(answer)
    assert await stream.block() == {"retry": "2000"}
    return stream


async def test_a_stream_begins_now_and_goes_on(api: Api) -> None:
    log(api, 1, 2)
    stream = await opened(api)
    log(api, 1, 2, 3, 5)
    published(api)
    assert [await stream.seq(), await stream.seq()] == [3, 5]
    log(api, 1, 2, 3, 5, 6)
    published(api)
    assert await stream.seq() == 6


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("?after=2", {}),
        (f"?after={encode_id(Kind.EVENT, 2)}", {}),
        ("", {"Last-Event-ID": "2"}),
        ("", {"Last-Event-ID": encode_id(Kind.EVENT, 2)}),
        ("?after=1", {"Last-Event-ID": "2"}),
    ],
)
async def test_a_stream_resumes_exactly(api: Api, query: str, headers: dict[str, str]) -> None:
    log(api, 1, 2, 3, 4)
    stream = await opened(api, query, **headers)
    assert [await stream.seq(), await stream.seq()] == [3, 4]


async def test_a_long_backlog_comes_whole_and_in_order(api: Api) -> None:
    log(api, *range(1, 251))
    stream = await opened(api, "?after=0")
    assert [await stream.seq() for _ in range(250)] == list(range(1, 251))


@pytest.mark.parametrize(
    ("after", "status", "code"),
    [
        ("20", 410, "log_reset"),
        ("3", 410, "log_trimmed"),
        ("nonsense", 422, "invalid_request"),
        ("9" * 30, 422, "invalid_request"),
    ],
)
async def test_a_stream_never_begins_with_a_gap(
    api: Api, after: str, status: int, code: str
) -> None:
    log(api, 7, 8, 9)
    said = await api.get("/events/stream", headers={"Last-Event-ID": after})
    assert (said.status, said.code) == (status, code)


async def test_a_silent_stream_pings_and_says_bye_at_the_end(tmp_path: Path) -> None:
    bounds = Bounds(ping=timedelta(milliseconds=20))
    async with running(tmp_path, bounds=bounds) as api:
        stream = await opened(api)
        assert await stream.block() == {"": "ping"}
        await api.server.drain()
        found = await stream.block()
        while "event" not in found:
            found = await stream.block()
        assert found == {"event": "bye", "data": "{}"}
        assert await stream.answer.content.read() == b""


async def test_a_reader_that_takes_nothing_is_hung_up_on(tmp_path: Path) -> None:
    bounds = Bounds(stall=timedelta(milliseconds=100))
    async with running(tmp_path, bounds=bounds) as api:
        large: dict[str, object] = {"text": "x" * 1_000_000}
        api.outbox.events = tuple(replace(event(seq), data=large) for seq in range(1, 40))
        api.outbox.span = ("log-1", 1, 39)
        async with api.raw() as (reader, writer):
            reader._limit = 1  # type: ignore[attr-defined]
            writer.write(b"GET /v1/events/stream?after=0 HTTP/1.1\r\nHost: x\r\n\r\n")
            await until(lambda: not handlers(api) and _served(api))
    assert api.faults == []


def _served(api: Api) -> bool:
    assert api.server._runner is not None
    server = api.server._runner.server
    assert server is not None
    return bool(server.requests_count) and not server.connections
