"""The connections of one relay: kept while idle, used again last in, first out, and left with QUIT.

How many are in use at once is the dispatcher's business. A session that was used before may turn out to be dead when
MAIL is written: the relay had enough of it (421), or hung up. That says nothing about the mail: the session dials again,
once, and no attempt is counted (RFC 5321 §3.8; content and mark were not asked for yet).

A relay that hangs up on an idle connection, or speaks on it out of turn, loses it at once (outbound.wire); it is passed
over when its turn comes. One timer serves all idle connections; it runs at most once in each `idle_close`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from postroom.core.mailbox import Relay
from postroom.core.reply import Stage
from postroom.outbound.dialogue import Connection, transact
from postroom.outbound.relay import Dialer
from postroom.outbound.timeouts import Timeouts
from postroom.outbound.wire import LossKind
from postroom.ports.relay import Dialogue, Envelope, RelaySession, Unfit


_CLOSING: Final = 421

Dialled = tuple[Relay, Connection]


class Session:
    """A connection on loan. `transactions` counts those that it has carried, `relay` is what it was made with."""

    def __init__(
        self, dial: Callable[[], Awaitable[Dialled]], timeouts: Timeouts, dialled: Dialled
    ) -> None:
        self._dial = dial
        self._timeouts = timeouts
        self.relay, self.connection = dialled
        self.transactions = 0

    async def transact(
        self,
        envelope: Envelope,
        content: Callable[[], AsyncIterator[bytes]],
        mark: Callable[[], Awaitable[bool]],
        on_slow: Callable[[], None],
    ) -> Dialogue | Unfit:
        """One transaction, as ports.relay.RelaySession says.

        Raises: RelayFault when a connection that was used before is gone and no new one can be made; what `content` and
            `mark` raise.
        """
        while True:
            was_used = self.transactions > 0
            self.transactions += 1
            ended = await transact(
                self.connection, self._timeouts, envelope, content, mark, on_slow
            )
            if not (was_used and self._was_stale(ended)):
                return ended
            self.connection.wire.leave(self._timeouts.leave)
            self.relay, self.connection = await self._dial()
            self.transactions = 0

    def _was_stale(self, ended: Dialogue | Unfit) -> bool:
        if isinstance(ended, Unfit) or ended.stage is not Stage.MAIL:
            return False
        if ended.reply is not None:
            return ended.reply.code == _CLOSING
        lost = self.connection.wire.lost
        return lost is not None and lost.kind is LossKind.CLOSED


@dataclass(frozen=True, slots=True)
class _Idle:
    session: Session
    since: float


class Pool:
    """The sessions of one relay (ports.relay.RelayPool). `host_name` is what we call ourselves in EHLO."""

    def __init__(self, relay: Relay, host_name: str, timeouts: Timeouts | None = None) -> None:
        self._relay = relay
        self._timeouts = timeouts or Timeouts()
        self._host_name = host_name
        self._dialer = Dialer(relay, self._timeouts, host_name)
        self._idle: list[_Idle] = []
        self._leaving: set[asyncio.Future[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._in_use = 0

    @property
    def connections(self) -> int:
        """Open connections, in use and idle."""
        return self._in_use + len(self._idle)

    def switch(self, relay: Relay) -> None:
        """Go on with other settings, or another password: what is open and does not fit is left when it is idle.

        New connections read `tls_ca` anew.
        """
        self._relay = relay
        self._dialer = Dialer(relay, self._timeouts, self._host_name)
        for one in self._idle:
            if one.session.relay.access != relay.access:
                self._leave(one.session)
        self._idle = [one for one in self._idle if one.session.relay.access == relay.access]
        self._set_timer()

    def retire(self) -> None:
        """Leave all that are idle now, every other session when it comes back: nobody new is to come."""
        self._is_closed = True
        for one in self._idle:
            self._leave(one.session)
        self._idle.clear()
        self._set_timer()

    async def borrow(self) -> RelaySession:
        """The session that was idle for the shortest time, or a new one.

        Raises: RelayFault
        """
        while self._idle:
            session = self._idle.pop().session
            if session.connection.wire.is_idle:
                self._in_use += 1
                return session
            self._leave(session)
        session = Session(self._dial, self._timeouts, await self._dial())
        self._in_use += 1
        return session

    def give_back(self, session: RelaySession, *, is_reusable: bool) -> None:
        """Keep it for the next, or close it."""
        if not isinstance(session, Session):
            msg = "not a session of this pool"
            raise TypeError(msg)
        self._in_use -= 1
        wire = session.connection.wire
        is_worn = session.transactions >= self._relay.max_per_connection
        is_old = session.relay.access != self._relay.access
        if self._is_closed or is_worn or is_old or not is_reusable or not wire.is_idle:
            self._leave(session)
            return
        loop = asyncio.get_running_loop()
        self._idle.append(_Idle(session, loop.time()))
        if self._timer is None:
            self._set_timer()

    async def close(self) -> None:
        """Leave all that are idle, within a second; every other session when it comes back."""
        self.retire()
        if self._leaving:
            await asyncio.wait(
                tuple(self._leaving), timeout=2 * self._timeouts.leave.total_seconds()
            )

    async def _dial(self) -> Dialled:
        """A new connection, and what it was made with. Raises: RelayFault."""
        relay, dialer = self._relay, self._dialer
        return relay, await dialer.dial()

    def _leave(self, session: Session) -> None:
        wire = session.connection.wire
        self._leaving.add(wire.closed)
        wire.closed.add_done_callback(self._leaving.discard)
        wire.leave(self._timeouts.leave)

    def _set_timer(self) -> None:
        """For the one that is idle for the longest time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._idle:
            at = self._idle[0].since + self._relay.idle_close.total_seconds()
            self._timer = asyncio.get_running_loop().call_at(at, self._close_idle)

    def _close_idle(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        limit = self._relay.idle_close.total_seconds()
        while self._idle and self._idle[0].since + limit <= now:
            self._leave(self._idle.pop(0).session)
        self._set_timer()
