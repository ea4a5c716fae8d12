"""Backups of the daemon's parts at work, on a fake clock: while one is made no file goes, and afterwards nothing is left."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from postroom.ops.archive import Manifest, unpack
from postroom.ports.backups import Backup, BackupUnderWay
from postroom.ports.errors import StorageFull
from postroom.service.archiving import Room, clear_left, find_last
from postroom.service.housekeeping import Housekeeping
from support.clock import breathe
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay


DAY = 86_400
UID = 0
ROOM = Room(min_free_bytes=0)


async def begun(post: Post) -> Backup:
    found = await post.joined.backups.begin(UID)
    assert isinstance(found, Backup)
    return found


async def taken(backup: Backup) -> Manifest:
    try:
        content = b"".join([piece async for piece in backup.pieces])
    finally:
        backup.close()
    assert len(content) <= backup.expected_bytes + 64 * 1024
    return unpack(io.BytesIO(content))


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_so():
            await breathe()


@pytest.fixture
async def post(tmp_path: Path) -> AsyncIterator[Post]:
    async with ScriptedRelay() as relay, open_post(settings(tmp_path, relay.port)) as opened:
        opened.joined.backups._room = ROOM
        yield opened


def left(post: Post) -> list[str]:
    return [one.name for one in post.settings.daemon.state_dir.glob("backup-*")]


async def test_a_backup_has_the_files_that_rows_name_and_leaves_nothing(
    post: Post, tmp_path: Path
) -> None:
    report = tmp_path / "report.csv"
    report.write_bytes(b"day,sum\n" * 50_000)
    await post.submit(to=["a@example.com"], attachments=[{"path": str(report)}])
    await post.joined.staging.keep_bytes(b"nobody names me")
    backup = await begun(post)
    assert post.joined.backups.is_under_way
    found = await taken(backup)
    assert (found.spool_files, found.spool_bytes) == (1, 400_000)
    assert (found.missing, found.damaged) == ((), ())
    await until(lambda: not post.joined.backups.is_under_way)
    assert left(post) == []
    assert find_last(post.settings.daemon.state_dir) == post.clock.now()
    assert '"event": "backup.taken"' in post.log.getvalue()


async def test_there_is_one_at_a_time(post: Post) -> None:
    backup = await begun(post)
    assert isinstance(await post.joined.backups.begin(UID), BackupUnderWay)
    backup.close()
    await until(lambda: not post.joined.backups.is_under_way)
    assert left(post) == []
    assert find_last(post.settings.daemon.state_dir) is None
    await taken(await begun(post))


async def test_who_is_gone_half_way_leaves_nothing(post: Post) -> None:
    backup = await begun(post)
    async with aclosing(backup.pieces) as pieces:  # type: ignore[type-var]
        await anext(pieces)
    backup.close()
    await until(lambda: not post.joined.backups.is_under_way)
    assert left(post) == []


async def test_who_is_gone_while_the_database_is_copied_leaves_nothing(post: Post) -> None:
    asking = asyncio.create_task(post.joined.backups.begin(UID))  # noqa: TID251
    await breathe()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await until(lambda: not post.joined.backups.is_under_way)
    assert left(post) == []


async def test_without_room_there_is_none_and_the_next_may_begin(post: Post) -> None:
    post.joined.backups._room = Room(min_free_bytes=1, disk_free=lambda folder: 0)
    with pytest.raises(StorageFull):
        await post.joined.backups.begin(UID)
    await until(lambda: not post.joined.backups.is_under_way)
    assert left(post) == []


async def test_while_one_is_made_no_file_goes_and_afterwards_it_does(
    post: Post, tmp_path: Path
) -> None:
    """The copy names the file; by the time at which it is read no row of the store does any more."""
    report = tmp_path / "report.csv"
    report.write_bytes(b"day,sum\n")
    job = await post.submit(
        to=["a@example.com"], attachments=[{"path": str(report)}], idempotency_key="k"
    )
    await post.quiet()
    spool = post.settings.daemon.state_dir / "spool"
    (path,) = spool.glob("??/*")
    backup = await begun(post)
    keeping = Housekeeping(post.tools, post.outbox, post.joined)
    for _ in range(60):
        await post.run(DAY)
        await keeping._once()
    expired = await post.outbox.reader.find_job(job)
    assert expired is not None
    assert expired.is_expired
    assert path.exists()
    assert (await taken(backup)).spool_files == 1
    await until(lambda: not post.joined.backups.is_under_way)
    await keeping._once()
    assert not path.exists()


def test_what_a_crash_left_is_cleared(tmp_path: Path) -> None:
    (tmp_path / "backup-x").mkdir()
    (tmp_path / "backup-x" / "postroom.db").write_bytes(b"half")
    clear_left(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"at": 7}', '{"at": "yesterday"}'])
def test_a_note_that_can_not_be_read_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "last_backup").write_text(content)
    assert find_last(tmp_path) is None
