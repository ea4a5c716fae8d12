"""What a daemon that starts again still knows: limits, pace, breakers, pauses. Each part is real; the clock is ours."""

from pathlib import Path

import pytest

from postroom.core.instant import SECOND, Instant
from postroom.ports.desk import Actor
from postroom.ports.submitting import RefusalCode, Refused, Submitted
from support.clock import FakeClock
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Reply


HOUR = 3600
NO_JITTER = "retry = { jitter = 0 }\n"


def later(clock: FakeClock, seconds: float = 0) -> FakeClock:
    """The clock of the next run, on a machine that was booted in between."""
    return FakeClock(Instant(clock.now() + int(seconds * SECOND)))


async def gates(post: Post, job: int) -> dict[str, float]:
    """The gates that hold the only delivery of a job back, and for how many seconds (stopping takes one or two)."""
    found = await post.joined.api.loop.explain((await post.only(job)).number)
    assert found is not None
    return {
        gate.name: ((gate.until or 0) - post.clock.now()) / SECOND
        for gate in found.gates
        if gate.verdict == "blocked"
    }


async def test_what_was_accepted_within_the_hour_counts_after_a_restart(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        limits = "limits = { accepted_per_hour = 3 }"
        said = settings(tmp_path, relay.port, mailbox=limits)
        async with open_post(said) as post:
            await post.submit(to=["a@example.com"], send_at="2030-01-01T00:00:00Z")
            await post.run(10 * 60)
            await post.submit(to=["a@example.com", "b@example.com"])
        async with open_post(said, clock=later(post.clock, 60)) as again:
            refused = await again.hand_in(to=["c@example.com"])
            assert isinstance(refused, Refused)
            assert refused.code is RefusalCode.MAILBOX_HOURLY_LIMIT
            assert refused.retry_after_s is not None
            assert 48 * 60 <= refused.retry_after_s <= 50 * 60
            await again.run(50 * 60)
            assert isinstance(await again.hand_in(to=["c@example.com"]), Submitted)
            assert isinstance(await again.hand_in(to=["d@example.com"]), Refused)


@pytest.mark.parametrize("cap", [1, 2, 3, 10])
async def test_a_daily_cap_holds_over_restarts_and_leaves_its_part_to_high(
    cap: int, tmp_path: Path
) -> None:
    bulk_most = {1: 1, 2: 2, 3: 3, 10: 8}[cap]
    standard_most = {1: 1, 2: 2, 3: 3, 10: 9}[cap]
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=f"pace = {{ per_day = {cap} }}")
        async with open_post(said) as post:
            for n in range(cap + 2):
                await post.submit(to=[f"b{n}@example.com"], priority="bulk")
            await post.quiet()
            assert len(relay.transactions) == bulk_most
        async with open_post(said, clock=later(post.clock)) as post:
            for n in range(cap + 2):
                await post.submit(to=[f"s{n}@example.com"])
            await post.run(HOUR, step=600)
            assert len(relay.transactions) == standard_most
        async with open_post(said, clock=later(post.clock)) as post:
            high = await post.submit(to=["h@example.com"], priority="high")
            await post.run(HOUR, step=600)
            assert len(relay.transactions) == cap
            assert (await post.only(high)).state == ("sent" if cap == 10 else "pending")
            if cap != 10:
                assert 21.9 * HOUR <= (await gates(post, high))["daily_cap"] <= 22.1 * HOUR
        async with open_post(said, clock=later(post.clock, 22 * HOUR + 120)) as post:
            await post.quiet()
            assert len(relay.transactions) > cap


