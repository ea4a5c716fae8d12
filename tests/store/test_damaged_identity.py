"""What is damaged of the store's own name and of mailboxes: what can be learned anew is, and what can not is told."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from postroom.core.breaker import CLOSED
from postroom.ports.errors import AlreadyRunning, StateRefused
from postroom.ports.looping import LoopState
from postroom.store.sqlite.opening import HostIdentity, OpeningRules
from postroom.store.sqlite.unit import WriteLane
from support.damaging import damage
from support.store_host import NOON, outbox_in


NO_TEXT = "CAST(x'ff' AS TEXT)"
PAUSED = f"INSERT INTO mailbox (id, paused_by, paused_reason, paused_at) VALUES ('support', 'uid:0', 'why', {NOON})"  # noqa: S608
MACHINE = HostIdentity("a" * 32, "boot")


def lost(column: str) -> str:
    """Damages it."""
    return f"UPDATE {column} = {NO_TEXT}"


def do(folder: Path, command: str) -> None:
    """As a person is told to."""
    (path,) = folder.rglob("postroom.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute(command)


async def spoil(folder: Path, *statements: str) -> None:
    async with outbox_in(folder, rules=OpeningRules(host=MACHINE)) as outbox:
        await outbox.database.write(damage(*statements), lane=WriteLane.REST)


async def start(folder: Path, *, accept_machine: bool = False) -> LoopState:
    """What a start knows of mailboxes."""
    rules = OpeningRules(host=MACHINE, accept_machine=accept_machine)
    async with outbox_in(folder, rules=rules) as outbox:
        await outbox.admin.hold_missing_mailboxes(frozenset({"support"}), NOON)
        return await outbox.loop.load()


@pytest.mark.parametrize("column", ["instance_id", "log_id"])
async def test_a_name_of_the_store_that_can_not_be_read_is_told_with_what_to_do(
    tmp_path: Path, column: str
) -> None:
    await spoil(tmp_path, lost(f"instance SET {column}"))
    with pytest.raises(
        StateRefused, match=rf"postroom\.db.*{column} in its table instance"
    ) as told:
        await start(tmp_path)
    command = str(told.value).partition('"')[2].rstrip('"')
    do(tmp_path, command)
    await start(tmp_path)


async def test_a_boot_that_can_not_be_read_is_another_one(tmp_path: Path) -> None:
    await spoil(tmp_path, lost("instance SET boot_id"))
    await start(tmp_path)


async def test_a_machine_that_can_not_be_read_needs_a_person(tmp_path: Path) -> None:
    await spoil(tmp_path, lost("instance SET machine_id"))
    with pytest.raises(AlreadyRunning, match=r"machine_id.*damaged.*--accept-machine"):
        await start(tmp_path)
    await start(tmp_path, accept_machine=True)
    await start(tmp_path)


@pytest.mark.parametrize("column", ["paused_by", "paused_reason"])
async def test_a_pause_of_which_something_can_not_be_read_holds(
    tmp_path: Path, column: str
) -> None:
    await spoil(tmp_path, PAUSED, lost(f"mailbox SET {column}"))
    (one,) = (await start(tmp_path)).mailboxes
    assert (one.id, one.paused_at) == ("support", NOON)


@pytest.mark.parametrize("column", ["breaker_state", "breaker_reason"])
async def test_a_breaker_of_a_mailbox_that_can_not_be_read_is_learned_anew(
    tmp_path: Path, column: str
) -> None:
    known = "INSERT INTO mailbox (id) VALUES ('support')"
    await spoil(tmp_path, known, lost(f"mailbox SET {column}"))
    (one,) = (await start(tmp_path)).mailboxes
    assert one.breaker == CLOSED


async def test_a_mailbox_whose_id_can_not_be_read_is_made_anew_from_the_settings(
    tmp_path: Path,
) -> None:
    known = "INSERT INTO mailbox (id) VALUES ('support')"
    await spoil(tmp_path, known, lost("mailbox SET id"))
    assert "support" in [one.id for one in (await start(tmp_path)).mailboxes]


async def test_a_pause_of_nobody_knows_which_mailbox_is_told_with_what_to_do(
    tmp_path: Path,
) -> None:
    await spoil(tmp_path, PAUSED, lost("mailbox SET id"))
    with pytest.raises(StateRefused, match=r"which mailbox was paused.*UPDATE mailbox SET id"):
        await start(tmp_path)
