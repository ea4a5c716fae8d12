"""What a loop holds is held where it is looked at: when it is taken, and at its mark."""

from pathlib import Path

import pytest

from postroom.core.delivery import HoldReason
from postroom.ports.looping import MarkStopped, Started
from postroom.store.sqlite.outbox import Outbox
from postroom.store.sqlite.unit import WriteLane
from support.damaging import damage
from support.store_host import NOON, outbox_in
from support.store_jobs import accept, seen, start_of, under_way


HOLDS = {
    "its thread": ("support", "thread", "1", HoldReason.LOOP),
    "its recipient": ("support", "address", "alice@example.com", HoldReason.LOOP),
    "its domain": ("support", "domain", "example.com", HoldReason.LOOP),
    "another thread": ("support", "thread", "2", None),
    "another recipient": ("support", "address", "bob@example.com", None),
    "another domain": ("support", "domain", "other.example", None),
    "a domain of its thread's name": ("support", "domain", "1", None),
    "its thread in another mailbox": ("sales", "thread", "1", None),
    "its domain in another mailbox": ("sales", "domain", "example.com", None),
}

each_hold = pytest.mark.parametrize(
    ("mailbox_id", "scope", "name", "reason"), HOLDS.values(), ids=HOLDS.keys()
)


async def hold(outbox: Outbox, mailbox_id: str, scope: str, name: str) -> None:
    row = f"('{mailbox_id}', '{scope}', '{name}', 1, 1, 'p@x.example', 'velocity_thread', {NOON})"
    columns = "mailbox_id, scope, name, thread, event, peer, evidence, held_at"
    held = damage(f"INSERT INTO hold ({columns}) VALUES {row}")  # noqa: S608
    await outbox.database.write(held, lane=WriteLane.REST)


@each_hold
async def test_what_is_held_is_not_taken(
    tmp_path: Path, mailbox_id: str, scope: str, name: str, reason: HoldReason | None
) -> None:
    async with outbox_in(tmp_path) as outbox:
        await accept(outbox)
        await hold(outbox, mailbox_id, scope, name)
        started = await outbox.loop.start(start_of(1))
        assert isinstance(started, Started) is (reason is None)
        found = await seen(outbox, 1)
        assert found.hold_reason is reason


@each_hold
async def test_what_is_held_meanwhile_gets_no_mark(
    tmp_path: Path, mailbox_id: str, scope: str, name: str, reason: HoldReason | None
) -> None:
    async with outbox_in(tmp_path) as outbox:
        started = await under_way(outbox)
        await hold(outbox, mailbox_id, scope, name)
        said = await outbox.loop.mark(1, started.claim, NOON)
        assert isinstance(said, MarkStopped) is (reason is not None)
        found = await seen(outbox, 1)
        assert found.hold_reason is reason