async def test_a_minute_that_is_used_up_stays_so(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        pace = "pace = { per_minute = 3 }"
        said = settings(tmp_path, relay.port, relay=pace)
        async with open_post(said) as post:
            for n in range(6):
                await post.submit(to=[f"r{n}@example.com"])
            await post.quiet()
            assert len(relay.transactions) == 3
        async with open_post(said, clock=later(post.clock)) as post:
            await post.quiet()
            assert len(relay.transactions) == 3
            await post.run(120, step=10)
            assert len(relay.transactions) == 6


async def test_a_burst_that_is_used_up_stays_so(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        pace = "pace = { per_second = 0.1, burst = 3 }"
        said = settings(tmp_path, relay.port, mailbox=pace)
        async with open_post(said) as post:
            for n in range(9):
                await post.submit(to=[f"r{n}@example.com"])
            await post.quiet()
            assert len(relay.transactions) == 3
        async with open_post(said, clock=later(post.clock)) as post:
            await post.quiet()
            assert len(relay.transactions) == 3
            await post.run(10)
            assert len(relay.transactions) == 4


async def test_an_open_breaker_is_open_after_a_restart_and_its_probe_comes_when_it_would_have(
    tmp_path: Path,
) -> None:
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=NO_JITTER)
        relay.on("mail", Reply("553 5.7.1 Sender address rejected: not owned by user"))
        async with open_post(said) as post:
            job = await post.submit(to=["a@example.com"])
            await post.quiet()
            assert await gates(post, job) == {"mailbox_breaker": pytest.approx(300, abs=3)}
        async with open_post(said, clock=later(post.clock, 60)) as post:
            await post.quiet()
            assert await gates(post, job) == {"mailbox_breaker": pytest.approx(240, abs=3)}
            await post.run(240)
            assert await gates(post, job) == {"mailbox_breaker": pytest.approx(600, abs=3)}
        async with open_post(said, clock=later(post.clock, 601)) as post:
            await post.quiet()
            assert await gates(post, job) == {"mailbox_breaker": pytest.approx(1200, abs=3)}
            found = await post.only(job)
            assert (found.state, found.attempts) == ("retry_scheduled", 3)


async def test_a_relay_that_is_away_is_not_dialled_because_we_start_again(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=NO_JITTER)
        relay.on("connect", Reply("421 4.3.2 Shutting down"))
        async with open_post(said) as post:
            job = await post.submit(to=["a@example.com"])
            await post.run(4, step=0.1)
            assert 26 <= (await gates(post, job))["relay_breaker"] <= 30
        dialled = len(relay.connections)
        async with open_post(said, clock=later(post.clock, 1)) as post:
            await post.run(20, step=5)
            assert len(relay.connections) == dialled
            found = await post.only(job)
            assert (found.state, found.attempts) == ("retry_scheduled", 0)


async def test_a_domain_that_is_left_alone_is_left_alone_after_a_restart(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=NO_JITTER)
        unusual = "421 4.7.28 Gmail has detected an unusual rate of unsolicited mail"
        relay.on("rcpt", Reply(unusual), recipient="a@one.example")
        async with open_post(said) as post:
            await post.submit(to=["a@one.example"])
            await post.quiet()
        async with open_post(said, clock=later(post.clock, 60)) as post:
            same = await post.submit(to=["b@one.example"])
            other = await post.submit(to=["c@two.example"])
            await post.quiet()
            assert await gates(post, same) == {
                "domain_pause": pytest.approx(14 * 60, abs=3),
                "domain_slowed": pytest.approx(12, abs=3),
            }
            assert (await post.only(other)).state == "sent"
            await post.run(14 * 60 + 1 + 12)  # behind the one that waited longer
            assert (await post.only(same)).state == "sent"


async def test_a_mailbox_that_a_person_paused_stays_paused(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port)
        async with open_post(said) as post:
            admin = post.outbox.admin
            await admin.pause("support", "looking", Actor(1000), post.clock.now())
        async with open_post(said, clock=later(post.clock, 8 * HOUR)) as post:
            job = await post.submit(to=["a@example.com"])
            await post.run(HOUR, step=600)
            assert (await post.only(job)).state == "pending"
            assert list(await gates(post, job)) == ["hold"]
            await post.outbox.admin.resume("support", Actor(1000), post.clock.now())
            await post.quiet()
            assert (await post.only(job)).state == "sent"
