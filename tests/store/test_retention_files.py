"""Files go with the last that names them, and bodies are read as they were stored."""

from pathlib import Path

import msgspec
import pytest

from postroom.core.body import Body, Encoding, FileSegment
from postroom.core.delivery import DeliveryState
from postroom.core.record import StagedRecord
from postroom.store.sqlite.bodies import StoredBody, pack, unpack
from postroom.store.sqlite.database import Database
from postroom.store.sqlite.reader import SqliteReader
from postroom.store.sqlite.retention import Taken
from support.aging import NOTHING, Spool, after, retention, sql
from support.desk_store import NOW, admin_of, database, put


S = DeliveryState
HASH = "cd" * 32


async def stage(opened: Database, ref: str, sha256: str) -> None:
    await admin_of(opened).stage(StagedRecord(ref, sha256, 5, "a", "text/plain", NOW), 1)


async def test_an_upload_that_nobody_used_goes_with_its_file(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        spool = Spool()
        await stage(opened, "att_1", HASH)
        await stage(opened, "att_2", HASH)
        await stage(opened, "att_used", "ef" * 32)
        await sql(opened, "UPDATE staged SET uses = 1 WHERE ref = 'att_used'")
        assert await retention(opened, spool).run(after(0.9)) == NOTHING
        assert await retention(opened, spool).run(after(1.1)) == Taken(0, 0, 2, 1, 0)
        assert spool.removed == [HASH]
        assert await SqliteReader(opened).find_staged("att_1") is None
        assert await SqliteReader(opened).find_staged("att_used") is not None
        await stage(opened, "att_3", HASH)


async def test_a_file_goes_with_the_last_body_that_names_it(tmp_path: Path) -> None:
    segments = msgspec.json.encode([1, FileSegment(HASH, 5, Encoding.BASE64), 1]).decode()
    async with database(tmp_path) as opened:
        spool = Spool()
        await stage(opened, "att_1", HASH)
        await sql(opened, "UPDATE staged SET uses = 1")
        await sql(opened, "UPDATE spool_file SET refs = 3")
        await put(opened, S.SENT, segments=segments)
        await put(opened, S.FAILED, segments=segments)
        assert await retention(opened, spool).run(after(31)) == Taken(1, 0, 0, 0, 0)
        assert await SqliteReader(opened).find_staged("att_1") is not None
        assert await retention(opened, spool).run(after(91)) == Taken(1, 0, 0, 1, 0)
        assert spool.removed == [HASH]
        assert await sql(opened, "SELECT count(*) FROM spool_file") == [(0,)]
        assert await sql(opened, "SELECT count(*) FROM staged") == [(0,)]


async def test_a_file_that_is_just_being_put_there_again_is_kept(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        spool = Spool(HASH)
        await sql(opened, "INSERT INTO spool_file VALUES (?, 5, 0, ?, NULL)", HASH, NOW)
        assert await retention(opened, spool).run(after(2)) == NOTHING
        assert await sql(opened, "SELECT doomed_at FROM spool_file") == [(None,)]
        await stage(opened, "att_1", HASH)


async def test_a_file_that_a_crash_left_doomed_goes_in_the_next_run(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        spool = Spool()
        await sql(opened, "INSERT INTO spool_file VALUES (?, 5, 0, ?, ?)", HASH, NOW, NOW)
        assert (await retention(opened, spool).run(NOW)).files == 1
        assert spool.removed == [HASH]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(Body((b"a\r\n", b"b"), 4), id="bytes alone"),
        pytest.param(Body((FileSegment(HASH, 5, Encoding.NONE, "/srv/a"),), 5), id="a pinned file"),
        pytest.param(
            Body((b"a", FileSegment(HASH, 5, Encoding.BASE64), b"", b"bc"), 20), id="all sorts"
        ),
    ],
)
def test_a_body_is_read_as_it_was_stored(body: Body) -> None:
    stored = pack(body)
    again = unpack(StoredBody(stored.content, stored.segments, stored.size_bytes))
    assert again.size_bytes == body.size_bytes
    if stored.segments is None:
        assert again.segments == (
            b"".join(part for part in body.segments if isinstance(part, bytes)),
        )
    else:
        assert again == body
