"""Uploads on their way in: kept whole or not at all, found again, removed when they are old, harmlessly named."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.filename import harmless_name
from postroom.core.ids import Kind, decode_id
from postroom.ports.errors import StorageFull
from postroom.ports.uploads import Upload, UploadTooLarge
from support.decide_files import ACTOR, CONTENT, files_in, pieces_of


def an_upload(limit_bytes: int = 0) -> Upload:
    return Upload("sales.csv", "text/csv", ACTOR, limit_bytes)


async def test_an_upload_is_kept_named_and_found_again(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        content = [b"x" * 100_000, b"", b"y" * 300_000, b"z"]
        staged = await files.staging.stage(an_upload(), pieces_of(*content))
        assert not isinstance(staged, UploadTooLarge)
        whole = b"".join(content)
        assert (staged.size_bytes, staged.sha256) == (len(whole), hashlib.sha256(whole).hexdigest())
        assert (staged.filename, staged.content_type) == ("sales.csv", "text/csv")
        assert files.desk.staged[staged.ref][1] == ACTOR.uid
        assert decode_id(Kind.ATTACHMENT, staged.ref) is not None
        assert await files.staging.find_staged(staged.ref) == staged
        files.clock.advance(2)
        later = await files.staging.stage(an_upload(), pieces_of(b"later"))
        assert not isinstance(later, UploadTooLarge)
        assert later.ref > staged.ref
        pieces = await files.staging.open_staged(staged)
        assert pieces is not None
        assert b"".join([one async for one in pieces]) == whole


async def test_an_upload_may_be_empty(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        staged = await files.staging.stage(an_upload(), pieces_of())
        assert not isinstance(staged, UploadTooLarge)
        assert staged.size_bytes == 0
        assert files.spool.has(staged.sha256)


async def test_an_upload_over_its_limit_leaves_nothing(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        assert await files.staging.stage(an_upload(5), pieces_of(b"123", b"456")) == UploadTooLarge(
            5
        )
        assert not isinstance(
            await files.staging.stage(an_upload(5), pieces_of(b"12345")), UploadTooLarge
        )
    assert [one.read_bytes() for one in files.spooled()] == [b"12345"]


async def test_an_upload_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x" * 300_000
        raise ConnectionResetError

    with files_in(tmp_path) as files, pytest.raises(ConnectionResetError):
        await files.staging.stage(an_upload(), broken())
    assert files.spooled() == []
    assert files.desk.staged == {}


async def test_an_upload_whose_caller_hangs_up_leaves_nothing(tmp_path: Path) -> None:
    reached = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 300_000
            reached.set()

    with files_in(tmp_path) as files:
        uploading = asyncio.ensure_future(files.staging.stage(an_upload(), endless()))  # noqa: TID251
        await reached.wait()
        uploading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await uploading
    assert files.spooled() == []


async def test_an_upload_without_room_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room() -> None:
        raise StorageFull

    with files_in(tmp_path) as files:
        monkeypatch.setattr(files.spool, "_check_room", no_room)
        with pytest.raises(StorageFull):
            await files.staging.stage(an_upload(), pieces_of(b"x"))


async def test_old_files_are_listed_and_removed(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        digest = await files.staging.keep_bytes(CONTENT)
        staged = await files.staging.stage(an_upload(), pieces_of(b"staged"))
        assert not isinstance(staged, UploadTooLarge)
        assert not await files.staging.remove(digest)
        files.clock.advance(86_400)
        assert set(await files.staging.find_older(timedelta(days=1))) == {digest, staged.sha256}
        assert await files.staging.remove(staged.sha256)
        assert await files.staging.open_staged(staged) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("/srv/reports/sales.csv", "sales.csv", id="a path"),
        pytest.param("C:\\Windows\\system32\\a.dll", "a.dll", id="a path of another system"),
        pytest.param("../../etc/passwd", "passwd", id="dots"),
        pytest.param("x\r\nBcc: evil", "xBcc: evil", id="line ends"),
        pytest.param("a\0b\x7f\x85\u2028\u202ecod.exe", "abcod.exe", id="controls and directions"),
        pytest.param("..", "attachment", id="only dots"),
        pytest.param("", "attachment", id="nothing"),
        pytest.param("dir/", "attachment", id="a directory"),
        pytest.param("Umsätze Q3.xlsx", "Umsätze Q3.xlsx", id="a good name"),
        pytest.param("ä" * 100 + ".xlsx", "ä" * 72 + ".xlsx", id="long, its ending kept"),
        pytest.param("x" * 200, "x" * 150, id="long, without an ending"),
        pytest.param("x." + "y" * 200, "x." + "y" * 148, id="long, with no ending worth it"),
        pytest.param(".profile", ".profile", id="only an ending"),
    ],
)
def test_a_file_name_is_made_harmless(given: str, expected: str) -> None:
    assert harmless_name(given) == expected
    assert len(harmless_name(given).encode()) <= 150
