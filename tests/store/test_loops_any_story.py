"""Whatever is written, sent, heard, resumed and restarted: what is held never goes, and what nothing holds is not held."""

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.inmail import AutomationKind
from postroom.core.instant import MINUTE, Instant
from postroom.ports.looping import MarkStopped, Started
from postroom.store.sqlite import hold_begin, hold_end
from postroom.store.sqlite.holds import BITE, Place, is_held
from support.arrivals import PostOffice, in_mail
from support.desk_store import ANN
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job, outcome_of, start_of


S = DeliveryState
PEERS = ("robot@desk.example", "other@desk.example", "alice@customer.example")
KINDS = (
    AutomationKind.AUTO_REPLY,
    AutomationKind.AUTO_REPLY,
    AutomationKind.LOOP,
    AutomationKind.HUMAN,
)
INDEX = st.integers(0, 30)
STEPS = st.one_of(
    st.tuples(st.just("write"), st.tuples(st.integers(0, 2), st.none() | INDEX)),
    st.tuples(st.just("start"), INDEX),
    st.tuples(st.just("mark"), INDEX),
    st.tuples(st.just("finish"), st.tuples(INDEX, st.booleans())),
    st.tuples(
        st.just("hear"),
        st.tuples(st.integers(0, 2), st.integers(0, 3), st.none() | INDEX, st.integers(1, 8)),
    ),
    st.tuples(st.just("resume"), INDEX),
    st.tuples(st.just("wait"), st.integers(1, 30)),
    st.tuples(st.just("settle"), st.integers(1, 3)),
)
ALL = "SELECT number, mailbox_id, thread, recipient_key, domain, state, hold_reason FROM delivery"


class Story:
    """A store and what was done with it."""

    def __init__(self, outbox: Any, *, is_in_steps: bool) -> None:
        self.outbox = outbox
        self.is_in_steps = is_in_steps
        self.now = NOON
        self.threads: list[int] = []
        self.deliveries: list[int] = []
        self.claims: dict[int, int] = {}
        self.marked: set[int] = set()
        self.recovered: set[int] = set()
        self.mails = 0

    async def write(self, drawn: tuple[int, int | None]) -> None:
        peer, index = drawn
        thread = pick(self.threads, index)
        new = new_job(
            self.outbox.intake, PEERS[peer], at=self.now, due_at=self.now, thread_number=thread
        )
        done = await self.outbox.intake.accept(new)
        (one,) = done.deliveries
        self.threads.append(one.thread_number)
        self.deliveries.append(one.number)

    async def start(self, index: int) -> None:
        number = pick(self.deliveries, index)
        if number is None:
            return
        held = await self.is_held(number)
        started = await self.outbox.loop.start(replace(start_of(number), at=self.now))
        if isinstance(started, Started):
            assert not held, "what is held never starts"
            self.claims[number] = started.claim

    async def mark(self, index: int) -> None:
        number = pick(self.deliveries, index)
        if number in self.claims:
            held = await self.is_held(number)
            said = await self.outbox.loop.mark(number, self.claims[number], self.now)
            if not isinstance(said, MarkStopped):
                assert not held, "what is held is never marked"
                self.marked.add(number)
            elif said.state is S.HELD:
                self.claims.pop(number)

    async def finish(self, drawn: tuple[int, bool]) -> None:
        number = pick(self.deliveries, drawn[0])
        if number in self.claims and number in self.marked:
            after = S.SENT if drawn[1] else S.RETRY_SCHEDULED
            done = outcome_of(number, self.claims.pop(number), after)
            done = replace(done, at=self.now, due_at=self.now)
            self.marked.discard(number)
            assert await self.outbox.loop.finish(done) is after, "after the mark nothing is held"

    async def hear(self, drawn: tuple[int, int, int | None, int]) -> None:
        peer, kind, index, times = drawn
        for _ in range(times):
            self.mails += 1
            thread = pick(self.threads, index)
            ids: tuple[str, ...] = ()
            if thread is not None:
                found = await self.outbox.conversations.find_thread(thread, 1)
                ids = (found.deliveries[0].message_id,)
            mail = in_mail(
                PEERS[peer],
                f"{self.mails}",
                automation=KINDS[kind],
                in_reply_to=ids,
                text=str(self.mails),
            )
            await PostOffice(self.outbox).publish(mail, at=self.now)

    async def resume(self, index: int) -> None:
        thread = pick(self.threads, index)
        if thread is not None:
            await self.outbox.admin.resume_thread(thread, ANN, self.now)
            found = await self.outbox.conversations.find_thread(thread, 100)
            assert found.holds == ()
            is_free = all(one.hold_reason is not HoldReason.LOOP for one in found.deliveries)
            assert is_free or self.is_in_steps

    async def settle(self, steps: int) -> None:
        for _ in range(steps):
            await self.outbox.inbox.settle_holds(self.now)

    async def wait(self, minutes: int) -> None:
        self.now = Instant(self.now + minutes * MINUTE)

    async def is_held(self, number: int) -> bool:
        def look(conn: Any) -> bool:
            row = conn.execute(f"{ALL} WHERE number = ?", (number,)).fetchone()
            return is_held(conn, place_of(row))

        return bool(await self.outbox.database.read(look))

    async def check(self) -> None:
        def look(conn: Any) -> None:
            for row in conn.execute(ALL).fetchall():
                held = is_held(conn, place_of(row))
                is_for_loop = row["hold_reason"] == HoldReason.LOOP
                assert is_for_loop == (row["state"] == S.HELD)
                assert not is_for_loop or held, "nothing stays held when it is freed"
                is_new = row["number"] not in self.recovered
                assert not (held and row["state"] == S.PENDING and is_new), "what waits is held"

        await self.outbox.database.read(look)


def place_of(row: Any) -> Place:
    return Place(row["mailbox_id"], row["thread"], row["recipient_key"], row["domain"])


def pick(from_: list[int], index: int | None) -> int | None:
    return None if index is None or not from_ else from_[index % len(from_)]


@pytest.mark.parametrize("bite", [BITE, 2], ids=["at once", "in steps"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(days=st.lists(st.lists(STEPS, max_size=12), min_size=1, max_size=2))
def test_what_is_held_never_goes_and_what_nothing_holds_is_not_held(
    days: list[list[tuple[str, Any]]], bite: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hold_begin, "BITE", bite)
        patch.setattr(hold_end, "BITE", bite)
        asyncio.run(run(days, is_in_steps=bite != BITE))


async def run(days: list[list[tuple[str, Any]]], *, is_in_steps: bool) -> None:
    """Each list of steps is one run of the daemon; between two of them it is stopped."""
    with tempfile.TemporaryDirectory() as directory:
        story: Story | None = None
        for steps in days:
            async with outbox_in(Path(directory)) as outbox:
                if story is None:
                    story = Story(outbox, is_in_steps=is_in_steps)
                story.outbox = outbox
                story.recovered |= set(story.claims)  # they wait, and are held when they are taken
                story.claims.clear()
                story.marked.clear()
                for name, drawn in steps:
                    await getattr(story, name)(drawn)
                    if not is_in_steps:
                        await story.check()
        assert story is not None
        async with outbox_in(Path(directory)) as outbox:
            story.outbox = outbox
            story.recovered |= set(story.claims)
            while await outbox.inbox.settle_holds(story.now):
                pass
            await story.check()
