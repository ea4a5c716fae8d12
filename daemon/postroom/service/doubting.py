"""Doubt in the running daemon: what mailboxes' `on_uncertain` says is done when it is due, also after a restart."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from postroom.core.delivery import DeliveryState
from postroom.core.instant import MINUTE, SECOND, Instant, later, micros
from postroom.core.mailbox import DoubtPolicy, Mailbox, OnUncertain
from postroom.ops.chronicle import Chronicle
from postroom.ops.clocktrust import ClockTrust
from postroom.ports.changes import Change, StateMoved
from postroom.ports.doubting import Doubts, PolicyTurn
from postroom.ports.errors import StoreBroken, StoreError
from postroom.ports.host import Clock
from postroom.service.resting import rest


BITE: Final = 100
_LONGEST: Final = MINUTE  # between two looks while something is due: the wall clock may have jumped
_AFTER_FAULT: Final = 5 * SECOND


class DoubtKeeper:
    """Carries out policies; an Observer. Sleeps while nothing is in doubt, and for ever where every mailbox holds.

    Doubts that began before the present settings count from when they began. While the clock is doubted nothing is
    done: neither a resend nor an assumption is ever taken back.
    """

    def __init__(
        self,
        doubts: Doubts,
        mailboxes: Mapping[str, Mailbox],
        clock: Clock,
        trust: ClockTrust,
        chronicle: Chronicle,
    ) -> None:
        self._doubts = doubts
        self._clock = clock
        self._trust = trust
        self._chronicle = chronicle
        self._policies: dict[str, DoubtPolicy] = {}
        self._due: dict[str, Instant] = {}
        self._bell = asyncio.Event()
        self.switch(mailboxes)

    def switch(self, mailboxes: Mapping[str, Mailbox]) -> None:
        """Go by the policies of these mailboxes; every doubt there is, is looked at anew."""
        self._policies = {
            id_: box.on_uncertain
            for id_, box in mailboxes.items()
            if box.on_uncertain.kind is not OnUncertain.HOLD
        }
        self._due = dict.fromkeys(self._policies, self._clock.now())
        self._bell.set()

    def committed(self, changes: Sequence[Change]) -> None:
        """Note when a new doubt will be due."""
        for change in changes:
            if isinstance(change, StateMoved) and change.after is DeliveryState.UNCERTAIN:
                self._begin(change.mailbox_id)

    async def run(self) -> None:
        """Run until cancelled. Raises: StoreBroken."""
        while True:
            self._bell.clear()
            wait = self._wait()
            if wait is None or wait > 0:
                await self._rest(wait)
            elif not self._trust.is_doubted():
                await self._settle()
            else:
                await self._rest(_LONGEST)

    def _wait(self) -> int | None:
        """Microseconds until something is due. What lies beyond its own maximum is looked at: the clock was set back."""
        now = self._clock.now()
        for mailbox_id, due in self._due.items():
            if due > later(now, self._policies[mailbox_id].after):
                self._due[mailbox_id] = now
        earliest = min(self._due.values(), default=None)
        return None if earliest is None else earliest - now

    async def _rest(self, wait: int | None) -> None:
        """Until the bell rings, or so many microseconds have passed."""
        if wait is None:
            await self._bell.wait()
        else:
            await rest(self._clock, self._bell, min(wait, _LONGEST) / SECOND)

    async def _settle(self) -> None:
        """Decide what is due in every mailbox whose time has come."""
        now = self._clock.now()
        for mailbox_id in [id_ for id_, due in self._due.items() if due <= now]:
            self._due.pop(mailbox_id, None)  # what is committed from here on is told anew
            try:
                await self._settle_mailbox(mailbox_id)
            except StoreBroken:
                raise
            except StoreError as error:
                self._chronicle.store_refused(error)
                self._note(mailbox_id, Instant(now + _AFTER_FAULT))

    async def _settle_mailbox(self, mailbox_id: str) -> None:
        while (policy := self._policies.get(mailbox_id)) is not None:
            now = self._clock.now()
            until = Instant(now - micros(policy.after))
            turn = PolicyTurn(mailbox_id, policy.kind, until, now, BITE)
            done = await self._doubts.settle_due(turn)
            if done.since is None:
                return
            if done.since > until:
                self._note(mailbox_id, later(done.since, policy.after))
                return

    def _begin(self, mailbox_id: str) -> None:
        policy = self._policies.get(mailbox_id)
        if policy is not None:
            self._note(mailbox_id, later(self._clock.now(), policy.after))

    def _note(self, mailbox_id: str, at: Instant) -> None:
        if mailbox_id not in self._policies:
            return
        due = self._due.get(mailbox_id)
        if due is None or at < due:
            self._due[mailbox_id] = at
            self._bell.set()
