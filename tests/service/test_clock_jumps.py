"""A wall clock that jumps, as at the first NTP answer after a start with a dead battery: nothing that was due waits for it."""

from pathlib import Path

import pytest

from postroom.core.instant import SECOND, Instant, format_instant
from postroom.ops.clocktrust import ClockTrust
from postroom.ops.host import time_slept
from support.clock import FakeClock
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Reply


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


@pytest.mark.parametrize("jump_s", [2 * HOUR, YEARS], ids=["two hours", "ten years"])
async def test_a_send_time_that_only_a_doubted_clock_has_reached_waits_and_the_rest_goes(
    tmp_path: Path, jump_s: int
) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        planned = await post.submit(to=[WHO], send_at=in_s(post, HOUR))
        await post.run(
            1
        )  # the two clocks that tell how long a machine slept are microseconds apart
        post.clock.jump(jump_s)
        plain = await post.submit(to=["b@example.com"])
        again = await post.submit(to=["c@example.com"], send_at=in_s(post, 60))
        await post.run(600, step=60)
        assert await post.states(plain) == {"b@example.com": "sent"}
        assert await post.states(again) == {"c@example.com": "sent"}, "accepted by the new clock"
        assert await post.states(planned) == {WHO: "pending"}
        told = await post.joined.api.loop.explain(planned)
        assert told is not None
        assert [str(one.verdict) for one in told.gates][:1] == ["blocked"]
        assert (told.gates[0].name, told.gates[0].value) == ("send_time", "clock in doubt")
        await post.run(HOUR, step=300)
        assert await post.states(planned) == {WHO: "sent"}, "an hour has passed by any clock"
        assert relay.copies(WHO) == 1


@pytest.mark.parametrize("end", ["a person", "a day", "the clock"])
async def test_what_waited_for_the_clock_goes_on_when_it_is_believed(
    tmp_path: Path, end: str
) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        away = Reply("451 4.3.0 later")
        relay.on("rcpt", away, recipient="gone@example.com")
        planned = await post.submit(to=[WHO], send_at=in_s(post, 30 * 24 * HOUR))
        ending = await post.submit(to=["gone@example.com"], not_after=in_s(post, 20 * 24 * HOUR))
        await post.quiet()
        post.clock.jump(YEARS)
        await post.run(2 * HOUR, step=600)
        assert await post.states(planned) == {WHO: "pending"}
        assert await post.states(ending) == {"gone@example.com": "retry_scheduled"}
        if end == "a person":
            post.joined.trust.confirm()
        elif end == "a day":
            await post.run(23 * HOUR, step=600)
        else:
            post.clock.jump(-YEARS)
        await post.run(120, step=30)
        is_back = end == "the clock"
        assert await post.states(planned) == {WHO: "pending" if is_back else "sent"}
        expected = "retry_scheduled" if is_back else "failed"
        assert await post.states(ending) == {"gone@example.com": expected}


def test_a_machine_that_slept_has_no_clock_to_doubt() -> None:
    slept = [0]
    clock = FakeClock()
    trust = ClockTrust(clock, None, lambda: slept[0])
    clock.jump(8 * HOUR)
    assert trust.is_doubted()
    slept[0] = 8 * HOUR * SECOND
    assert not trust.is_doubted()
    assert time_slept() >= 0


def in_s(post: Post, seconds: int) -> str:
    return format_instant(Instant(post.clock.now() + seconds * SECOND))
