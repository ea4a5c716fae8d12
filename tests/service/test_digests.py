"""What a digest tells and to whom: once, whatever crashes or takes no mail, silent where all is well."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from postroom.core.breaker import CLOSED, trip
from postroom.core.reason import ReasonCode
from postroom.ports.desk import Actor
from postroom.ports.errors import StoreUnavailable
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.digested import DAY, HOUR, OTHER, OWNER, Run, fail, post_with
from support.posted import Posted
from support.relay_script import Drop, Reply


async def test_once_a_day_the_owner_hears_what_ended_unsent(tmp_path: Path) -> None:
    async with post_with(tmp_path) as (relay, post):
        run = Run(post)
        assert await run.look() == [], "what was before the owner is not told"
        post.clock.advance(HOUR)
        await fail(relay, post)
        assert await run.look() == []
        post.clock.advance(23 * HOUR)
        assert await run.look() == ["Digest of support: 1 failed"]
        (job,) = run.posted.jobs
        assert (job["to"], job["mailbox_id"]) == ([OWNER], "support")
        assert "gone@example.com" in job["text"]
        assert "Reply: 550 5.1.1 User unknown" in job["text"]
        assert await run.look() == []
        post.clock.advance(DAY)
        assert await run.look() == [], "there is nothing more to say"


async def test_a_doubt_is_told_each_day_until_it_is_settled(tmp_path: Path) -> None:
    async with post_with(tmp_path) as (relay, post):
        run = Run(post)
        await run.look()
        relay.on("dot", Drop(), times=1)
        job = await post.submit(to=["ceo@example.com"])
        await post.quiet()
        for _ in range(2):
            post.clock.advance(DAY)
            assert await run.look() == ["Digest of support: 1 in doubt"]
        assert await post.states(job) == {"ceo@example.com": "uncertain"}


@pytest.mark.parametrize("refuses", [frozenset[str](), frozenset({"support"})])
@pytest.mark.parametrize("is_crash", [True, False], ids=["a crash", "a fault"])
async def test_what_comes_between_the_mail_and_its_note_makes_no_second_mail(
    refuses: frozenset[str],
    is_crash: bool,  # noqa: FBT001 - a row of the table
    tmp_path: Path,
) -> None:
    """Not even by another mailbox, where the one that carried it is full by then."""
    async with post_with(tmp_path, OTHER) as (relay, post):
        run = Run(post)
        await run.look()
        await fail(relay, post)
        post.clock.advance(DAY)
        digests: Any = run.keeper._digests

        class Crashing:
            find_told, find_failed, find_doubts = (
                digests.find_told,
                digests.find_failed,
                digests.find_doubts,
            )

            async def note(self, told: object) -> None:
                raise StoreUnavailable

        broken: Any = Crashing()
        run.keeper._digests = broken
        assert await run.look() == ["Digest of support: 1 failed"]
        run.posted.refuses = refuses
        run.keeper._digests = digests
        again = Run(post, run.posted) if is_crash else run
        assert await again.look() == []
        assert len(run.posted.jobs) == 1
        assert set((await post.outbox.digests.find_told()).values()) == {post.clock.now()}


async def test_an_owner_who_can_not_be_reached_is_not_told_so(tmp_path: Path) -> None:
    """Our own mail that fails is no reason for more of it."""
    async with post_with(tmp_path) as (relay, post):
        keeper = post.joined.digests
        await keeper._look()
        await fail(relay, post)
        relay.on("rcpt", Reply("550 5.1.1 User unknown"), recipient=OWNER)
        for _ in range(3):
            post.clock.advance(DAY)
            await keeper._look()
            await post.quiet()
        page = await post.outbox.reader.find_dead(None, None, 100)
        assert [one.recipient for one in page.items] == [OWNER, "gone@example.com"]


async def test_a_digest_that_no_mailbox_takes_is_told_as_soon_as_one_does(tmp_path: Path) -> None:
    async with post_with(tmp_path) as (relay, post):
        run = Run(post)
        await run.look()
        await fail(relay, post)
        post.clock.advance(DAY)
        run.posted.refuses = frozenset({"support"})
        assert await run.look() == []
        run.posted.refuses = frozenset()
        assert await run.look() == ["Digest of support: 1 failed"]
        assert await run.look() == []


async def test_a_digest_that_is_not_taken_for_days_is_told_whole(tmp_path: Path) -> None:
    async with post_with(tmp_path) as (relay, post):
        run = Run(post, Posted(frozenset({"support"})))
        await run.look()
        for number in range(3):
            await fail(relay, post, f"gone{number}@example.com")
            post.clock.advance(DAY)
            assert await run.look() == []
        run.posted.refuses = frozenset()
        assert await run.look() == ["Digest of support: 3 failed"]


@pytest.mark.parametrize("key", ["postroom-worker-7", "postroom-digest-support-1"])
async def test_what_others_call_their_jobs_hides_none_of_them(key: str, tmp_path: Path) -> None:
    async with post_with(tmp_path) as (relay, post):
        run = Run(post)
        await run.look()
        relay.on("rcpt", Reply("550 5.1.1 User unknown"))
        await post.submit(to=["gone@example.com"], idempotency_key=key)
        await post.quiet()
        post.clock.advance(DAY)
        assert await run.look() == ["Digest of support: 1 failed"]


@pytest.mark.parametrize("spoil", ["reason_code = 'x'", "recipient = CAST(x'ff' AS TEXT)"])
async def test_what_can_not_be_read_is_told_so_and_hides_nothing(
    spoil: str, tmp_path: Path
) -> None:
    def damage(conn: sqlite3.Connection) -> UnitResult[None]:
        conn.execute(f"UPDATE delivery SET {spoil} WHERE number = 1")  # noqa: S608
        return UnitResult(None)

    async with post_with(tmp_path) as (relay, post):
        run = Run(post)
        await run.look()
        for who in ("gone@example.com", "away@example.com"):
            await fail(relay, post, who)
        await post.outbox.database.write(damage, lane=WriteLane.REST)
        post.clock.advance(DAY)
        assert await run.look() == ["Digest of support: 2 failed"]
        text = run.posted.jobs[0]["text"]
        assert "away@example.com" in text
        assert "What is stored of this one is damaged" in text


async def test_a_mailbox_without_an_owner_tells_nobody(tmp_path: Path) -> None:
    async with post_with(tmp_path, OTHER) as (relay, post):
        run = Run(post)
        await run.look()
        relay.on("rcpt", Reply("550 5.1.1 no"), recipient="x@example.com")
        await post.submit(to=["x@example.com"], mailbox_id="sales")
        await post.quiet()
        post.clock.advance(DAY)
        assert await run.look() == []
        assert set(await post.outbox.digests.find_told()) == {"support"}


async def test_hundreds_are_read_in_bites(tmp_path: Path) -> None:
    async with post_with(tmp_path) as (_, post):
        run = Run(post)
        await run.look()
        await post.outbox.admin.pause("support", "moving", Actor(0), post.clock.now())
        await post.submit(
            to=[f"u{n}@example.com" for n in range(700)],
            copies="individual",
            not_after="2025-12-01T08:00:00Z",
        )
        post.clock.advance(3 * HOUR)
        await post.quiet()
        post.clock.advance(DAY)
        assert await run.look() == ["Digest of support: 700 failed"]
        assert "And 600 more" in run.posted.jobs[0]["text"]


async def test_a_mailbox_whose_relay_is_down_has_its_digest_sent_by_another(tmp_path: Path) -> None:
    second = OTHER.replace('relay = "main"', 'relay = { host = "127.0.0.1", tls = "none" }')
    async with post_with(tmp_path, second) as (relay, post):
        run = Run(post)
        await run.look()
        await fail(relay, post)
        world = post.joined.way.worlds["support"]
        opened = trip(CLOSED, ReasonCode.RELAY_UNREACHABLE, post.clock.now())
        world.relay.breaker = opened
        post.clock.advance(DAY)
        assert await run.look() == ["Digest of support: 1 failed"]
        assert run.posted.jobs[0]["mailbox_id"] == "sales"
