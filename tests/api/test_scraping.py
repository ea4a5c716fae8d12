"""The metrics over TCP: who may have them, who is turned away, and who may not stay."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from postroom.api.scraping import MOST_AT_ONCE, ScrapeServer
from postroom.ops.sockets import bind_loopback
from postroom.ports.errors import AlreadyRunning, ConfigError, StoreUnavailable
from support.api_fakes import FakeSignals
from support.api_server import fake_parts
from support.clock import breathe


TOKEN = "0123456789abcdef" * 2
PATIENCE_S = 10
KNOWN = f"Authorization: Bearer {TOKEN}"


@dataclass
class Scrapes:
    """The server, and what it told."""

    port: int
    signals: FakeSignals
    refused: list[str]
    faults: list[tuple[str, Exception]]

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, line: str, *fields: str, host: str | None = "127.0.0.1:9464") -> str:
        """All that is answered, until it hangs up."""
        reader, writer = await self.connect()
        named = [] if host is None else [f"Host: {host}"]
        writer.write("\r\n".join([f"{line} HTTP/1.1", *named, *fields, "", ""]).encode())
        try:
            return (await asyncio.wait_for(reader.read(), PATIENCE_S)).decode()
        finally:
            writer.close()


@asynccontextmanager
async def scraping(longest_s: float = PATIENCE_S) -> AsyncIterator[Scrapes]:
    faults: list[tuple[str, Exception]] = []
    refused: list[str] = []
    async with asyncio.TaskGroup() as group:
        parts = fake_parts(group, faults)
        server = ScrapeServer(parts, TOKEN, refused.append, longest_s)
        listening = socket.create_server(("127.0.0.1", 0))
        await server.start(listening)
        try:
            assert isinstance(parts.signals, FakeSignals)
            yield Scrapes(listening.getsockname()[1], parts.signals, refused, faults)
        finally:
            await server.close()


async def test_who_knows_the_token_reads_the_metrics_and_is_hung_up_on() -> None:
    async with scraping() as scrapes:
        for scheme in ("Bearer", "bearer"):
            said = await scrapes.ask("GET /metrics", f"Authorization: {scheme} {TOKEN}")
            head, _, body = said.partition("\r\n\r\n")
            assert head.startswith("HTTP/1.1 200 OK\r\n")
            assert "Content-Type: text/plain; version=0.0.4" in head
            assert "Connection: close" in head
            assert "postroom_queue_depth 2" in body
        assert scrapes.refused == []


@pytest.mark.parametrize(
    "fields",
    [
        [],
        ["Authorization: Bearer"],
        [f"Authorization: Bearer {TOKEN[:-1]}"],
        [f"Authorization: Bearer {TOKEN}x"],
        [f"Authorization: Basic {TOKEN}"],
        [f"Authorization: {TOKEN}"],
        ["Authorization: Bearer \udcff".encode("utf-8", "surrogateescape").decode("latin-1")],
    ],
    ids=["none", "empty", "short", "long", "another scheme", "no scheme", "not ASCII"],
)
async def test_without_the_token_there_is_nothing_to_read(fields: list[str]) -> None:
    async with scraping() as scrapes:
        said = await scrapes.ask("GET /metrics", *fields)
        assert said.startswith("HTTP/1.1 401")
        assert "WWW-Authenticate: Bearer" in said
        assert "postroom_" not in said
        assert scrapes.refused == ["it asked for the metrics without their token"]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:9464", 200),
        ("127.0.0.1", 200),
        ("localhost:9464", 200),
        ("LOCALHOST", 200),
        ("[::1]:9464", 200),
        ("[::1]", 200),
        ("evil.example", 403),
        ("evil.example:9464", 403),
        ("127.0.0.1.evil.example:9464", 403),
        ("localhost:evil.example", 403),
        ("", 403),
        (None, 400),
    ],
)
@pytest.mark.parametrize("path", ["/metrics", "/healthz"])
async def test_a_page_of_somebody_else_can_not_make_a_browser_read_them(
    path: str, host: str | None, status: int
) -> None:
    async with scraping() as scrapes:
        said = await scrapes.ask(f"GET {path}", KNOWN, host=host)
        assert said[9:13] == f"{status} "
        assert "Access-Control" not in said
        assert len(scrapes.refused) == (status == 403)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("GET /healthz", 200),
        ("GET /", 404),
        ("GET /v1/stats", 404),
        ("GET /v1/jobs", 404),
        ("POST /v1/jobs", 404),
        ("POST /metrics", 405),
        ("HEAD /metrics", 405),
        ("OPTIONS /metrics", 405),
        ("NONSENSE", 400),
    ],
)
async def test_nothing_else_is_answered(line: str, status: int) -> None:
    async with scraping() as scrapes:
        said = await scrapes.ask(line, KNOWN)
        assert said.startswith((f"HTTP/1.1 {status} ", f"HTTP/1.0 {status} "))


async def test_a_store_that_does_not_answer_is_a_503_and_is_told() -> None:
    async with scraping() as scrapes:
        scrapes.signals.fault = StoreUnavailable("database is locked")
        assert (await scrapes.ask("GET /metrics", KNOWN)).startswith("HTTP/1.1 503")
        assert [name for name, _ in scrapes.faults] == ["store"]


@pytest.mark.parametrize(
    "said",
    [b"", b"GET /met", b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "],
    ids=["silent", "a line without end", "a header without end"],
)
async def test_who_does_not_come_to_an_end_is_hung_up_on(said: bytes) -> None:
    async with scraping(longest_s=0.1) as scrapes:
        reader, writer = await scrapes.connect()
        writer.write(said)
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        writer.close()
        assert (await scrapes.ask("GET /healthz")).startswith("HTTP/1.1 200")


async def test_who_only_holds_connections_keeps_nobody_out() -> None:
    async with scraping() as scrapes:
        idle = [await scrapes.connect() for _ in range(MOST_AT_ONCE)]
        idle[1][1].write(b"GET /metrics HTTP/1.1\r\nHost: ")
        for at in range(3):
            assert (await scrapes.ask("GET /metrics", KNOWN)).startswith("HTTP/1.1 200")
            assert await asyncio.wait_for(idle[at][0].read(), PATIENCE_S) == b""
            idle.append(await scrapes.connect())  # somebody who holds them all again
        for _, writer in idle:
            writer.close()


async def test_who_is_being_answered_is_not_hung_up_on_for_somebody_else() -> None:
    async with scraping() as scrapes, asyncio.TaskGroup() as group:
        signals = scrapes.signals
        signals.may_tell.clear()
        asking = [
            group.create_task(scrapes.ask("GET /metrics", KNOWN)) for _ in range(MOST_AT_ONCE)
        ]
        while signals.asked < MOST_AT_ONCE:
            await breathe()
        reader, one_more = await scrapes.connect()
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        one_more.close()
        signals.may_tell.set()
        for one in asking:
            assert (await one).startswith("HTTP/1.1 200")


def test_an_address_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(AlreadyRunning, match=f"127.0.0.1 port {port}"):
            bind_loopback("127.0.0.1", port)


def test_an_address_that_nobody_can_listen_on_is_told() -> None:
    with pytest.raises(ConfigError, match=r"\[metrics\]"):
        bind_loopback("192.0.2.1", 9464)


async def test_one_after_another_they_are_never_too_many() -> None:
    async with scraping() as scrapes:
        for _ in range(2 * MOST_AT_ONCE):
            assert (await scrapes.ask("GET /healthz")).startswith("HTTP/1.1 200")
