"""The digest in the running daemon: once a day, once whatever crashes, made up for after a stop, silent where all is well."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from postroom.core.breaker import CLOSED, trip
from postroom.core.instant import SECOND
from postroom.core.reason import ReasonCode
from postroom.ops.chronicle import Chronicle
from postroom.ops.depth import Depth
from postroom.ops.logbook import Logbook
from postroom.ops.logwords import LogFormat, LogLevel
from postroom.ops.throttle import Throttle
from postroom.ports.desk import Actor
from postroom.ports.errors import StoreUnavailable
from postroom.service.digesting import DigestKeeper, Letters
from postroom.service.ownermail import OwnerMail
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.clock import breathe
from support.post import Post, open_post, settings
from support.posted import Posted
from support.relay import Drop, Reply, ScriptedRelay


HOUR = 3_600
DAY = 24 * HOUR
OWNER = "ops@example.com"
OWNED = f'owner = "{OWNER}"\nretry = {{ first_s = 300, jitter = 0 }}'
OTHER = """
[[mailbox]]
id = "sales"
address = "sales@example.com"
relay = "main"
"""


class Run:
    """A keeper of digests over the store of a post, with mail that is only kept."""

    def __init__(self, post: Post, posted: Posted | None = None) -> None:
        self.post, self.posted = post, posted or Posted()
        book = Logbook(StringIO(), post.clock, LogLevel.INFO, LogFormat.JSON, {})
        chronicle = Chronicle(book, Throttle(post.clock))
        worlds, depth = post.joined.way.worlds, Depth({})
        mail = OwnerMail(self.posted, self.posted, worlds, depth, chronicle, "secret")
        self.keeper = DigestKeeper(
            post.outbox.digests,
            Letters(mail, lambda: "host.example"),
            timedelta(hours=7),
            post.clock,
            post.joined.trust,
            chronicle,
        )

    async def look(self) -> list[str]:
        """The subjects of what is mailed now."""
        before = len(self.posted.jobs)
        await self.keeper._look()
        return [one["subject"] for one in self.posted.jobs[before:]]


@asynccontextmanager
async def post_with(tmp_path: Path, more: str = "") -> AsyncIterator[tuple[ScriptedRelay, Post]]:
    """Begins at seven o'clock."""
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=OWNED, more=more)
        async with open_post(said) as post:
            yield relay, post


async def fail(relay: ScriptedRelay, post: Post, who: str = "gone@example.com") -> None:
    relay.on("rcpt", Reply("550 5.1.1 User unknown"), recipient=who)
    await post.submit(to=[who])
    await post.quiet()


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


async def test_what_was_missed_while_the_daemon_was_off_is_made_up_for(tmp_path: Path) -> None:
    async with post_with(tmp_path) as (relay, post):
        await Run(post).look()
        await fail(relay, post)
        post.clock.advance(3 * DAY + HOUR)
        run = Run(post)
        assert await run.look() == ["Digest of support: 1 failed"]
        assert await Run(post, run.posted).look() == []


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


async def test_by_a_clock_that_is_not_believed_nothing_is_told(tmp_path: Path) -> None:
    async with post_with(tmp_path) as (relay, post):
        run = Run(post)
        await run.look()
        await fail(relay, post)
        post.clock.jump(30 * DAY)
        assert await run.look() == []
        post.joined.trust.confirm()
        assert await run.look() == ["Digest of support: 1 failed"]


async def test_a_clock_that_was_set_back_for_good_silences_nobody(tmp_path: Path) -> None:
    async with post_with(tmp_path) as (relay, post):
        await post.outbox.digests.note({"support": post.clock.now()})
        post.clock.jump(-400 * DAY)
        post.joined.trust.confirm()
        run = Run(post)
        await run.look()
        await fail(relay, post)
        post.clock.advance(DAY)
        assert await run.look() == ["Digest of support: 1 failed"]


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


async def test_it_comes_by_itself_at_its_time_through_postroom(tmp_path: Path) -> None:
    async with post_with(tmp_path) as (relay, post):
        task = post.loop.get_loop().create_task(post.joined.digests.run())
        try:
            await _until_told(post)
            await fail(relay, post)
            await _until_mailed(relay, post, 900)
        finally:
            task.cancel()
        mail = next(one for one in relay.transactions if one.recipients == [OWNER])
        assert b"Subject: Digest of support: 1 failed" in mail.content


async def test_another_time_of_the_day_counts_from_the_reload_on(tmp_path: Path) -> None:
    async with post_with(tmp_path) as (relay, post):
        task = post.loop.get_loop().create_task(post.joined.digests.run())
        try:
            await _until_told(post)
            began = post.clock.now()
            await fail(relay, post)
            _write(tmp_path, lambda text: f'{text}\n[digest]\nat = "07:10"\n')
            await post.reload()
            await _until_mailed(relay, post, 60)
            assert post.clock.now() - began < 900 * SECOND
        finally:
            task.cancel()


async def test_another_owner_is_told_from_the_reload_on(tmp_path: Path) -> None:
    async with post_with(tmp_path) as (relay, post):
        run = Run(post)
        await run.look()
        await fail(relay, post)
        _write(tmp_path, lambda text: text.replace(OWNER, "new@example.com"))
        await post.reload()
        post.clock.advance(DAY)
        assert await run.look() == ["Digest of support: 1 failed"]
        assert run.posted.jobs[0]["to"] == ["new@example.com"]


async def test_an_owner_after_days_without_one_hears_of_what_nobody_was_told(
    tmp_path: Path,
) -> None:
    async with post_with(tmp_path) as (relay, post):
        run = Run(post)
        await run.look()
        owned = _write(tmp_path, lambda text: text.replace(f'owner = "{OWNER}"', ""))
        await post.reload()
        await fail(relay, post)
        post.clock.advance(9 * DAY)
        assert await run.look() == []
        _write(tmp_path, lambda _: owned)
        await post.reload()
        assert await run.look() == ["Digest of support: 1 failed"]


async def test_a_mailbox_that_left_the_settings_is_told_of_when_it_is_back(tmp_path: Path) -> None:
    async with post_with(tmp_path, OTHER) as (relay, post):
        run = Run(post)
        await run.look()
        await fail(relay, post)
        whole = _write(tmp_path, lambda text: text.replace('id = "support"', 'id = "other"'))
        await post.reload()
        post.clock.advance(DAY)
        assert await run.look() == []
        _write(tmp_path, lambda text: whole)
        await post.reload()
        assert await run.look() == ["Digest of support: 1 failed"]


async def _until_mailed(relay: ScriptedRelay, post: Post, step_s: float) -> None:
    """Time passes in steps until the owner has a mail, for two days at most."""
    left_s = 2.0 * DAY
    while relay.copies(OWNER) == 0:
        await post.run(step_s)
        for _ in range(30):  # the keeper reads in threads, on real time
            await breathe()
        left_s -= step_s
        assert left_s > 0
    assert relay.copies(OWNER) == 1


def _write(folder: Path, change: Callable[[str], str]) -> str:
    """Change the settings on the disk; what they were."""
    path = folder / "postroom.toml"
    before = path.read_text()
    path.write_text(change(before))
    return before


async def _until_told(post: Post) -> None:
    while not await post.outbox.digests.find_told():
        await breathe()
