"""Name servers that never answer: who asks for a name waits for it, and nobody else does."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from postroom.core.inmail import Parse
from postroom.core.mailbox import Relay, Tls
from postroom.inbound.nursery import Nursery
from postroom.outbound.names import _Names, find_addresses
from postroom.ports.errors import RelayFault
from support.authority import Authority
from support.clock import breathe
from support.mails import ALICE, mail
from support.pooled import make_pool, send
from support.relay import ScriptedRelay


@dataclass
class Silence:
    """Name servers that answer nothing below `.silent.test` before `end`."""

    asked: list[str] = field(default_factory=list)
    end: threading.Event = field(default_factory=threading.Event)

    def relay(self, name: str) -> Relay:
        return Relay(id="r", host=f"{name}.silent.test", port=25, tls=Tls.NONE)

    async def until_asked(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.asked) < count:
                await breathe()


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silence]:
    made, ask = Silence(), socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kinds: Any) -> Any:
        is_silent = str(host).endswith(".silent.test")
        if is_silent and not kinds.get("flags", 0) & socket.AI_NUMERICHOST:
            made.asked.append(str(host))
            made.end.wait(30)
            return ask("127.0.0.1", 25, type=socket.SOCK_STREAM)
        return ask(host, *args, **kinds)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield made
    made.end.set()


async def test_mail_to_other_relays_is_encrypted_and_strangers_mail_is_read(
    silence: Silence, tmp_path: Path
) -> None:
    """To make a TLS context, and to describe a mail that no parser could read, takes a thread each."""
    authority = Authority(tmp_path)
    async with (
        asyncio.TaskGroup() as group,
        ScriptedRelay(tls=authority.server(), is_implicit=True) as relay,
        asyncio.timeout(20),
    ):
        asking = [group.create_task(find_addresses(silence.relay(f"r{n}"))) for n in range(64)]
        await silence.until_asked(16)
        pool = make_pool(relay, tls=Tls.IMPLICIT, tls_ca=authority.path)
        assert (await send(pool)).is_reusable
        await pool.close()
        nursery = Nursery(size=1, wall_s=0.0)
        read = await nursery.parse(mail(f"From: {ALICE}\n\nwords\n"), ALICE, tmp_path)
        assert (read.parse, read.sender and read.sender.address) == (Parse.LIMITED, ALICE)
        await nursery.close()
        assert not any(one.done() for one in asking)
        silence.end.set()


async def test_a_name_is_asked_for_once_however_many_wait_for_it(silence: Silence) -> None:
    relay = silence.relay("r")
    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(find_addresses(relay)) for _ in range(20)]
        await silence.until_asked(1)
        asking[0].cancel()
        await breathe()
        assert [one.cancelled() for one in asking] == [True] + [False] * 19
        silence.end.set()
    assert len({one.result() for one in asking[1:]}) == 1
    assert silence.asked == [relay.host]
    assert await find_addresses(relay)
    assert silence.asked == [relay.host] * 2


async def test_a_name_that_nobody_waits_for_any_more_is_not_asked_for(silence: Silence) -> None:
    """Else a stop would wait for all of them, sixteen at a time, and so would names that are wanted."""
    async with asyncio.TaskGroup() as group:
        for number in range(16):
            group.create_task(find_addresses(silence.relay(f"r{number}")))
        await silence.until_asked(16)
        given_up = group.create_task(find_addresses(silence.relay("late")))
        await breathe()
        given_up.cancel()
        wanted = group.create_task(find_addresses(silence.relay("wanted")))
        await breathe()
        silence.end.set()
        assert await wanted
    assert silence.relay("late").host not in silence.asked
    assert await find_addresses(silence.relay("late"))


async def test_an_address_is_asked_of_nobody(silence: Silence) -> None:
    async with asyncio.TaskGroup() as group, asyncio.timeout(10):
        for number in range(64):
            group.create_task(find_addresses(silence.relay(f"r{number}")))
        await silence.until_asked(16)
        for host in ("127.0.0.1", "::1"):
            wanted = Relay(id="r", host=host, port=25, tls=Tls.NONE)
            ((_, place),) = await find_addresses(wanted)
            assert place[0] == host
        silence.end.set()


async def test_where_no_thread_can_be_had_a_dial_fails_and_the_next_one_asks_again(
    silence: Silence, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError

    silence.end.set()
    relay = silence.relay("r")
    monkeypatch.setattr("postroom.outbound.names._NAMES", _Names())
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(RelayFault, match="temporarily unavailable"):
            await find_addresses(relay)
    assert await find_addresses(relay)
