"""Connections to a relay are used again, and let go in time."""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.mailbox import Relay, Tls
from postroom.core.reply import Stage
from postroom.outbound.pool import Pool, Session
from postroom.outbound.timeouts import Timeouts
from postroom.ports.errors import RelayFault
from postroom.ports.relay import Dialogue, Envelope, RelaySession
from support.relay import Default, Delay, Drop, Hold, Raw, Reply, ScriptedRelay


QUICK = Timeouts(connect=timedelta(seconds=2), leave=timedelta(seconds=0.2))
ENVELOPE = Envelope("a@a.example", "b@b.example", "dlv_1", 8)


async def content() -> AsyncIterator[bytes]:
    yield b"hello\r\n"


async def go() -> bool:
    return True


def make_pool(relay: ScriptedRelay, **settings: object) -> Pool:
    wanted = {"id": "r", "host": "127.0.0.1", "port": relay.port, "tls": Tls.NONE} | settings
    return Pool(Relay(**wanted), "client.example", QUICK)


async def send(pool: Pool) -> Dialogue:
    session = await pool.borrow()
    ended = await transact(session)
    pool.give_back(session, is_reusable=ended.is_reusable)
    return ended


async def transact(session: RelaySession) -> Dialogue:
    ended = await session.transact(ENVELOPE, content, go, lambda: None)
    assert isinstance(ended, Dialogue)
    return ended


async def test_one_connection_carries_one_mail_after_another() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        for _ in range(3):
            await send(pool)
        await pool.close()
        assert len(relay.connections) == 1
        assert relay.copies("b@b.example") == 3
        assert relay.transactions[0].content == b"hello\r\n"
        assert relay.transactions[0].mail_parameters == ["SIZE=8", "RET=HDRS", "ENVID=dlv_1"]


async def test_the_session_that_was_used_last_is_used_first() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        first, second = await pool.borrow(), await pool.borrow()
        pool.give_back(first, is_reusable=True)
        pool.give_back(second, is_reusable=True)
        assert await pool.borrow() is second
        assert await pool.borrow() is first
        await pool.close()


async def test_a_connection_ends_after_as_many_mails_as_it_may_carry() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay, max_per_connection=2)
        for _ in range(5):
            await send(pool)
        await pool.close()
        assert [sum(t.connection is c for t in relay.transactions) for c in relay.connections] == [
            2,
            2,
            1,
        ]
        await relay.until(lambda: all(c.commands[-1] == "QUIT" for c in relay.connections))


async def test_an_idle_connection_is_left_in_time() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay, idle_close=timedelta(seconds=0.05))
        await send(pool)
        await relay.until(lambda: not relay.connections[0].is_open)
        assert relay.connections[0].commands[-1] == "QUIT"
        await send(pool)
        assert len(relay.connections) == 2
        await pool.close()


async def test_a_connection_that_the_relay_closed_while_idle_is_forgotten() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        relay.on("dot", Reply("250 ok"), Delay(0.05), Drop(), times=1)
        assert (await send(pool)).is_reusable
        await relay.until(lambda: not relay.connections[0].is_open)
        ended = await send(pool)
        assert ended.reply is not None
        assert ended.reply.code == 250
        assert len(relay.connections) == 2
        await pool.close()


async def test_a_connection_that_speaks_while_idle_is_dropped() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        relay.on("dot", Reply("250 ok"), Delay(0.05), Raw(b"421 4.4.2 bye\r\n"), times=1)
        assert (await send(pool)).is_reusable
        await relay.until(lambda: not relay.connections[0].is_open)
        assert "QUIT" not in relay.connections[0].commands
        await send(pool)
        assert len(relay.connections) == 2
        await pool.close()


async def test_what_is_not_reusable_is_left() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        pool.give_back(await pool.borrow(), is_reusable=False)
        await relay.until(lambda: relay.connections[0].commands[-1:] == ["QUIT"])
        await pool.close()


async def test_closing_waits_for_a_silent_relay_no_longer_than_it_says() -> None:
    async with ScriptedRelay() as relay:
        relay.on("quit", Hold())
        pool = make_pool(relay)
        await send(pool)
        async with asyncio.timeout(1):
            await pool.close()
        await relay.until(lambda: relay.connections[0].commands[-1] == "QUIT")


async def test_a_session_that_comes_back_after_closing_is_left() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        session = await pool.borrow()
        await pool.close()
        pool.give_back(session, is_reusable=True)
        await relay.until(lambda: not relay.connections[0].is_open)


async def test_every_address_is_tried_before_it_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedRelay() as relay, ScriptedRelay(host="127.0.0.2") as refusing:
        closed = socket.socket()
        closed.bind(("127.0.0.3", 0))  # bound, and nobody listens
        places = [
            closed.getsockname(),
            ("127.0.0.2", refusing.port),
            ("127.0.0.1", relay.port),
        ]
        refusing.on("connect", Reply("554 5.3.2 not me"))
        _resolve(monkeypatch, places)
        pool = make_pool(relay, host="relay.example")
        assert (await send(pool)).is_dotted
        _resolve(monkeypatch, places[:2])
        broken = make_pool(relay, host="relay.example")
        with pytest.raises(RelayFault) as caught:
            await broken.borrow()
        closed.close()
        assert caught.value.stage is Stage.GREETING
        assert "Connection refused" in caught.value.detail
        assert "554 5.3.2 not me" in caught.value.detail
        await pool.close()


