"""Connections to a relay are used again, let go in time, and take up other settings."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from postroom.core.mailbox import Relay, Tls
from support.pooled import make_pool, send, transact
from support.relay import ScriptedRelay
from support.relay_script import Default, Delay, Drop, Hold, Raw, Reply


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
