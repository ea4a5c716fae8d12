"""Who goes when, with the real store and a real relay: lanes, mailboxes side by side, caps over a restart, slow relays."""

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.instant import SECOND, Instant
from postroom.outbound.pool import Pool
from postroom.outbound.timeouts import Timeouts
from postroom.ports.desk import Actor
from postroom.service import joined
from support.clock import START, FakeClock
from support.post import UID, Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Default, Hold


OTHER = """\
[[mailbox]]
id = "other"
address = "other@example.com"
relay = "main"
"""
ROOMY = "concurrency = 60"


async def fill(post: Post, lane: str, count: int, name: str = "") -> None:
    """So many deliveries of a lane, a thousand a job."""
    for first in range(0, count, 1000):
        to = [f"{lane}{name}-{n}@d{n % 9}.example" for n in range(first, min(first + 1000, count))]
        await post.submit(to=to, priority=lane, copies="individual")


async def paused(post: Post, *, is_paused: bool) -> None:
    admin, now = post.outbox.admin, post.clock.now()
    if is_paused:
        await admin.pause("support", "a test", Actor(UID), now)
    else:
        await admin.resume("support", Actor(UID), now)


def lanes_of(relay: ScriptedRelay) -> list[str]:
    """The lanes of what went, in order: the addresses tell."""
    return [one.recipients[0].partition("-")[0] for one in relay.transactions if one.recipients]


async def test_lanes_share_the_starts_six_to_three_to_one_while_all_have_work(
    tmp_path: Path,
) -> None:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox="concurrency = 1")) as post,
    ):
        await paused(post, is_paused=True)
        for lane in ("bulk", "standard", "high"):
            await fill(post, lane, 300)
        await paused(post, is_paused=False)
        await post.until(lambda: len(lanes_of(relay)) >= 200, 30)
        went = Counter(lanes_of(relay)[:200])
        assert abs(went["high"] - 120) <= 12
        assert abs(went["standard"] - 60) <= 6
        assert abs(went["bulk"] - 20) <= 2


async def test_behind_fifty_thousand_bulk_high_mail_and_another_mailbox_go_at_once(
    tmp_path: Path,
) -> None:
    """One second for the first, half of one for the other: on an idle machine it is some milliseconds."""
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox="concurrency = 3", more=OTHER)) as post,
    ):
        await fill(post, "bulk", 50_000)
        await post.until(lambda: len(relay.transactions) > 10)
        clock = asyncio.get_running_loop().time
        began = clock()
        await post.submit(to=["high@one.example"], priority="high")
        await post.until(lambda: relay.copies("high@one.example") == 1)
        assert clock() - began < 1
        began = clock()
        await post.submit(to=["other@one.example"], mailbox_id="other")
        await post.until(lambda: relay.copies("other@one.example") == 1)
        assert clock() - began < 0.5
        assert len(relay.transactions) < 5_000


@pytest.mark.parametrize("is_restarted", [False, True], ids=["running", "restarted"])
async def test_500_at_2359_means_the_next_at_2359_a_day_later(
    *, is_restarted: bool, tmp_path: Path
) -> None:
    mailbox = "pace = { per_day = 500 }\nlanes = { reserve_high = 0 }\nconcurrency = 60"
    day, hour = 24 * 3600, 3600
    clock = FakeClock(Instant(START + (17 * hour - 30) * SECOND))  # 23:59:30
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=mailbox, relay=ROOMY)
        async with open_post(said, clock=clock) as post:
            await fill(post, "standard", 510)
            await post.until(lambda: len(relay.transactions) == 500, 30)
            await post.quiet()
            if not is_restarted:
                await _assert_next_goes_a_day_later(post, relay)
                return
        clock.advance(day - hour)
        async with open_post(said, clock=clock) as post:
            clock.advance(hour - day)
            await _assert_next_goes_a_day_later(post, relay)


async def _assert_next_goes_a_day_later(post: Post, relay: ScriptedRelay) -> None:
    day = 24 * 3600
    await post.run(day - 45, step=(day - 45) / 4)
    assert len(relay.transactions) == 500, "23:58:45"
    await post.run(75)
    assert len(relay.transactions) == 510, "0:00:00"


async def test_who_waits_long_for_the_last_reply_leaves_its_slot_but_not_its_connection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The 30 s of the wait are a twentieth of a second here; the minute of the storm guard is the fake clock's."""
    timeouts = Timeouts(slow=timedelta(seconds=0.05))
    monkeypatch.setattr(joined, "Pool", lambda relay, name, _: Pool(relay, name, timeouts))
    hold = Hold()
    async with (
        ScriptedRelay() as relay,
        open_post(
            settings(tmp_path, relay.port, mailbox="concurrency = 3", daemon="slots = 4")
        ) as post,
    ):
        relay.on("dot", hold, Default())
        await fill(post, "standard", 6)
        host = post.joined.way.host
        await post.until(lambda: host.slow == 3)  # a mailbox has half of the slots
        await post.quiet(under_way=3)
        assert (host.in_slots, len(relay.transactions)) == (0, 3)

        await _assert_storm(post, after_s=29, is_storm=False)
        await _assert_storm(post, after_s=2, is_storm=True)
        hold.release()
        relay.clear()
        await post.until(lambda: host.slow == 0)
        await post.run(600, step=10)
        assert len(relay.transactions) == 6
        assert post.joined.way.worlds["support"].mailbox.breaker.is_closed


async def _assert_storm(post: Post, *, after_s: float, is_storm: bool) -> None:
    post.clock.advance(after_s)
    await post.quiet(under_way=3)
    assert ("doubt_storm" in post.log.getvalue()) is is_storm
    assert post.joined.way.worlds["support"].mailbox.breaker.is_closed is not is_storm


async def test_the_pace_of_a_relay_and_that_of_a_mailbox_both_hold(tmp_path: Path) -> None:
    mailbox = "pace = { per_second = 2, burst = 1 }\nconcurrency = 60"
    other = OTHER + "pace = { per_second = 2, burst = 1 }\n"
    relay_pace = "pace = { per_second = 3, burst = 1 }"
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=mailbox, relay=relay_pace, more=other)
        async with open_post(said) as post:
            await fill(post, "standard", 60)
            await post.submit(
                to=[f"other-{n}@one.example" for n in range(60)],
                mailbox_id="other",
                copies="individual",
            )
            seen: list[Counter[str]] = []
            for _ in range(200):
                await post.run(0.05)
                seen.append(Counter(lanes_of(relay)))
            for before, after in zip(seen, seen[20:], strict=False):
                in_a_second = after - before
                assert sum(in_a_second.values()) <= 4
                assert max(in_a_second.values(), default=0) <= 3
            assert 26 <= sum(seen[-1].values()) <= 31
            assert min(seen[-1].values()) >= 12
