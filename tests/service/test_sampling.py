"""What alerts are judged by is what the running daemon has: each figure of a sample, taken from real parts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from postroom.core.alert import Cause
from postroom.core.breaker import CLOSED, trip
from postroom.core.reason import ReasonCode
from postroom.core.sample import DiskSample, Sample
from postroom.core.world import World
from postroom.store.sqlite.space import Inodes
from support.inward import ALICE
from support.post import FREE, Post, open_post, setting, settings
from support.relay import ScriptedRelay
from support.relay_script import Drop


PACED = "pace = { per_day = 4 }"


async def sampled(post: Post) -> Sample:
    return await post.joined.alerts._sampler.take()


def _pause(world: World, post: Post) -> None:
    world.mailbox.paused_by = "uid:0"


def _block(world: World, post: Post) -> None:
    world.mailbox.breaker = trip(CLOSED, ReasonCode.PERMANENT_STORM, post.clock.now())


def _take_down(world: World, post: Post) -> None:
    world.relay.breaker = trip(CLOSED, ReasonCode.RELAY_UNREACHABLE, post.clock.now())


def _jump(world: World, post: Post) -> None:
    post.clock.jump(30 * 86_400)


def _nothing(world: World, post: Post) -> None:
    pass


Told = tuple[bool, bool, Cause | None, bool]
STATES: dict[str, tuple[Callable[[World, Post], None], Told]] = {
    "all is well": (_nothing, (False, False, None, False)),
    "a person paused it": (_pause, (True, False, None, False)),
    "its relay refuses it": (_block, (False, True, None, False)),
    "its relay is down": (_take_down, (False, False, Cause.RELAY_GONE, False)),
    "the clock jumped": (_jump, (False, False, None, True)),
}


@pytest.mark.parametrize(("change", "expected"), STATES.values(), ids=STATES)
async def test_a_sample_says_what_stands_in_the_way(
    change: Callable[[World, Post], None], expected: Told, tmp_path: Path
) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        await post.submit(to=[ALICE])
        await post.quiet()
        change(post.joined.way.worlds["support"], post)
        sample = await sampled(post)
        box, way = sample.mailboxes["support"], sample.relays["main"]
        told = (box.is_paused, box.blocked is not None, way.down, sample.is_clock_doubted)
        assert told == expected


async def test_a_sample_says_how_much_of_a_day_is_used(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        said = settings(tmp_path, relay.port, mailbox=PACED, relay="pace = { per_day = 2 }")
        async with open_post(said) as post:
            await post.submit(to=[ALICE], priority="high")
            await post.quiet()
            sample = await sampled(post)
            shares = (sample.mailboxes["support"].day_share, sample.relays["main"].day_share)
            assert shares == (0.25, 0.5)


async def test_a_sample_says_how_much_is_free_and_what_is_in_doubt(tmp_path: Path) -> None:
    async with ScriptedRelay() as relay:
        relay.on("dot", Drop(), times=1)
        disk = setting(disk_size=lambda _: FREE, disk_inodes=lambda _: Inodes(90_000, 100_000))
        async with open_post(settings(tmp_path, relay.port), store=disk) as post:
            await post.submit(to=[ALICE])
            await post.quiet()
            sample = await sampled(post)
            assert sample.disk == DiskSample(FREE, FREE, 90_000, 1_000)
            box = sample.mailboxes["support"]
            assert (box.uncertain, box.waiting, box.relay_id) == (1, 0, "main")
