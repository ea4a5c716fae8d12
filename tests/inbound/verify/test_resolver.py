"""DNS as the checks see it: the fake and the real resolver say the same; the real one against a server on loopback."""

import asyncio
import socket
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from postroom.inbound.verify.dnsdoor import Told
from postroom.inbound.verify.resolver import DnsResolver, read_nameservers
from postroom.ports.resolving import Answer, Found, Kind, Lookup, NoAnswer, Nothing, Resolver
from support.clock import FakeClock, breathe, settle
from support.nameserver import NameServer, name_server
from support.zone import FakeResolver, Zone


LONG = "v=DKIM1; p=" + "A" * 700
ZONE = Zone(
    records={
        "good.example TXT": ["v=spf1 -all", 'quoted "text" \\ and ü'],
        "long.example TXT": [LONG],
        "large.example TXT": [LONG],
        "good.example MX": ["20 b.good.example", "10 a.good.example"],
        "a.good.example A": ["192.0.2.1"],
        "a.good.example AAAA": ["2001:db8::1"],
        "1.2.0.192.in-addr.arpa PTR": ["a.good.example"],
    },
    silent={"silent.example"},
    failing={"failing.example"},
    large={"large.example"},
)


@asynccontextmanager
async def _real(
    zone: Zone, clock: FakeClock | None = None, patience_s: float = 30.0
) -> AsyncIterator[tuple[DnsResolver, NameServer]]:
    async with name_server(zone) as server:
        nameservers = [("127.0.0.1", server.port)]
        yield DnsResolver(clock or FakeClock(), nameservers, patience_s=patience_s), server


@pytest.fixture(params=["fake", "real"])
async def resolver(request: pytest.FixtureRequest) -> AsyncIterator[Resolver]:
    if request.param == "fake":
        yield FakeResolver(ZONE)
        return
    async with _real(ZONE) as (real, _):
        yield real


@pytest.fixture(params=["fake", "real"])
async def hasty(request: pytest.FixtureRequest) -> AsyncIterator[Resolver]:
    if request.param == "fake":
        yield FakeResolver(ZONE)
        return
    async with _real(ZONE, patience_s=0.2) as (real, _):
        yield real


ANSWERS = {
    "texts as they are": (
        Lookup(Kind.TXT, "good.example"),
        Found(("v=spf1 -all", 'quoted "text" \\ and ü')),
    ),
    "a text in pieces": (Lookup(Kind.TXT, "long.example"), Found((LONG,))),
    "an answer that does not fit": (Lookup(Kind.TXT, "large.example"), Found((LONG,))),
    "exchanges in order": (
        Lookup(Kind.MX, "good.example"),
        Found(("a.good.example", "b.good.example")),
    ),
    "an address": (Lookup(Kind.A, "a.good.example"), Found(("192.0.2.1",))),
    "a long address": (Lookup(Kind.AAAA, "a.good.example"), Found(("2001:db8::1",))),
    "a name": (Lookup(Kind.PTR, "1.2.0.192.in-addr.arpa"), Found(("a.good.example",))),
    "no such name": (Lookup(Kind.TXT, "gone.example"), Nothing(is_name_missing=True)),
    "no such record": (Lookup(Kind.MX, "a.good.example"), Nothing(is_name_missing=False)),
    "a server that fails": (Lookup(Kind.TXT, "failing.example"), NoAnswer()),
}


@pytest.mark.parametrize(("lookup", "answer"), ANSWERS.values(), ids=ANSWERS)
async def test_what_dns_says_is_a_value(resolver: Resolver, lookup: Lookup, answer: Answer) -> None:
    found = await resolver.ask(lookup)
    if isinstance(found, Found) and lookup.kind is Kind.TXT:
        assert isinstance(answer, Found)
        assert sorted(found.records) == sorted(answer.records)
    else:
        assert found == answer


async def test_a_server_that_is_silent_gives_no_answer(hasty: Resolver) -> None:
    assert await hasty.ask(Lookup(Kind.TXT, "silent.example")) == NoAnswer()


async def test_twenty_equal_questions_are_one_packet() -> None:
    async with _real(ZONE) as (resolver, server), asyncio.TaskGroup() as group:
        lookup = Lookup(Kind.TXT, "good.example")
        asked = [group.create_task(resolver.ask(lookup)) for _ in range(20)]
        answers = [await one for one in asked]
        assert server.packets == ["good.example"]
    assert all(isinstance(one, Found) for one in answers)


async def test_who_waits_for_the_answer_of_one_who_was_cancelled_asks_again() -> None:
    zone = Zone(dict(ZONE.records), silent={"good.example"})
    async with _real(zone, patience_s=5.0) as (resolver, server):
        lookup = Lookup(Kind.TXT, "good.example")
        async with asyncio.TaskGroup() as group:
            first = group.create_task(resolver.ask(lookup))
            while not server.packets:
                await breathe()
            second = group.create_task(resolver.ask(lookup))
            await settle()
            zone.silent.clear()
            first.cancel()
        assert isinstance(second.result(), Found)


async def test_a_truncated_answer_is_asked_for_again_over_tcp() -> None:
    async with _real(ZONE) as (resolver, server):
        await resolver.ask(Lookup(Kind.TXT, "large.example"))
        assert server.packets == ["large.example"]
        assert server.connections == ["large.example"]


@pytest.mark.parametrize(
    ("ttl", "seconds", "packets"),
    [(60, 59, 1), (60, 61, 2), (0, 4, 1), (0, 6, 2), (1_000_000, 3_599, 1), (1_000_000, 3_601, 2)],
    ids=["in time", "over", "no TTL, at once", "no TTL, later", "long, in time", "long, over"],
)
async def test_an_answer_holds_as_long_as_it_says_within_bounds(
    ttl: int, seconds: int, packets: int
) -> None:
    clock = FakeClock()
    zone = Zone(dict(ZONE.records), ttl=ttl)
    async with _real(zone, clock) as (resolver, server):
        await resolver.ask(Lookup(Kind.TXT, "long.example"))
        clock.advance(seconds)
        await resolver.ask(Lookup(Kind.TXT, "long.example"))
        assert len(server.packets) == packets


