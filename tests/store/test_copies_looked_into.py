"""A copy and a store from elsewhere: what a look into one tells, and which are refused."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.ports.errors import StateRefused
from postroom.store.sqlite.inspecting import Standing, inspect_copy
from support.copied import ELSEWHERE, copy_store, every_state
from support.store_host import outbox_in


S = DeliveryState


async def test_a_look_into_a_copy_tells_what_may_have_gone(tmp_path: Path) -> None:
    async with outbox_in(tmp_path / "old") as outbox:
        await every_state(outbox)
        path = copy_store(tmp_path / "old", tmp_path / "new")
    assert inspect_copy(path).deliveries == (
        Standing("support", S.PENDING, 1),
        Standing("support", S.RETRY_SCHEDULED, 1),
        Standing("support", S.SENDING, 1),
        Standing("support", S.UNCERTAIN, 1),
    )


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE instance SET is_backup = 0", "does not say of itself"),
        ("PRAGMA user_version = 99", "later postroom"),
        ("PRAGMA application_id = 1", "another program"),
        (None, "can not be read"),
    ],
    ids=["no copy", "of a later version", "foreign", "no database"],
)
async def test_what_is_no_copy_for_us_is_refused(
    tmp_path: Path, statement: str | None, told: str
) -> None:
    async with outbox_in(tmp_path / "old"):
        path = copy_store(tmp_path / "old", tmp_path / "new")
    if statement is None:
        path.write_bytes(b"This is a letter." * 500)
    else:
        with closing(sqlite3.connect(path)) as conn:
            conn.execute(statement)
            conn.commit()
    with pytest.raises(StateRefused, match=told):
        inspect_copy(path)


async def test_a_store_that_was_merely_carried_to_another_machine_is_refused(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path / "old"):
        pass
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    with pytest.raises(Exception, match="another machine"):
        async with outbox_in(tmp_path / "new", rules=ELSEWHERE):
            pass
