"""A wall clock that jumps, as at the first NTP answer after a start with a dead battery: nothing that was due waits for it."""

from pathlib import Path

import pytest

from postroom.core.instant import SECOND, Instant, format_instant
from support.post import open_post, settings
from support.relay import Reply, ScriptedRelay


HOUR = 3_600
YEARS = 10 * 365 * 24 * HOUR
WHO = "ann@example.com"


@pytest.mark.parametrize("jump_s", [HOUR, -HOUR, -7 * 24 * HOUR, YEARS, -YEARS])
@pytest.mark.parametrize("kind", ["due at once", "tried before", "relay away"])
async def test_what_was_due_goes_out_within_the_longest_wait_whatever_the_clock_does(
    tmp_path: Path, kind: str, jump_s: int
) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        if kind == "tried before":
            relay.on("rcpt", Reply("451 4.3.0 later"), times=1)
        if kind == "relay away":
            relay.on("connect", Reply("421 4.3.2 not now"), times=3)
        job = await post.submit(to=[WHO])
        if kind != "due at once":
            await post.quiet()
        post.clock.jump(jump_s)
        await post.run(2 * HOUR, step=300)
        assert await post.states(job) == {WHO: "sent"}
        assert relay.copies(WHO) == 1


async def test_a_send_time_is_kept_when_the_clock_goes_back(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        at = format_instant(Instant(post.clock.now() + 600 * SECOND))
        job = await post.submit(to=[WHO], send_at=at)
        await post.quiet()
        post.clock.jump(-HOUR)
        await post.run(HOUR, step=300)
        assert await post.states(job) == {WHO: "pending"}
        await post.run(900, step=300)
        assert await post.states(job) == {WHO: "sent"}
