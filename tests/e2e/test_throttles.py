"""A relay that says that we are too fast, in all real parts over a scripted relay; the clock is ours."""

import json
from pathlib import Path

import pytest

from postroom.core.instant import SECOND, Instant
from support.clock import FakeClock
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Reply


MAILBOX = "retry = { jitter = 0 }\nconcurrency = 50"
RELAY = "concurrency = 50"
CONNECTIONS = (
    "451 4.7.652 The mail server [192.0.2.1] has exceeded the maximum number of connections"
)


def events(post: Post, name: str) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in post.log.getvalue().splitlines()]
    return [line for line in lines if line["event"] == name]


async def gate(post: Post, job: int, name: str) -> tuple[str, object, float]:
    """What a gate says of the only delivery of a job: verdict, value, and for how many seconds."""
    found = await post.joined.api.loop.explain((await post.only(job)).number)
    assert found is not None
    (one,) = [one for one in found.gates if one.name == name]
    return str(one.verdict), one.value, ((one.until or 0) - post.clock.now()) / SECOND


async def sent(post: Post, relay: ScriptedRelay, domain: str, count: int) -> int:
    return sum(relay.copies(f"{n}@{domain}") for n in range(count))


async def test_a_throttled_domain_goes_at_half_its_pace_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=MAILBOX, relay=RELAY)
        relay.on("rcpt", Reply(CONNECTIONS), recipient="first@slow.example", times=1)
        async with open_post(said) as post:
            await post.submit(to=["first@slow.example"])
            await post.quiet()
            (line,) = events(post, "domain.slowed")
            assert line["domain"] == "slow.example"
            assert (line["per_minute"], line["at_once"]) == (5, 1)
            jobs = [await post.submit(to=[f"{n}@slow.example"]) for n in range(10)]
            other = await post.submit(to=["a@quick.example"])
            await post.quiet()
            assert (await post.only(other)).state == "sent"
            assert await sent(post, relay, "slow.example", 10) == 0
            await post.run(60, step=1)
            before = await sent(post, relay, "slow.example", 10)
            await post.run(36, step=1)
            assert await sent(post, relay, "slow.example", 10) == before + 3
            verdict, value, until_s = await gate(post, jobs[-1], "domain_slowed")
            assert (verdict, value) == ("blocked", "5 a minute, 1 at once: domain.deferred")
            assert 0 < until_s <= 12
            text = await post.joined.api.signals.metrics_text()
            assert 'postroom_slowed{relay="main",scope="domain"} 1.0' in text
        clock = FakeClock(Instant(post.clock.now() + 60 * SECOND))
        async with open_post(said, clock=clock) as again:
            before = await sent(again, relay, "slow.example", 10)
            await again.quiet()
            assert await sent(again, relay, "slow.example", 10) == before
            await again.run(24, step=1)
            assert await sent(again, relay, "slow.example", 10) == before + 2
            await again.run(120, step=1)
            assert await sent(again, relay, "slow.example", 10) == 10
            assert relay.copies("first@slow.example") == 1


@pytest.mark.parametrize(
    ("stage", "says", "reason"),
    [
        pytest.param(
            "dot",
            "454 Throttling failure: Maximum sending rate exceeded.",
            "rate.limited",
            id="F11 SES",
        ),
        pytest.param(
            "mail",
            "450 4.2.1 Peak SMTP relay limit exceeded for customer",
            "rate.limited",
            id="F10 Gmail",
        ),
        pytest.param(
            "mail", "432 4.3.2 Concurrent connections limit exceeded", "relay.busy", id="Microsoft"
        ),
        pytest.param(
            "connect",
            "421 4.7.0 Error: too many connections from 192.0.2.1",
            "relay.busy",
            id="Postfix",
        ),
    ],
)
async def test_a_throttled_relay_goes_slower_for_all_and_loses_nothing(
    stage: str, says: str, reason: str, tmp_path: Path
) -> None:
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=MAILBOX, relay=RELAY)
        relay.on(stage, Reply(says), times=1)
        async with open_post(said) as post:
            await post.submit(to=["0@a.example"])
            await post.quiet()
            jobs = [await post.submit(to=[f"{n}@b.example"]) for n in range(1, 6)]
            (line,) = events(post, "relay.slowed")
            assert (line["relay_id"], line["reason_code"]) == ("main", reason)
            assert (await gate(post, jobs[-1], "relay_slowed"))[0] == "blocked"
            await post.run(300, step=2)
            times = (
                relay.copies("0@a.example"),
                *(relay.copies(f"{n}@b.example") for n in range(1, 6)),
            )
            assert times == (1,) * 6
            text = await post.joined.api.signals.metrics_text()
            assert 'postroom_throttles_total{relay="main",scope="relay"} 1.0' in text


async def test_a_domain_that_throttles_for_ever_fails_nobody_within_the_lifetime(
    tmp_path: Path,
) -> None:
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=MAILBOX, relay=RELAY)
        relay.on("rcpt", Reply(CONNECTIONS))
        async with open_post(said) as post:
            jobs = [await post.submit(to=[f"{n}@slow.example"]) for n in range(5)]
            await post.run(12 * 3600, step=60)
            for job in jobs:
                found = await post.only(job)
                assert (str(found.state), str(found.reason_code)) == (
                    "retry_scheduled",
                    "domain.deferred",
                )
                assert 5 <= found.attempts <= 20
            (world,) = post.joined.api.loop.find_slowed("support")
            assert (world.domain, world.per_minute, world.at_once) == ("slow.example", 1, 1)
            found = await post.outbox.reader.find_suppressions(None, None, 10)
            assert list(found.items) == []
