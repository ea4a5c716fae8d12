"""Files on their way in: by path beneath a root, staged uploads, large texts."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.filename import harmless_name
from postroom.core.ids import Kind, decode_id
from postroom.core.job import PathAttachment
from postroom.outbound import beneath
from postroom.outbound.beneath import Wanted, read_beneath
from postroom.ports.errors import StorageFull
from postroom.ports.staging import FileRefused, FilesSlow, KeptFile
from postroom.ports.uploads import Upload, UploadTooLarge
from support.decide_files import ACTOR, Files, files_in, pieces_of


CONTENT = b"day,sum\n1,100\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


async def keep(
    files: Files,
    path: str,
    *,
    pin: bool = False,
    limit_bytes: int = 0,
    reader_uid: int | None = None,
) -> KeptFile | FileRefused:
    kept = await files.staging.keep_files(
        [PathAttachment(path, pin)],
        roots=files.roots,
        limit_bytes=limit_bytes,
        reader_uid=reader_uid,
    )
    assert isinstance(kept, tuple)
    return kept[0]


def a_report(files: Files, name: str = "sales.csv", mode: int = 0o644) -> Path:
    path = files.root / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(CONTENT)
    path.chmod(mode)
    return path


async def test_a_file_is_copied_and_may_change_afterwards(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        path = a_report(files, "sub/a report.csv")
        assert await keep(files, str(path)) == KeptFile(DIGEST, len(CONTENT), "a report.csv")
        path.unlink()
        assert files.spool.path(DIGEST).read_bytes() == CONTENT


async def test_a_pinned_file_stays_where_it_is(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        path = str(a_report(files))
        kept = await keep(files, path, pin=True)
        assert kept == KeptFile(DIGEST, len(CONTENT), "sales.csv", pinned_path=path)
        assert files.spooled() == []


async def test_an_empty_file_is_a_file(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        (files.root / "empty").touch(0o644)
        assert await keep(files, str(files.root / "empty")) == KeptFile(
            hashlib.sha256().hexdigest(), 0, "empty"
        )


async def test_several_files_are_answered_in_order(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        paths = [
            str(a_report(files, "a.csv")),
            str(files.root / "none"),
            str(a_report(files, "b.csv")),
        ]
        kept = await files.staging.keep_files(
            [PathAttachment(path) for path in paths], roots=files.roots, limit_bytes=0
        )
        assert isinstance(kept, tuple)
        assert [isinstance(one, KeptFile) for one in kept] == [True, False, True]


def outside(files: Files, name: str) -> Path:
    path = files.root.parent / name
    path.mkdir()
    (path / "secret.txt").write_text("secret")
    return path / "secret.txt"


def a_link(files: Files, target: Path) -> Path:
    link = files.root / "link"
    link.symlink_to(target)
    return link


def a_directory(files: Files) -> Path:
    (files.root / "folder").mkdir()
    return files.root / "folder"


def a_pipe(files: Files) -> Path:
    os.mkfifo(files.root / "pipe", 0o644)
    return files.root / "pipe"


HOSTILE: dict[str, Callable[[Files], object]] = {
    "another directory": lambda files: outside(files, "elsewhere"),
    "a directory whose name begins alike": lambda files: outside(files, "reports-not"),
    "a way out by dots": lambda files: (
        f"{files.root}/../{outside(files, 'x').parent.name}/secret.txt"
    ),
    "dots that come back": lambda files: f"{files.root}/../reports/{a_report(files).name}",
    "a link out": lambda files: a_link(files, outside(files, "x")),
    "a link within": lambda files: a_link(files, a_report(files)),
    "a linked directory": lambda files: a_link(files, outside(files, "x").parent) / "secret.txt",
    "a file as a directory": lambda files: a_report(files) / "more",
    "a directory": a_directory,
    "the root": lambda files: files.root,
    "a pipe": a_pipe,
    "no such file": lambda files: files.root / "nothing",
    "a relative path": lambda files: a_report(files).name,
    "a NUL": lambda files: f"{files.root}/a\0b",
    "a name too long": lambda files: files.root / ("x" * 300),
    "a file of the kernel": lambda files: "/proc/self/environ",
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("pin", [False, True], ids=["copied", "pinned"])
async def test_what_is_no_file_beneath_a_root_is_refused_with_a_sentence(
    tmp_path: Path, kind: str, *, pin: bool
) -> None:
    with files_in(tmp_path) as files:
        path = str(HOSTILE[kind](files))
        async with asyncio.timeout(5):
            kept = await keep(files, path, pin=pin)
            digests = await files.staging.digest_files(
                [PathAttachment(path)], roots=files.roots, limit_bytes=0
            )
        assert isinstance(kept, FileRefused)
        assert kept.detail.endswith(".")
        assert kept.code is None
        assert "secret" not in kept.detail
        assert digests == (None,)
        assert files.spooled() == []


async def test_the_digest_of_a_file_is_told_without_keeping_it(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        wanted = [PathAttachment(str(a_report(files)))]
        found = await files.staging.digest_files(wanted, roots=files.roots, limit_bytes=0)
        assert found == (DIGEST,)
        assert files.spooled() == []


@pytest.mark.parametrize(
    ("mode", "reader", "is_taken"),
    [
        pytest.param(0o600, "owner", True, id="the owner's own"),
        pytest.param(0o600, "root", True, id="the superuser reads all"),
        pytest.param(0o600, "other", False, id="another one's private file"),
        pytest.param(0o600, "anyone", False, id="private, and nobody named"),
        pytest.param(0o604, "other", True, id="readable by others"),
        pytest.param(0o640, "other", True, id="readable by the group"),
        pytest.param(0o604, "anyone", True, id="readable by others, nobody named"),
    ],
)
async def test_a_caller_sends_only_what_they_could_read(
    tmp_path: Path, mode: int, reader: str, *, is_taken: bool
) -> None:
    readers = {"owner": 4242, "root": 0, "other": 4243, "anyone": None}
    path = tmp_path / "x"
    path.write_bytes(CONTENT)
    path.chmod(mode)
    os.chown(path, 4242, 4242) if os.geteuid() == 0 else readers.update(owner=os.getuid())
    wanted = Wanted(str(path), (str(tmp_path),), 0, readers[reader])
    unfit = read_beneath(wanted, lambda _: None, lambda: False)
    assert (unfit is None) is is_taken


async def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        path = str(a_report(files))
        assert isinstance(await keep(files, path, limit_bytes=len(CONTENT)), KeptFile)
        refused = await keep(files, path, limit_bytes=len(CONTENT) - 1)
        assert isinstance(refused, FileRefused)
        assert str(len(CONTENT) - 1) in refused.detail


@pytest.mark.parametrize("how", ["grows", "shrinks", "is touched"])
async def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, how: str) -> None:
    with files_in(tmp_path) as files:
        path = a_report(files)

        def change(_: bytes) -> None:
            match how:
                case "grows":
                    path.write_bytes(CONTENT * 2)
                case "shrinks":
                    path.write_bytes(CONTENT[:-1])
                case _:
                    os.utime(path, ns=(1, 1))

        unfit = read_beneath(Wanted(str(path), files.roots, 0, None), change, lambda: False)
        assert unfit is not None
        assert unfit.is_changing


async def test_a_change_has_a_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with files_in(tmp_path) as files:
        path = str(a_report(files))
        seen = os.fstat

        def restless(number: int) -> os.stat_result:
            os.utime(number, ns=(1, seen(number).st_mtime_ns + 1))
            return seen(number)

        monkeypatch.setattr(beneath.os, "fstat", restless)
        refused = await keep(files, path)
        monkeypatch.undo()
        assert isinstance(refused, FileRefused)
        assert refused.code == "attachment_changing"


async def test_a_file_that_grows_without_end_is_not_read_without_end(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        path = a_report(files)
        read: list[int] = []

        def grow(piece: bytes) -> None:
            read.append(len(piece))
            with path.open("ab") as file:
                file.write(CONTENT)

        unfit = read_beneath(Wanted(str(path), files.roots, 0, None), grow, lambda: False)
        assert unfit is not None
        assert read == [len(CONTENT)]


async def test_slow_files_are_given_up_and_nothing_is_kept(tmp_path: Path) -> None:
    with files_in(tmp_path, all_files=timedelta(0)) as files:
        with (files.root / "big").open("wb") as file:
            file.truncate(200 << 20)
        (files.root / "big").chmod(0o644)
        wanted = [PathAttachment(str(files.root / "big"))]
        kept = await files.staging.keep_files(wanted, roots=files.roots, limit_bytes=0)
        assert isinstance(kept, FilesSlow)
        found = await files.staging.digest_files(wanted, roots=files.roots, limit_bytes=0)
        assert isinstance(found, FilesSlow)
    assert files.spooled() == []


async def test_a_large_text_is_kept_by_its_digest(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        assert await files.staging.keep_bytes(CONTENT) == DIGEST
        assert files.spool.path(DIGEST).read_bytes() == CONTENT


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
