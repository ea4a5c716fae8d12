"""A reload of many mailboxes does not hold up the loop: what takes long is done in a thread, or not at all."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.config.changes import Difference, compare
from postroom.config.settings import Settings
from postroom.core.instant import Moment
from postroom.core.mailbox import Pace
from postroom.core.world import Host
from postroom.service import reloading
from postroom.service.worlds import Known
from support.post import open_post, settings
from support.relay import ScriptedRelay


async def test_settings_are_compared_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def noted(before: Settings, after: Settings) -> Difference:
        threads.append(threading.current_thread())
        return compare(before, after)

    monkeypatch.setattr(reloading, "compare", noted)
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        await post.reload()
    assert threads
    assert threading.main_thread() not in threads


async def test_while_every_name_server_is_silent_settings_jobs_and_metrics_are_read(
    tmp_path: Path,
) -> None:
    """Names are asked for in the threads of the loop."""
    answered = threading.Event()
    loop = asyncio.get_running_loop()
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        waiting = [loop.run_in_executor(None, answered.wait) for _ in range(64)]
        try:
            async with asyncio.timeout(10):
                await post.reload()
                assert "postroom_slots" in await post.joined.api.signals.metrics_text()
                await post.submit(
                    to=[f"u{n}@m\xfcller{n}.example" for n in range(101)], copies="individual"
                )
        finally:
            answered.set()
            await asyncio.wait(waiting)


async def test_minutes_are_looked_through_only_where_a_new_window_wants_them(
    tmp_path: Path,
) -> None:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as post:
        said, now = post.settings, Moment(post.clock.now(), post.clock.monotonic())
        stored = await post.outbox.loop.load()

        class Minutes:
            looks = 0

            def __iter__(self) -> Iterator[object]:
                self.looks += 1
                return iter(())

        minutes: Any = Minutes()
        watched = replace(stored, buckets=minutes)
        known, host = Known(), Host(9)
        box = said.mailboxes["support"]
        for pace, looks in ((Pace(), 0), (Pace(per_day=5), 1), (Pace(per_day=9), 1)):
            boxes = {"support": replace(box, pace=pace)}
            known.worlds(boxes, said.relays, watched, host, now)
            assert minutes.looks == looks
