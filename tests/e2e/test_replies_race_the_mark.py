"""A reply that is stored a moment before the mark always wins; what is marked before it goes (CONTRACT §3, "The mark decides")."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from postroom.core.ids import Kind, encode_id
from postroom.selftest.nursery import Nursery
from postroom.store.sqlite import inbox_receive, loop_start
from support.clock import breathe
from support.house import house_in
from support.inward import (
    LISTENER,
    TEMPLATES,
    answer_to,
    came_in,
    free_port,
    listening_at,
    mail_to,
    reply_to,
)
from support.post import Post, open_post, setting, settings
from support.relay import ScriptedRelay
from support.relay_script import Default, Hold, Transaction


PEOPLE = 30
IF_UNANSWERED: dict[str, Any] = {"if": {"thread_version": 0}}


@dataclass
class Order:
    """In which order the writing connection stored replies (by thread) and marks (by delivery)."""

    told: list[tuple[str, int]] = field(default_factory=list)

    def factory(self) -> type[sqlite3.Connection]:
        order = self

        class Watched(sqlite3.Connection):
            def execute(self, sql, parameters=(), /):  # type: ignore[no-untyped-def,override]
                if sql == inbox_receive._NAMES_THREAD:
                    order.told.append(("reply", parameters[0]))
                elif sql == loop_start._MARK:
                    order.told.append(("mark", parameters[1]))
                return super().execute(sql, parameters)

        return Watched

    def place(self, what: str, number: int) -> int | None:
        """When it was stored last."""
        places = [at for at, one in enumerate(self.told) if one == (what, number)]
        return places[-1] if places else None


@asynccontextmanager
async def office(folder: Path, order: Order) -> AsyncIterator[tuple[ScriptedRelay, Post, int]]:
    port = free_port()
    mailbox = f"{TEMPLATES}\nconcurrency = 40"
    async with ScriptedRelay() as relay:
        said = settings(
            folder,
            relay.port,
            mailbox=mailbox,
            relay="concurrency = 40",
            more=LISTENER.format(port=port),
        )
        async with open_post(said, store=setting(factory=order.factory())) as post:
            yield relay, post, port


async def begin(relay: ScriptedRelay, post: Post) -> dict[str, Transaction]:
    """A conversation with everybody; what each of them got."""
    people = [f"p{n}@customer.example" for n in range(PEOPLE)]
    await post.submit(to=people, copies="individual")
    await post.quiet()
    return {one.recipients[0]: one for one in relay.transactions}


async def follow_up(post: Post, thread: int, who: str, **condition: int | str) -> int:
    """A second mail into a thread, that goes only if nobody wrote meanwhile."""
    return await post.submit(
        thread_id=encode_id(Kind.THREAD, thread), to=[who], **{"if": condition}
    )


async def write(port: int, sent: Transaction, text: str, after: int = 0) -> None:
    for _ in range(after):
        await breathe()
    (who,) = sent.recipients
    told = await mail_to(port, answer_to(sent, text, sender=who), reply_to(sent), sender=who)
    assert told.startswith("250"), told


@pytest.mark.parametrize("condition", ["thread_version", "no_inbound_since"])
async def test_whatever_the_moment_no_mail_is_marked_behind_a_reply(
    condition: str, tmp_path: Path
) -> None:
    order = Order()
    async with office(tmp_path, order) as (relay, post, port):
        sent = await begin(relay, post)
        threads = await _threads(post)
        given: dict[str, int | str] = {"thread_version": 0}
        if condition == "no_inbound_since":
            await write(port, sent["p0@customer.example"], "Somebody wrote before.")
            await _until_published(post, 1)
            seq = (await post.outbox.reader.event_span())[2]
            given = {"no_inbound_since": encode_id(Kind.EVENT, seq)}
        holds = _hold_some(relay)
        rest = [who for who in sent if who != "p0@customer.example"]
        order.told.clear()
        jobs: dict[str, int] = {}
        async with asyncio.TaskGroup() as group:
            # some a moment before the job is there, some at any moment of its way, some behind it
            for place, who in enumerate(rest):
                if place % 5 == 0:
                    group.create_task(write(port, sent[who], "Wait."))
                jobs[who] = await follow_up(post, threads[who], who, **given)
                if place % 5 != 0:
                    group.create_task(write(port, sent[who], "Wait.", after=place * 7 % 30))
            for hold in holds:
                await breathe()
                hold.release()
        await post.pass_until_answered(lambda: _are_settled(post, jobs.values()))
        ends = {who: await post.only(job) for who, job in jobs.items()}
        for who, end in ends.items():
            reply = order.place("reply", threads[who])
            mark = order.place("mark", end.number)
            assert reply is not None
            assert (str(end.state) == "sent") is (mark is not None)
            assert mark is None or mark < reply, f"{who} was written to behind a stored reply"
            assert relay.copies(who) == 1 + (mark is not None)
            if mark is None:
                assert (str(end.state), end.attempts) == ("skipped", 0)
                assert end.reason_code == "precondition_false"
        assert {str(end.state) for end in ends.values()} == {"sent", "skipped"}, "no race was run"


def _hold_some(relay: ScriptedRelay) -> list[Hold]:
    """Let the relay think at DATA, one moment before the mark."""
    holds = [Hold() for _ in range(12)]
    for hold in holds:
        relay.on("data", hold, Default(), times=1)
    return holds


async def _threads(post: Post) -> dict[str, int]:
    found = await post.outbox.reader.find_job(1)
    assert found is not None
    return {one.recipient: one.thread_number for one in found.deliveries}


async def _until_published(post: Post, count: int) -> None:
    async def look() -> bool:
        log = await post.outbox.reader.find_events(0, 1000)
        return sum("envelope" in one.data for one in log) >= count

    await post.until_answered(look)


async def _are_settled(post: Post, jobs: Any) -> bool:
    ends = [await post.only(job) for job in jobs]
    return all(str(one.state) in ("sent", "skipped") for one in ends)


async def test_what_was_answered_250_before_the_relay_said_go_on_is_not_answered_though_all_is_killed(
    tmp_path: Path, nursery: Nursery
) -> None:
    """The real daemon: everybody writes while our second mail to them is held at DATA; then it is killed, or goes on."""
    port = free_port()
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery, more=listening_at(port)) as house,
    ):
        pid = await house.start()
        people = [f"p{n}@customer.example" for n in range(PEOPLE)]
        first = await house.post(to=people, copies="individual")
        await house.settled(first["id"])
        sent = {one.recipients[0]: one for one in relay.transactions}
        holds = {who: Hold() for who in people}
        for who, hold in holds.items():
            relay.on("data", hold, Default(), recipient=who, times=1)
        threads = {one["recipient"]: one["thread_id"] for one in first["deliveries"]}
        jobs = {
            who: (await house.post(to=[who], thread_id=threads[who], **IF_UNANSWERED))["id"]
            for who in people
        }
        await relay.until(lambda: sum("DATA" in c.commands for c in relay.connections) >= PEOPLE)

        async def write_and_go_on(who: str, *, is_released: bool) -> None:
            await write(port, sent[who], "Wait.")
            if is_released:
                holds[who].release()

        async with asyncio.TaskGroup() as group:
            for place, who in enumerate(people):
                group.create_task(write_and_go_on(who, is_released=place % 2 == 0))
        await house.kill(pid)
        for hold in holds.values():
            hold.release()
        await house.start()
        for who, job in jobs.items():
            assert await house.settled(job) == {who: "skipped"}
            assert relay.copies(who) == 1
        found = await came_in(house, PEOPLE)
        assert {one["thread"]["id"] for one in found} == set(threads.values())
