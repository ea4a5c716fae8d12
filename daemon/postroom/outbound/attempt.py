"""One attempt: one recipient, one SMTP transaction, one mark.

It borrows a connection, speaks the dialogue and reports how it ended. What that means is `outbound/judge`'s part,
what it leads to the dispatcher's. An attempt that is cancelled (drain) reports as any other: nothing that went out
is forgotten.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from postroom.core.ids import Kind, encode_id
from postroom.core.mailbox import Mailbox
from postroom.core.message import date_line
from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.outbound.backlog import Backlog
from postroom.ports.composing import Composer
from postroom.ports.errors import ContentFault, RelayFault, StoreError, StoreUnavailable
from postroom.ports.host import Clock
from postroom.ports.looping import MarkStopped, Started
from postroom.ports.outbox import LoopStore
from postroom.ports.relay import Dialogue, Envelope, RelayPool, RelaySession, Unfit


@dataclass(frozen=True, slots=True)
class Ended:
    """How a try ended.

    At most one of `reply`, `fault`, `unfit`, `file_reason` and `stopped` decides, in the order stopped, file_reason,
    unfit, reply, fault. `is_connected`: the relay greeted us and took our login. `is_dotted`: the terminator was
    handed to the transport, or may have been. `is_mark_refused`: the store could not take the mark.
    `is_interrupted`: we gave it up ourselves. `is_starved`: this host was too short of something to read a file of it.
    """

    stage: Stage
    reply: SmtpReply | None = None
    fault: str | None = None
    unfit: Unfit | None = None
    file_reason: ReasonCode | None = None
    stopped: MarkStopped | None = None
    is_connected: bool = False
    reached_mail: bool = False
    is_marked: bool = False
    is_dotted: bool = False
    is_mark_refused: bool = False
    is_interrupted: bool = False
    is_starved: bool = False


class Attempts:
    """Makes attempts; holds what they share."""

    def __init__(
        self, store: LoopStore, composer: Composer, backlog: Backlog, clock: Clock
    ) -> None:
        self._store = store
        self._composer = composer
        self.backlog = backlog
        self._clock = clock

    async def run(
        self, started: Started, mailbox: Mailbox, pool: RelayPool, on_slow: Callable[[], None]
    ) -> Ended:
        """Try once; how it ended. Never raises but for a defect."""
        mark = _Mark(self._store, self.backlog, self._clock, started)
        try:
            reason = await self._composer.check_pins(started.body)
            if reason is not None:
                return Ended(stage=Stage.CONNECT, file_reason=reason)
            session = await pool.borrow()
        except StoreUnavailable:
            return Ended(stage=Stage.CONNECT, is_starved=True)
        except RelayFault as fault:
            return Ended(stage=fault.stage, reply=fault.reply, fault=fault.detail)
        except asyncio.CancelledError:
            return _interrupted(mark)
        return await self._transact(session, started, mailbox, pool, mark, on_slow)

    async def _transact(
        self,
        session: RelaySession,
        started: Started,
        mailbox: Mailbox,
        pool: RelayPool,
        mark: "_Mark",
        on_slow: Callable[[], None],
    ) -> Ended:
        is_reusable = False
        try:
            date = date_line(started.date_at)
            content = self._composer.content(date, started.head, started.body)
            size_bytes = len(date) + len(started.head) + started.body.size_bytes
            envelope = Envelope(
                sender=started.envelope_from or mailbox.address,
                recipient=started.recipient,
                envid=encode_id(Kind.DELIVERY, started.number),
                size_bytes=size_bytes,
                is_head_ascii=started.head.isascii(),
                wants_success=mailbox.wants_success,
            )
            end = await session.transact(envelope, content, mark, on_slow)
            is_reusable = isinstance(end, Unfit) or end.is_reusable
        except RelayFault as fault:
            return Ended(stage=fault.stage, reply=fault.reply, fault=fault.detail)
        except StoreUnavailable:
            return Ended(stage=Stage.BODY, is_connected=True, reached_mail=True, is_starved=True)
        except ContentFault as fault:
            return Ended(
                stage=Stage.BODY,
                file_reason=fault.reason,
                is_connected=True,
                reached_mail=True,
            )
        except asyncio.CancelledError:
            return _interrupted(mark)
        finally:
            pool.give_back(session, is_reusable=is_reusable)
        if isinstance(end, Unfit):
            return Ended(stage=end.stage, unfit=end, is_connected=True)
        return _ended(end, mark)


class _Mark:
    """Asks the store for the mark, and remembers what it said."""

    def __init__(self, store: LoopStore, backlog: Backlog, clock: Clock, started: Started) -> None:
        self._store = store
        self._backlog = backlog
        self._clock = clock
        self._started = started
        self.is_made = False
        self.is_refused = False
        self.stopped: MarkStopped | None = None

    async def __call__(self) -> bool:
        """Whether the terminator may go."""
        await self._backlog.clear()
        try:
            said = await self._store.mark(
                self._started.number, self._started.claim, self._clock.now()
            )
        except StoreError:
            self.is_refused = True
            return False
        if isinstance(said, MarkStopped):
            self.stopped = said
            return False
        self.is_made = True
        return True


def _ended(end: Dialogue, mark: _Mark) -> Ended:
    return Ended(
        stage=end.stage,
        reply=end.reply,
        fault=end.fault,
        stopped=mark.stopped,
        is_connected=True,
        reached_mail=end.reached_mail,
        is_marked=end.is_marked,
        is_dotted=end.is_dotted,
        is_mark_refused=mark.is_refused,
    )


def _interrupted(mark: _Mark) -> Ended:
    """We gave it up. A terminator leaves in the step in which the mark says go, so a made mark means doubt."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
    return Ended(
        stage=Stage.DOT if mark.is_made else Stage.CONNECT,
        fault="stopped by us",
        is_marked=True,
        is_dotted=mark.is_made,
        is_interrupted=True,
    )
