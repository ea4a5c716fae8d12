"""The daily digest in the running daemon: once a day each mailbox's owner hears what ended unsent, and what is in doubt.

A digest is noted when its mails are jobs; a crash before that makes the same mails again, under the same keys. What no
mailbox takes now (its queue is full) is tried again at the next look, and what was missed while the daemon was off is made
up for at its start. By a clock that is not believed nothing is sent.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from postroom.core.digest import Account, Unsent, digest_letter, due_before
from postroom.core.instant import SECOND, Instant, micros
from postroom.ops.chronicle import Chronicle
from postroom.ops.clocktrust import ClockTrust
from postroom.ports.digesting import Digests
from postroom.ports.errors import StoreBroken, StoreError
from postroom.ports.host import Clock
from postroom.service.ownermail import OwnerMail, Posting
from postroom.service.resting import rest


BITE: Final = 500
_LONGEST_S: Final = 900.0  # between two looks: the wall clock may have been set
_AFTER_FAULT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Letters:
    """Who carries them, and the name of the host that they speak of."""

    mail: OwnerMail
    host: Callable[[], str]


class DigestKeeper:
    """Runs until it is cancelled; `at` is the time of the day, UTC."""

    def __init__(
        self,
        digests: Digests,
        letters: Letters,
        at: timedelta,
        clock: Clock,
        trust: ClockTrust,
        chronicle: Chronicle,
    ) -> None:
        self._digests = digests
        self._mail, self._host = letters.mail, letters.host
        self._at = at
        self._clock = clock
        self._trust = trust
        self._chronicle = chronicle
        self._bell = asyncio.Event()
        # Mails may be jobs that are not noted: another mailbox must not carry them again.
        self._is_again = True

    def switch(self, at: timedelta) -> None:
        """From now on at this time of the day, and to whoever owns the mailboxes now."""
        self._at = at
        self._bell.set()

    async def run(self) -> None:
        """Tell once a day. Raises: StoreBroken."""
        while True:
            self._bell.clear()
            await rest(self._clock, self._bell, await self._look())

    async def _look(self) -> float:
        """Tell what is due; how many seconds nothing else will be."""
        now = self._clock.now()
        due = due_before(now, self._at)
        try:
            if not self._trust.is_doubted():
                await self._tell(now, due)
                self._is_again = False
        except StoreBroken:
            raise
        except StoreError as error:
            self._is_again = True
            self._chronicle.store_refused(error)
            return _AFTER_FAULT_S
        following = due_before(Instant(due + micros(timedelta(hours=36))), self._at)
        return min(_LONGEST_S, max(1.0, (following - now) / SECOND))

    async def _tell(self, now: Instant, due: Instant) -> None:
        """Whoever owns a mailbox since now is told of what comes from now on; so is who was told by a clock that went back."""
        known, owners = await self._digests.find_told(), self._mail.owned()
        begun = {id_: now for id_ in owners if known.get(id_, Instant(now + 1)) > now}
        late = {id_: known[id_] for id_ in owners if id_ not in begun and known[id_] < due}
        told = begun
        for mailbox_id, account in (await self._gather(late, due)).items():
            letter = digest_letter(mailbox_id, account, due, self._host())
            key = self._mail.key("digest", f"{mailbox_id} {due}")
            if (
                letter is None
                or await self._is_told(key)
                or await self._mail.post(
                    Posting(letter, owners[mailbox_id], key, frozenset({mailbox_id}))
                )
            ):
                told[mailbox_id] = due
        if told:
            await self._digests.note(told)

    async def _is_told(self, key: str) -> bool:
        return self._is_again and await self._mail.is_posted(key)

    async def _gather(self, late: Mapping[str, Instant], due: Instant) -> dict[str, Account]:
        """What is to be told of each mailbox."""
        accounts = {id_: Account(since) for id_, since in late.items()}
        if not accounts:
            return accounts
        since = min(account.since for account in accounts.values())
        async for one in _each(partial(self._digests.find_failed, since, due)):
            if one.mailbox_id in accounts:
                accounts[one.mailbox_id].add(one)
        for mailbox_id, account in accounts.items():
            async for one in _each(partial(self._digests.find_doubts, mailbox_id)):
                account.add(one)
        return accounts


_Find = Callable[[Unsent | None, int], Awaitable[tuple[Unsent, ...]]]


async def _each(find: _Find) -> AsyncIterator[Unsent]:
    """All of it, a bite at a time."""
    last: Unsent | None = None
    while found := await find(last, BITE):
        for one in found:
            yield one
        last = found[-1]