def _resolve(monkeypatch: pytest.MonkeyPatch, places: list[tuple[str, int]]) -> None:
    async def getaddrinfo(host: str, port: int, **hints: object) -> list[object]:
        assert host == "relay.example"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


async def test_a_fault_tells_nothing_of_the_password() -> None:
    async with ScriptedRelay(credentials=("u", "right")) as relay:
        pool = make_pool(relay, username="u", password="hunter2-secret")
        with pytest.raises(RelayFault) as caught:
            await pool.borrow()
        fault = caught.value
        assert fault.reply is not None
        assert fault.reply.code == 535
        assert fault.reply.enhanced == "5.7.8"
        assert fault.__context__ is None
        assert "hunter2" not in f"{fault!r} {fault.reply!r}"
        assert [c.split()[0] for c in relay.connections[0].commands] == ["EHLO", "AUTH"]


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN", "CRAM-MD5"])
async def test_each_mechanism_logs_in(mechanism: str) -> None:
    async with ScriptedRelay(credentials=("u", "sécret"), auth=("NTLM", mechanism)) as relay:
        pool = make_pool(relay, username="u", password="sécret")
        await send(pool)
        assert relay.connections[0].username == "u"
        await pool.close()


async def test_a_host_without_an_address_is_a_fault() -> None:
    async with ScriptedRelay() as relay:
        for host in ("no-such-host.invalid", "x" * 70 + ".example"):
            with pytest.raises(RelayFault, match="DNS"):
                await make_pool(relay, host=host).borrow()


async def test_a_ca_file_that_is_not_there_is_a_fault() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay, tls=Tls.IMPLICIT, tls_ca="/no/such/file.pem")
        with pytest.raises(RelayFault, match=r"tls_ca /no/such/file\.pem: No such file"):
            await pool.borrow()


async def test_a_ca_file_that_became_a_pipe_is_a_fault_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ca")
    async with ScriptedRelay() as relay:
        pool = make_pool(relay, tls=Tls.IMPLICIT, tls_ca=str(tmp_path / "ca"))
        with pytest.raises(RelayFault, match="it is not a file"):
            await pool.borrow()


async def test_a_dial_as_a_whole_is_bounded() -> None:
    async with ScriptedRelay() as relay:
        hold = Hold()
        relay.on("connect", hold)
        wanted = Relay(id="r", host="127.0.0.1", port=relay.port, tls=Tls.NONE)
        pool = Pool(wanted, "client.example", Timeouts(dial=timedelta(seconds=0.1)))
        with pytest.raises(RelayFault, match="within the time"):
            await pool.borrow()
        hold.release()
        await relay.until(lambda: not relay.connections[0].is_open)


async def test_who_has_no_full_name_gives_an_address_in_ehlo() -> None:
    async with ScriptedRelay() as relay:
        wanted = Relay(id="r", host="127.0.0.1", port=relay.port, tls=Tls.NONE)
        pool = Pool(wanted, "laptop", QUICK)
        await pool.borrow()
        assert relay.connections[0].hello == "[127.0.0.1]"


async def test_the_terminator_leaves_in_the_step_in_which_the_mark_says_go() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        session = await pool.borrow()
        assert isinstance(session, Session)
        written: list[bytes] = []
        transport = session.connection.wire._transport
        asked, said, seen = asyncio.Event(), asyncio.Future[bool](), asyncio.Event()

        class Spy:
            def write(self, data: bytes) -> None:
                written.append(bytes(data))
                transport.write(data)

            def __getattr__(self, name: str) -> object:
                return getattr(transport, name)

        session.connection.wire._transport = Spy()

        async def mark() -> bool:
            asked.set()
            return await said

        def look() -> None:
            assert written[-1] == b".\r\n"
            seen.set()

        async with asyncio.TaskGroup() as group:
            group.create_task(session.transact(ENVELOPE, content, mark, lambda: None))
            await asked.wait()
            assert written[-1] == b"hello\r\n"
            said.set_result(True)
            asyncio.get_running_loop().call_soon(look)
            await seen.wait()
        await pool.close()


async def test_a_cancelled_attempt_drops_the_connection_and_writes_no_terminator() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        session = await pool.borrow()
        asked = asyncio.Event()

        async def mark() -> bool:
            asked.set()
            return await asyncio.get_running_loop().create_future()

        async with asyncio.TaskGroup() as group:
            attempt = group.create_task(session.transact(ENVELOPE, content, mark, lambda: None))
            await asked.wait()
            attempt.cancel()
        pool.give_back(session, is_reusable=False)
        await relay.until(lambda: not relay.connections[0].is_open)
        assert relay.connections[0].received.endswith(b"hello\r\n")
        assert relay.copies("b@b.example") == 0
        await pool.close()