async def test_that_there_is_nothing_holds_for_a_while_too() -> None:
    clock = FakeClock()
    async with _real(ZONE, clock) as (resolver, server):
        for seconds in (0, 1, 400):
            clock.advance(seconds)
            await resolver.ask(Lookup(Kind.TXT, "gone.example"))
        assert len(server.packets) == 2


async def test_that_a_server_could_not_tell_is_not_kept() -> None:
    zone = Zone(dict(ZONE.records), failing={"good.example"})
    async with _real(zone) as (resolver, _):
        lookup = Lookup(Kind.TXT, "good.example")
        assert await resolver.ask(lookup) == NoAnswer()
        zone.failing.clear()
        assert isinstance(await resolver.ask(lookup), Found)


SILENT = Lookup(Kind.TXT, "silent.example")
GOOD = Lookup(Kind.TXT, "good.example")


@pytest.mark.parametrize(
    ("others", "seconds", "asked"),
    [(True, 59, 1), (True, 61, 2), (False, 4, 1), (False, 6, 2)],
    ids=["others answer", "others answer, over", "nobody answers", "nobody answers, over"],
)
async def test_who_is_silent_is_not_asked_again_for_a_while(
    others: bool,  # noqa: FBT001 - a column
    seconds: int,
    asked: int,
) -> None:
    clock, door = FakeClock(), _Door({SILENT.name})
    resolver = _with(door, clock)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(resolver.ask(SILENT))
        await settle()
        if others:
            await resolver.ask(GOOD)
        door.give_up()
    clock.advance(seconds)
    assert (first.result(), await resolver.ask(SILENT)) == (NoAnswer(), NoAnswer())
    assert door.asked.count(SILENT) == asked


@pytest.mark.parametrize(("seconds", "asked"), [(0, 2), (2, 1)], ids=["at once", "slow"])
async def test_what_cost_time_until_the_asker_had_none_left_counts_as_silent(
    seconds: int, asked: int
) -> None:
    clock, door = FakeClock(), _Door({SILENT.name})
    resolver = _with(door, clock)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(resolver.ask(SILENT))
        await settle()
        clock.advance(seconds)
        first.cancel()
    door.give_up()
    assert await resolver.ask(SILENT) == NoAnswer()
    assert door.asked.count(SILENT) == asked


async def test_the_cache_is_bounded() -> None:
    door = _Door()
    resolver = _with(door, FakeClock())
    for number in (*range(2_100), 2_099, 0):
        await resolver.ask(Lookup(Kind.A, f"n{number}.example"))
    assert len(door.asked) == 2_101


@pytest.mark.parametrize(
    "name", ["a..b", "a" * 64 + ".example", "a." * 140 + "example", "ü.example"]
)
async def test_a_name_that_can_not_be_has_nothing(name: str) -> None:
    async with _real(ZONE) as (resolver, server):
        assert await resolver.ask(Lookup(Kind.TXT, name)) == Nothing(is_name_missing=True)
        assert server.packets == []


async def test_a_backslash_is_no_escape() -> None:
    async with _real(ZONE) as (resolver, server):
        await resolver.ask(Lookup(Kind.TXT, "good\\046example"))
        assert [name.count(".") for name in server.packets] == [0]


async def test_a_port_that_refuses_gives_no_answer() -> None:
    with _closed_port() as port:
        resolver = DnsResolver(FakeClock(), [("127.0.0.1", port)], patience_s=0.2)
        assert await resolver.ask(Lookup(Kind.TXT, "good.example")) == NoAnswer()


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"search example\n",
        b"nameserver\n",
        b"nameserver not.an.address\n",
        b"\xff\0" * 50,
    ],
    ids=["no file", "empty", "no server", "no address", "a name", "garbage"],
)
async def test_a_machine_without_a_name_server_gets_no_answer(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "resolv.conf"
    if content is not None:
        path.write_bytes(content)
    resolver = DnsResolver(FakeClock(), system=path)
    assert await resolver.ask(Lookup(Kind.TXT, "good.example")) == NoAnswer()


async def test_a_machine_that_gets_its_network_later_is_asked_then(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    resolver = DnsResolver(FakeClock(), system=path, patience_s=0.2)
    assert await resolver.ask(Lookup(Kind.TXT, "good.example")) == NoAnswer()
    path.write_text("# by hand\nnameserver 127.0.0.1\nnameserver 192.0.2.53\n")
    assert read_nameservers(path) == (("127.0.0.1", 53), ("192.0.2.53", 53))


class _Door:
    """Answers at once, but for names that are silent until it gives up."""

    def __init__(self, silent: Collection[str] = ()) -> None:
        self.asked: list[Lookup] = []
        self._silent = silent
        self._gives_up = asyncio.Event()

    async def ask(self, lookup: Lookup) -> Told:
        self.asked.append(lookup)
        if lookup.name in self._silent:
            await self._gives_up.wait()
            return Told(NoAnswer(), 0, is_silence=True)
        return Told(Found(("192.0.2.1",)), 60)

    def give_up(self) -> None:
        self._gives_up.set()


def _with(door: _Door, clock: FakeClock) -> DnsResolver:
    resolver = DnsResolver(clock, [("127.0.0.1", 53)], patience_s=600.0)
    resolver._door = door
    return resolver


@contextmanager
def _closed_port() -> Iterator[int]:
    """A port that is ours and at which nobody listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
