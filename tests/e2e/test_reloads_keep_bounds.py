"""Bounds over reloads: what was counted stays counted, nothing is filled up, and no copy is lost or sent twice."""

from collections import Counter
from pathlib import Path

import pytest

from postroom.config.settings import Settings
from postroom.core.instant import SECOND
from postroom.ports.desk import Actor
from support.post import open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Default, Hold


HOUR = 3600
OTHER = '[[mailbox]]\nid = "other"\naddress = "other@example.com"\nrelay = "main"\n'


async def test_settings_that_are_the_same_change_nothing(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        pace = "pace = { per_second = 1, burst = 2, per_day = 5 }"
        said = settings(tmp_path, relay.port, mailbox=pace)
        async with open_post(said) as post:
            await post.fill(8)
            await post.quiet()
            for _ in range(5):
                told = await post.reload()
                assert (told.changed, told.needs_restart) == ((), ())
                await post.quiet()
            assert len(relay.transactions) == 2
            await post.run(10, step=1)
            assert len(relay.transactions) == 5
            assert all(one.is_open for one in relay.connections)
            assert len(relay.connections) == 2
            assert post.joined.current.settings == said


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("per_second = 1, burst = 3", "per_second = 2, burst = 3"),
        ("per_second = 1, burst = 3", "per_second = 1, burst = 30"),
        ("per_second = 1, burst = 3", "per_second = 100"),
        ("per_second = 1, burst = 30", "per_second = 1, burst = 3"),
    ],
)
async def test_another_pace_gives_no_second_burst(before: str, after: str, tmp_path: Path) -> None:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, mailbox=f"pace = {{ {before} }}")) as post,
    ):
        await post.fill(100)
        await post.quiet()
        begun = len(relay.transactions)
        settings(tmp_path, relay.port, mailbox=f"pace = {{ {after} }}")
        for _ in range(3):
            await post.reload()
            await post.quiet()
            assert len(relay.transactions) == begun
        await post.run(1)
        per_second = 100 if "100" in after else 2 if "= 2" in after else 1
        assert len(relay.transactions) == begun + min(per_second, 1 + after.count("burst") * 2)


async def test_taking_a_bound_away_and_putting_it_back_gives_no_burst(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        slow = "pace = { per_second = 0.1, burst = 2 }"
        async with open_post(settings(tmp_path, relay.port, mailbox=slow)) as post:
            settings(tmp_path, relay.port, mailbox="")
            await post.reload()
            settings(tmp_path, relay.port, mailbox=slow)
            await post.reload()
            await post.fill(5)
            await post.quiet()
            assert len(relay.transactions) == 0
            await post.run(10)
            assert len(relay.transactions) == 1


@pytest.mark.parametrize("where", ["mailbox", "relay"])
async def test_what_counts_for_a_day_counts_on_with_another_limit(
    where: str, tmp_path: Path
) -> None:
    def bounded(most: int) -> Settings:
        lines = {"mailbox": "", where: f"pace = {{ per_day = {most} }}"}
        return settings(tmp_path, relay.port, **lines)

    async with ScriptedRelay() as relay, open_post(bounded(3)) as post:
        await post.fill(20, priority="high")
        await post.quiet()
        assert len(relay.transactions) == 3
        bounded(5)
        await post.reload()
        await post.quiet()
        assert len(relay.transactions) == 5
        bounded(4)
        await post.reload()
        await post.run(23 * HOUR, step=HOUR)
        assert len(relay.transactions) == 5
        await post.run(HOUR + 60)
        assert len(relay.transactions) == 5 + 4


async def test_a_mailbox_that_goes_and_comes_back_goes_on_with_its_pace_and_its_breaker(
    tmp_path: Path,
) -> None:
    pace = "pace = { per_second = 0.01, per_day = 2 }\n"
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, more=OTHER + pace)) as post,
    ):
        await post.fill(5, mailbox_id="other", priority="high")
        await post.quiet()
        assert len(relay.transactions) == 1
        settings(tmp_path, relay.port)
        await post.reload()
        await post.run(50)
        settings(tmp_path, relay.port, more=OTHER + pace)
        await post.reload()
        await post.quiet()
        assert len(relay.transactions) == 1
        await post.run(50)
        assert len(relay.transactions) == 2
        await post.run(HOUR, step=600)
        assert len(relay.transactions) == 2


