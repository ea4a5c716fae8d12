"""A store with a clock, in which a robot and a person write, until what they do is a loop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.inmail import AutomationKind
from postroom.core.instant import SECOND, Instant
from postroom.ports.accepting import Accepted
from postroom.ports.looping import MarkStopped, Started
from postroom.store.sqlite.outbox import Outbox
from support.arrivals import PostOffice, in_mail
from support.desk_store import Told
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job, outcome_of, start_of


S = DeliveryState
K = AutomationKind
ROBOT = "robot@desk.example"


@dataclass
class House:
    """A store with a clock, in which a robot and a person write."""

    outbox: Outbox
    told: Told
    office: PostOffice
    now: Instant = NOON
    said: list[dict[str, Any]] = field(default_factory=list)
    mails: int = 0

    def pass_(self, microseconds: int) -> None:
        self.now = Instant(self.now + microseconds)

    async def write(self, to: str = ROBOT, thread: int | None = None, **more: Any) -> Accepted:
        """A job is accepted, and waits."""
        head = more.pop("head", None)
        new = new_job(
            self.outbox.intake, to, at=self.now, due_at=self.now, thread_number=thread, **more
        )
        if head is not None:
            new = replace(new, deliveries=tuple(replace(one, head=head) for one in new.deliveries))
        done = await self.outbox.intake.accept(new)
        assert isinstance(done, Accepted)
        return done

    async def start(self, number: int) -> Started | MarkStopped | None:
        return await self.outbox.loop.start(replace(start_of(number), at=self.now))

    async def send(self, to: str = ROBOT, thread: int | None = None, **more: Any) -> int:
        """The number of a delivery that went out."""
        done = await self.write(to, thread, **more)
        number = done.deliveries[0].number
        started = await self.start(number)
        assert isinstance(started, Started), started
        assert await self.outbox.loop.mark(number, started.claim, self.now) == self.now
        await self.outbox.loop.finish(
            replace(outcome_of(number, started.claim, S.SENT), at=self.now)
        )
        return number

    async def hear(
        self,
        sender: str = ROBOT,
        kind: AutomationKind = K.AUTO_REPLY,
        *,
        thread: int | None = None,
        subject: str = "Automated Response: Re: Automated Response: s",
        **more: Any,
    ) -> dict[str, Any]:
        """The event of a mail; in a thread that has a delivery of ours, or in a new one."""
        self.mails += 1
        ids: tuple[str, ...] = ()
        if thread is not None:
            found = await self.outbox.conversations.find_thread(thread, 1)
            assert found is not None
            ids = (found.deliveries[0].message_id,)
        mail = in_mail(
            sender, subject if ids else f"{self.mails} {subject}", automation=kind,
            text=str(self.mails), in_reply_to=ids,
        )  # fmt: skip
        event = await self.office.published(mail, at=self.now, **more)
        self.said.append(event)
        return event

    async def state(self, number: int) -> tuple[S, HoldReason | None]:
        found = await self.outbox.reader.find_delivery(number)
        assert found is not None
        return found.state, found.hold_reason

    def changes(self, kind: type) -> list[Any]:
        return [one for one in self.told.changes if isinstance(one, kind)]


HELD = (S.HELD, HoldReason.LOOP)
WAITS = (S.PENDING, None)


@asynccontextmanager
async def house(folder: Path, now: Instant = NOON) -> AsyncIterator[House]:
    async with outbox_in(folder) as outbox:
        told = Told()
        outbox.database.watch(told)
        yield House(outbox, told, PostOffice(outbox), now)


async def loop_in_thread(at: House) -> int:
    """The thread in which the robot just wrote one mail too many."""
    first = await at.write()
    thread = first.deliveries[0].thread_number
    await at.send(thread=thread)
    for _ in range(6):
        await at.hear(thread=thread)
        at.pass_(SECOND)
    return thread
