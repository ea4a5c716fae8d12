"""A file of the spool whose name is damaged in the store is set aside: all others go and stay as ever."""

from pathlib import Path

import pytest

from postroom.store.sqlite.retention import Taken
from support.aging import Spool, after, retention, sql
from support.desk_store import NOW, database


HASH = "cd" * 32
OTHER = "ef" * 32
NAMES = {
    "no text": "CAST(x'ff' AS TEXT)",
    "cut": "'cd'",
    "a path": "'../../x'",
    "with a zero": f"'{HASH}' || char(0) || 'x'",
    "in capitals": f"upper('{HASH}')",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
async def test_a_damaged_name_of_a_file_keeps_no_other_from_going(
    tmp_path: Path, name: str
) -> None:
    async with database(tmp_path) as opened:
        spool = Spool()
        for one in (name, f"'{OTHER}'"):
            await sql(opened, f"INSERT INTO spool_file VALUES ({one}, 5, 0, {NOW}, NULL)")  # noqa: S608
        kept = retention(opened, spool)
        assert await kept.run(after(2)) == Taken(0, 0, 0, 1, 0)
        assert await kept.run(after(3)) == Taken(0, 0, 0, 0, 0)
        assert spool.removed == [OTHER]
        assert await sql(opened, "SELECT count(*) FROM spool_file") == [(1,)]


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
async def test_while_a_name_is_damaged_no_file_is_taken_for_one_that_nobody_names(
    tmp_path: Path, name: str
) -> None:
    async with database(tmp_path) as opened:
        kept = retention(opened, Spool())
        assert await kept.find_unnamed([HASH]) == (HASH,)
        await sql(opened, f"INSERT INTO spool_file VALUES ({name}, 5, 1, {NOW}, NULL)")  # noqa: S608
        assert await kept.find_unnamed([HASH]) == ()
        assert await kept.find_named() == ()
