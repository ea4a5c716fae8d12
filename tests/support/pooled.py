"""A pool of connections to a scripted relay, and a mail that goes through it."""

from collections.abc import AsyncIterator
from datetime import timedelta

from postroom.core.mailbox import Relay, Tls
from postroom.outbound.pool import Pool
from postroom.outbound.timeouts import Timeouts
from postroom.ports.relay import Dialogue, Envelope, RelaySession
from support.relay import ScriptedRelay


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
