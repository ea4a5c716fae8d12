"""What is put back where it was, before its mark: it keeps its place, and lives no longer for it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.instant import MINUTE, Instant
from postroom.ports.desk import Actor
from postroom.ports.looping import MarkStopped, Started
from postroom.store.sqlite.outbox import Outbox
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job, start_of


ACTOR = Actor(1000)


async def _pause(outbox: Outbox, one: Started) -> None:
    await outbox.admin.pause("support", "", ACTOR, NOON)
    assert isinstance(await outbox.loop.mark(one.number, one.claim, NOON), MarkStopped)
    await outbox.admin.resume("support", ACTOR, NOON)


async def _remove(outbox: Outbox, one: Started) -> None:
    await outbox.admin.note_mailboxes(frozenset(), NOON)
    assert isinstance(await outbox.loop.mark(one.number, one.claim, NOON), MarkStopped)
    await outbox.admin.hold_missing_mailboxes(frozenset({"support"}), NOON)


async def _wait_for_nothing(outbox: Outbox, one: Started) -> None:
    """It stays under way, and the next start of the daemon finds it so."""


@pytest.mark.parametrize("put_back", [_pause, _remove, _wait_for_nothing])
async def test_what_is_put_back_time_and_again_has_no_longer_life_for_it(
    tmp_path: Path, put_back: Callable[[Outbox, Started], Awaitable[None]]
) -> None:
    at = NOON
    for _ in range(3):
        async with outbox_in(tmp_path) as outbox:
            if at == NOON:
                await outbox.admin.hold_missing_mailboxes(frozenset({"support"}), NOON)
                await outbox.intake.accept(new_job(outbox.intake))
            at = Instant(at + 60 * MINUTE)
            started = await outbox.loop.start(replace(start_of(1), at=at))
            assert isinstance(started, Started)
            assert started.series_started_at == at
            await put_back(outbox, started)
