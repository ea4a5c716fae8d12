"""Mailboxes that leave the settings of a running daemon, or come back: what waits for them is held, or goes on."""

import asyncio
from collections.abc import Container, Iterable, Sequence
from typing import Final

from postroom.core.delivery import WAITING
from postroom.ops.chronicle import Chronicle
from postroom.ports.changes import Change, StateMoved
from postroom.ports.desk import Admin
from postroom.ports.errors import StoreBroken, StoreError
from postroom.ports.host import Clock


_AFTER_FAULT_S: Final = 5.0


class AbsentKeeper:
    """Settles mailboxes one after another; an Observer. Sleeps while none is to be settled.

    What begins to wait for a mailbox that is not in the settings is held as well: a job that was taken in the moment of
    the change, an attempt that was under way.
    """

    def __init__(
        self, admin: Admin, mailboxes: Container[str], clock: Clock, chronicle: Chronicle
    ) -> None:
        self._admin = admin
        self._mailboxes = mailboxes
        self._clock = clock
        self._chronicle = chronicle
        self._unsettled: dict[str, None] = {}
        self._bell = asyncio.Event()

    def committed(self, changes: Sequence[Change]) -> None:
        """Note what waits for nobody."""
        for change in changes:
            if (
                isinstance(change, StateMoved)
                and change.after in WAITING
                and change.mailbox_id not in self._mailboxes
            ):
                self.settle((change.mailbox_id,))

    def settle(self, mailbox_ids: Iterable[str]) -> None:
        """Hold or free what is theirs, as the store has noted them."""
        self._unsettled |= dict.fromkeys(mailbox_ids)
        if self._unsettled:
            self._bell.set()

    async def run(self) -> None:
        """Run until cancelled. Raises: StoreBroken."""
        while True:
            await self._bell.wait()
            self._bell.clear()
            while self._unsettled:
                await self._settle_first()

    async def _settle_first(self) -> None:
        mailbox_id = next(iter(self._unsettled))
        del self._unsettled[mailbox_id]  # what is committed from here on is told anew
        try:
            await self._admin.settle_mailbox(mailbox_id, self._clock.now())
        except StoreBroken:
            raise
        except StoreError as error:
            self._chronicle.store_refused(error)
            self._unsettled[mailbox_id] = None
            await self._clock.sleep(_AFTER_FAULT_S)