async def test_a_mailbox_that_was_away_before_the_start_has_its_pace_from_the_store(
    tmp_path: Path,
) -> None:
    pace = "pace = { per_day = 2 }\n"
    async with ScriptedRelay() as relay:
        async with open_post(settings(tmp_path, relay.port, more=OTHER + pace)) as post:
            jobs = await post.fill(5, mailbox_id="other", priority="high")
            await post.quiet()
        async with open_post(settings(tmp_path, relay.port), clock=post.clock) as post:
            settings(tmp_path, relay.port, more=OTHER + pace)
            await post.reload()
            await post.quiet()
            assert len(relay.transactions) == 2
            assert await post.blocked(jobs[-1]) == ["daily_cap"]


@pytest.mark.parametrize("is_late", [False, True], ids=["before it went", "a moment later"])
async def test_a_pause_lasts_while_the_mailbox_is_away(*, is_late: bool, tmp_path: Path) -> None:
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, more=OTHER)) as post,
    ):
        for is_away in (is_late, not is_late):
            if is_away:
                settings(tmp_path, relay.port)
                await post.reload()
            else:
                await post.outbox.admin.pause("other", "looking", Actor(0), post.clock.now())
        settings(tmp_path, relay.port, more=OTHER)
        await post.reload()
        job = await post.submit(mailbox_id="other", to=["a@example.com"])
        await post.quiet()
        assert await post.blocked(job) == ["hold"]


async def test_who_is_under_way_while_the_mailbox_is_away_counts_when_it_is_back(
    tmp_path: Path,
) -> None:
    box = f"{OTHER}concurrency = 1\n"
    async with (
        ScriptedRelay() as relay,
        open_post(settings(tmp_path, relay.port, more=box)) as post,
    ):
        hold = Hold()
        relay.on("dot", hold, Default())
        await post.fill(3, mailbox_id="other")
        await post.quiet(under_way=1)
        for more in ("", box):
            settings(tmp_path, relay.port, more=more)
            await post.reload()
            await post.quiet(under_way=1)
        assert len(relay.transactions) == 1
        hold.release()
        await post.quiet()
        assert len(relay.transactions) == 3


async def test_more_slots_are_used_at_once(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        hold = Hold()
        relay.on("dot", hold, Default())
        async with open_post(settings(tmp_path, relay.port, daemon="slots = 4")) as post:
            await post.fill(5)
            await post.quiet(under_way=2)  # half of them for one mailbox
            settings(tmp_path, relay.port, daemon="slots = 6")
            await post.reload()
            await post.quiet(under_way=3)
            hold.release()
            await post.quiet()
            assert len(relay.transactions) == 5


async def test_more_connections_are_used_at_once_and_fewer_as_they_end(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        hold = Hold()
        relay.on("dot", hold, Default())
        async with open_post(settings(tmp_path, relay.port, mailbox="concurrency = 1")) as post:
            await post.fill(9)
            await post.quiet(under_way=1)
            settings(tmp_path, relay.port, mailbox="concurrency = 3")
            await post.reload()
            await post.quiet(under_way=3)
            settings(tmp_path, relay.port, mailbox="concurrency = 2")
            await post.reload()
            await post.quiet(under_way=3)
            hold.release()
            await post.quiet()
            assert len(relay.transactions) == 9


async def test_twenty_reloads_under_traffic_lose_nothing_send_nothing_twice_and_keep_the_pace(
    tmp_path: Path,
) -> None:
    rate = 10
    kinds = [
        {"mailbox": f"pace = {{ per_second = {rate}, burst = 5 }}\nconcurrency = {1 + n % 4}"}
        for n in range(4)
    ]
    async with (
        ScriptedRelay() as one,
        ScriptedRelay() as two,
        open_post(settings(tmp_path, one.port, **kinds[0])) as post,
    ):
        jobs: list[int] = []
        begun = post.clock.monotonic()
        for n in range(20):
            jobs += await post.fill(8)
            jobs += await post.fill(1, mailbox_id="other") if n % 5 == 2 else []
            port = (one, two)[n % 2].port
            more = OTHER if n % 5 in (1, 2) else ""
            settings(tmp_path, port, **kinds[n % 4], more=more)
            await post.reload()
            await post.run(0.4, step=0.1)
            passed = (post.clock.monotonic() - begun) / SECOND
            ours = [t for t in (*one.transactions, *two.transactions) if "support" in t.sender]
            assert len(ours) <= 5 + rate * passed + 1e-6
        settings(tmp_path, one.port, **kinds[0], more=OTHER)
        await post.reload()
        await post.run(30, step=1)
        states = Counter([str((await post.only(job)).state) for job in jobs])
        assert states == {"sent": len(jobs)}
        got = Counter(t.recipients[0] for t in (*one.transactions, *two.transactions))
        assert set(got.values()) == {1}
        assert len(got) == len(jobs)