async def test_a_refusal_in_the_middle_closes_the_source_of_the_content() -> None:
    was_closed = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"hello\r\n" * 1000
        finally:
            was_closed.set()

    source = endless()
    async with ScriptedRelay() as relay:
        relay.on("body", Reply("552 5.3.4 too big"), after_bytes=100_000)
        pool = make_pool(relay)
        session = await pool.borrow()
        ended = await session.transact(ENVELOPE, lambda: source, go, lambda: None)
        assert isinstance(ended, Dialogue)
        assert ended.reply is not None
        assert ended.reply.code == 552
        assert was_closed.is_set()
        pool.give_back(session, is_reusable=ended.is_reusable)
        await pool.close()


async def test_content_that_fails_drops_the_connection_and_closes_its_source() -> None:
    was_closed = asyncio.Event()

    async def broken() -> AsyncIterator[bytes]:
        try:
            yield b"hello\r\n"
            msg = "the file is gone"
            raise OSError(msg)
        finally:
            was_closed.set()

    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        session = await pool.borrow()
        with pytest.raises(OSError, match="the file is gone"):
            await session.transact(ENVELOPE, broken, go, lambda: None)
        pool.give_back(session, is_reusable=False)
        await relay.until(lambda: not relay.connections[0].is_open)
        assert was_closed.is_set()
        assert relay.copies("b@b.example") == 0
        await pool.close()


async def test_a_host_without_a_socket_left_is_a_fault_and_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(*_: object) -> socket.socket:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        with monkeypatch.context() as patched:
            patched.setattr("postroom.outbound.relay.socket.socket", make)
            with pytest.raises(RelayFault, match="Too many open files"):
                await pool.borrow()
        assert (await send(pool)).is_dotted
        await pool.close()


async def test_other_settings_leave_idle_connections_that_do_not_fit_and_serve_those_in_use() -> (
    None
):
    async with ScriptedRelay() as old, ScriptedRelay() as new:
        pool = make_pool(old)
        in_use, idle = await pool.borrow(), await pool.borrow()
        pool.give_back(idle, is_reusable=True)
        pool.switch(Relay("r", "127.0.0.1", new.port, Tls.NONE))
        await old.until(lambda: not old.connections[1].is_open)
        assert old.connections[0].is_open
        await transact(in_use)
        pool.give_back(in_use, is_reusable=True)
        await old.until(lambda: not old.connections[0].is_open)
        await send(pool)
        await pool.close()
        assert (len(old.transactions), len(new.transactions)) == (1, 1)


async def test_bounds_alone_keep_connections_and_count_at_once() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        await send(pool)
        wanted = Relay("r", "127.0.0.1", relay.port, Tls.NONE, max_per_connection=2)
        pool.switch(wanted)
        await send(pool)
        assert len(relay.connections) == 1
        await relay.until(lambda: not relay.connections[0].is_open)
        await send(pool)
        pool.switch(replace(wanted, idle_close=timedelta()))
        await relay.until(lambda: not relay.connections[1].is_open)
        await pool.close()


async def test_a_connection_that_is_being_made_while_settings_change_is_left_after_its_mail() -> (
    None
):
    async with ScriptedRelay() as old, ScriptedRelay() as new:
        hold = Hold()
        old.on("ehlo", hold, Default())
        pool = make_pool(old)
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(send(pool))
            await old.until(lambda: bool(old.connections and old.connections[0].commands))
            pool.switch(Relay("r", "127.0.0.1", new.port, Tls.NONE))
            hold.release()
            await sending
        await old.until(lambda: not old.connections[0].is_open)
        assert (old.copies("b@b.example"), pool.connections) == (1, 0)


async def test_a_connection_that_was_lost_is_made_anew_with_the_new_settings() -> None:
    async with ScriptedRelay() as old, ScriptedRelay() as new:
        pool = make_pool(old)
        await send(pool)
        session = await pool.borrow()
        pool.switch(Relay("r", "127.0.0.1", new.port, Tls.NONE))
        old.on("mail", Drop())
        await transact(session)
        pool.give_back(session, is_reusable=True)
        assert (pool.connections, new.copies("b@b.example")) == (1, 1)
        await pool.close()


async def test_a_pool_that_is_retired_serves_who_has_begun() -> None:
    async with ScriptedRelay() as relay:
        pool = make_pool(relay)
        first, second = await pool.borrow(), await pool.borrow()
        pool.give_back(second, is_reusable=True)
        pool.retire()
        await relay.until(lambda: not relay.connections[1].is_open)
        await transact(first)
        pool.give_back(first, is_reusable=True)
        await send(pool)  # who was started before it was retired may dial after it
        await relay.until(lambda: not any(one.is_open for one in relay.connections))
        assert pool.connections == 0
