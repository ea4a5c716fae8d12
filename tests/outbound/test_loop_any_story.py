"""The delivery loop in any story: whatever relay, store, clock and people do, in the end all has gone and nothing is held.

The store answers late and sometimes not at all, relays refuse, throttle and vanish, people cancel, move, pause and reload.
"""

import random  # noqa: TID251 - each story has a seed
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from postroom.core.changeover import change_mailbox
from postroom.core.delivery import UNSETTLED, WAITING, DeliveryState
from postroom.core.instant import SECOND, Instant, Moment
from postroom.core.mailbox import DomainPace, Lane, Mailbox, Pace
from postroom.core.reply import Stage
from postroom.ports.changes import MailboxPaused, RowsGone
from postroom.ports.errors import RelayFault, StoreUnavailable
from postroom.ports.relay import Dialogue, Envelope
from support.clock import settle
from support.loop import Loop, loop, mailbox, relay
from support.loop_outbox import FakeOutbox
from support.loop_parts import SENT, refused


SENDING, PENDING = DeliveryState.SENDING, DeliveryState.PENDING
THROTTLED = "4.7.0 [TSS04] Messages temporarily deferred due to unexpected volume"
ENDS = (
    *[SENT] * 12,
    *[refused(Stage.RCPT, 450, "4.2.1 busy")] * 3,
    refused(Stage.MAIL, 421, THROTTLED),
    refused(Stage.RCPT, 550, "5.1.1 no such user"),
    refused(Stage.MAIL, 550, "5.7.1 sender refused"),
    replace(SENT, reply=None, fault="connection lost"),
    RelayFault(Stage.MAIL, "gone"),
)
TOLD = (105, 204)  # stories in which something that waited was forgotten once


@dataclass
class Story:
    """What happens, by chance; `is_over`: from now on everybody does what they should."""

    chance: random.Random
    is_over: bool = False
    run: Loop = field(init=False)

    def __post_init__(self) -> None:
        relays = (relay(concurrency=self.chance.choice([3, 20])),)
        slots = self.chance.choice([2, 5, 20])
        self.run = loop(self.settings(), mailbox("other"), slots=slots, relays=relays)
        self.run.pools["main"].script = self.script

    def settings(self) -> Mailbox:
        pick = self.chance.choice
        paced = {"d0.example": DomainPace(concurrency=2)}
        return mailbox(
            concurrency=pick([2, 4, 10]),
            pace=Pace(per_second=pick([None, 2, 20]), burst=pick([1, 5])),
            domain_pace=pick([{}, paced]),
        )

    def script(self, envelope: Envelope) -> Dialogue | RelayFault | Awaitable[Dialogue]:
        if self.is_over:
            return SENT
        end = self.chance.choice(ENDS)
        if not envelope.recipient:  # a dial
            return end if isinstance(end, RelayFault) else SENT
        is_late = isinstance(end, Dialogue) and self.chance.random() < 0.5
        return self.answer(end) if is_late else end

    async def answer(self, end: Dialogue) -> Dialogue:
        await self.run.clock.sleep(self.chance.choice([0.1, 1, 3, 40]))
        return end

    async def lag(self) -> None:
        """The store takes its time, and sometimes says no."""
        if not self.is_over:
            await settle(self.chance.choice([1, 1, 2, 5, 20, 60]))
            if self.chance.random() < 0.15:
                message = "later"
                raise StoreUnavailable(message)

    def happen(self) -> None:
        """The next step of it."""
        for _ in range(self.chance.randrange(6)):
            self.hand_in()
        for doing, odds in (
            (self.cancel, 0.3),
            (self.move, 0.8),
            (self.pause, 0.05),
            (self.reload, 0.03),
            (self.jump, 0.02),
        ):
            if self.chance.random() < odds:
                doing()

    def hand_in(self) -> None:
        pick, now = self.chance.choice, self.run.clock.now()
        self.run.store.add(
            pick(["box", "box", "other"]),
            pick([*Lane]),
            f"d{self.chance.randrange(4)}.example",
            has_attachments=pick([False, False, True]),
            is_suspect=self.chance.random() < 0.05,
            due_at=Instant(now + pick([0, 0, 0, 5, 60]) * SECOND),
            not_after=pick([None, None, None, Instant(now + pick([1, 30, 500]) * SECOND)]),
        )

    def cancel(self) -> None:
        number = self.any_of(WAITING)
        if number is not None:
            self.run.store.take_out(number, DeliveryState.CANCELLED)
            self.run.dispatcher.committed([RowsGone((number,))])

    def move(self) -> None:
        due_at = Instant(self.run.clock.now() + self.chance.choice([0, 2, 100]) * SECOND)
        number = self.any_of(WAITING | {SENDING})
        if number is None:
            return
        if self.run.store.state(number) is not SENDING:
            self.run.store.take_out(number, PENDING)
            self.run.dispatcher.committed([RowsGone((number,))])
        self.run.store.move(number, due_at)

    def pause(self, *, is_paused: bool | None = None) -> None:
        is_paused = self.chance.random() < 0.4 if is_paused is None else is_paused
        told = MailboxPaused("box", is_paused=is_paused, by="uid:0", reason="")
        self.run.dispatcher.committed([told])

    def reload(self) -> None:
        now = Moment(self.run.clock.now(), self.run.clock.monotonic())
        change_mailbox(self.run.worlds["box"].mailbox, self.settings(), now)
        self.run.dispatcher.switch(self.run.worlds)

    def jump(self) -> None:
        self.run.clock.jump(self.chance.choice([-300, -90, -10, 90]))

    def any_of(self, states: frozenset[DeliveryState]) -> int | None:
        rows = self.run.store.rows
        found = [number for number in rows if self.run.store.state(number) in states]
        return self.chance.choice(found) if found else None


def beset(monkeypatch: pytest.MonkeyPatch, story: Story) -> None:
    """Have the store do what the story says."""
    for name in ("find_waiting", "start", "mark", "finish", "end_expired", "pull_in"):
        monkeypatch.setattr(FakeOutbox, name, _late(story, getattr(FakeOutbox, name)))


def _late(story: Story, method: Any) -> Any:
    async def call(*given: Any, **more: Any) -> Any:
        await story.lag()
        return await method(*given, **more)

    return call


@pytest.mark.parametrize("seed", [*range(6), *TOLD])
async def test_in_the_end_all_has_gone_and_nothing_is_held(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    story = Story(random.Random(seed))  # noqa: S311
    run, pick = story.run, story.chance.choice
    beset(monkeypatch, story)
    async with run:
        for _ in range(100):
            story.happen()
            run.clock.advance(pick([0.05, 0.5, 1, 5, 30]))
            await settle(pick([3, 30, 100]))
        story.is_over = True
        story.pause(is_paused=False)
        await run.run(8 * 3600, step=30)
        assert story.any_of(UNSETTLED) is None
        held = [*(world.mailbox.in_flight for world in run.worlds.values()), run.host.in_slots]
        held += [run.host.slow, run.host.suspects, run.host.with_attachments]
        assert not any(held), held
        assert run.flights.is_empty
