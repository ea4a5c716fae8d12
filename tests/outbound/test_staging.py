"""Files that a job names: by path beneath a root, as their caller may read them, and large texts."""

import asyncio
import hashlib
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.job import PathAttachment
from postroom.outbound import beneath
from postroom.outbound.beneath import Wanted, read_beneath
from postroom.ports.staging import FileRefused, FilesSlow, KeptFile
from support.decide_files import CONTENT, Files, files_in


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
