"""When a digest comes: at its time of the day, after a stop, a clock that jumped, a reload."""

from collections.abc import Callable
from pathlib import Path

from postroom.core.instant import SECOND
from support.clock import breathe
from support.digested import DAY, HOUR, OTHER, OWNER, Run, fail, post_with
from support.post import Post
from support.relay import ScriptedRelay


async def test_what_was_missed_while_the_daemon_was_off_is_made_up_for(tmp_path: Path) -> None:
    async with post_with(tmp_path) as (relay, post):
        await Run(post).look()
        await fail(relay, post)
        post.clock.advance(3 * DAY + HOUR)
        run = Run(post)
        assert await run.look() == ["Digest of support: 1 failed"]
        assert await Run(post, run.posted).look() == []


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
