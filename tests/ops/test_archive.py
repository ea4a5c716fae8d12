"""The file that a backup is: packed and unpacked again, and everything that can have happened to it on the way."""

import errno
import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.ops.archive import MANIFEST, Origin, Source, pack, unpack
from postroom.ports.errors import BackupDamaged


ORIGIN = Origin("1.2.3", 7, "2026-11-30T07:00:00.000000Z", "abc")
FILES = [b"", b"x" * 511, b"y" * 512, b"z" * 300_000]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def source(folder: Path, files: list[bytes], key: bytes | None = b"k" * 32) -> Source:
    """A store of these files; the database is any bytes."""
    (folder / "db").write_bytes(b"database" * 1000)
    if key is not None:
        (folder / "key").write_bytes(key)
    for content in files:
        (folder / digest(content)).write_bytes(content)
    named = sorted((digest(content), len(content)) for content in files)
    return Source(ORIGIN, folder / "db", folder / "key", named, lambda sha256: folder / sha256)


def packed(folder: Path, files: list[bytes], key: bytes | None = b"k" * 32) -> bytes:
    return b"".join(pack(source(folder, files, key)))


@pytest.mark.parametrize("key", [b"k" * 32, None], ids=["with a key", "without one"])
def test_what_was_packed_is_unpacked(tmp_path: Path, key: bytes | None) -> None:
    kept: dict[str, Path] = {}

    def keep(name: str) -> BinaryIO:
        kept[name] = tmp_path / f"kept-{len(kept)}"
        return kept[name].open("wb")

    found = unpack(io.BytesIO(packed(tmp_path, FILES, key)), keep)
    assert found.origin == ORIGIN
    assert (found.spool_files, found.spool_bytes) == (4, 511 + 512 + 300_000)
    assert (found.missing, found.damaged) == ((), ())
    assert kept.pop("postroom.db").read_bytes() == b"database" * 1000
    assert (found.token_key is None) == (key is None)
    assert (kept.pop("token.key").read_bytes() if key else None) == key
    for name, path in kept.items():
        assert name == f"spool/{name[6:8]}/{digest(path.read_bytes())}"
    assert len(kept) == 4


def test_other_programs_can_read_it_and_only_the_owner_what_they_unpack(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(tmp_path, FILES))) as tar:
        names = tar.getnames()
        assert names[:2] == ["postroom.db", "token.key"]
        assert names[-1] == MANIFEST
        assert {member.mode for member in tar} == {0o600}
        told = json.load(tar.extractfile(MANIFEST))  # type: ignore[arg-type]
    assert told["postroom_backup"] == 1
    assert told["database"]["sha256"] == digest(b"database" * 1000)


def test_a_file_that_is_gone_or_damaged_costs_no_backup_and_is_named(tmp_path: Path) -> None:
    files = [*FILES, b"gone", b"shorter", b"other"]
    packing = source(tmp_path, files)
    (tmp_path / digest(b"gone")).unlink()
    (tmp_path / digest(b"shorter")).write_bytes(b"short")
    (tmp_path / digest(b"other")).write_bytes(b"OTHER")
    found = unpack(io.BytesIO(b"".join(pack(packing))))
    assert set(found.missing) == {digest(b"gone"), digest(b"shorter")}
    assert found.damaged == (digest(b"other"),)


@pytest.mark.parametrize("size", [0, 300_000])
def test_a_file_that_shrinks_while_it_is_read_costs_no_backup_and_is_named(
    tmp_path: Path, size: int
) -> None:
    content = bytes(range(256)) * 4000
    packing = pack(source(tmp_path, [content]))
    pieces = []
    for piece in packing:
        pieces.append(piece)
        if len(pieces) == 10:
            (tmp_path / digest(content)).write_bytes(content[:size])
    found = unpack(io.BytesIO(b"".join(pieces)))
    assert (found.missing, found.damaged) == ((), (digest(content),))


def test_want_of_files_is_not_taken_for_a_missing_one(tmp_path: Path) -> None:
    packing = source(tmp_path, [b"x"])

    class Tired(type(tmp_path)):  # type: ignore[misc]
        def open(self, *given: object, **more: object) -> BinaryIO:
            raise OSError(errno.EMFILE, "Too many open files")

    with pytest.raises(OSError, match="Too many"):
        list(pack(replace(packing, path_of=lambda sha256: Tired(tmp_path))))


def test_a_database_that_shrinks_while_it_is_read_ends_the_backup(tmp_path: Path) -> None:
    packing = pack(source(tmp_path, []))
    next(packing)
    (tmp_path / "db").write_bytes(b"")
    with pytest.raises(OSError, match="became shorter"):
        list(packing)


def cut(content: bytes) -> bytes:
    return content[:-9000]


def emptied(content: bytes) -> bytes:
    return b""


def text(content: bytes) -> bytes:
    return b"This is a letter." * 100


def flipped(content: bytes) -> bytes:
    return content.replace(b"zzz", b"zZz", 1)


def other_database(content: bytes) -> bytes:
    return content.replace(b"database", b"databasf", 1)


def other_key(content: bytes) -> bytes:
    return content.replace(b"k" * 32, b"l" * 32, 1)


def rewritten(content: bytes, change: Callable[[list[tuple[str, bytes]]], None]) -> bytes:
    """The same tar after somebody changed what is in it."""
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        members = [(one.name, tar.extractfile(one).read()) for one in tar]  # type: ignore[union-attr]
    change(members)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, said in members:
            info = tarfile.TarInfo(name)
            info.size = len(said)
            tar.addfile(info, io.BytesIO(said))
    return out.getvalue()


def without_a_file(content: bytes) -> bytes:
    return rewritten(content, lambda members: members.pop(3) and None)


def without_its_manifest(content: bytes) -> bytes:
    return rewritten(content, lambda members: members.pop() and None)


def with_a_path_out(content: bytes) -> bytes:
    return rewritten(content, lambda members: members.insert(1, ("../../etc/passwd", b"x")))


def with_a_file_twice(content: bytes) -> bytes:
    return rewritten(content, lambda members: members.insert(3, members[2]))


def with_more_behind(content: bytes) -> bytes:
    return rewritten(content, lambda members: members.append(members[1]))


def of_a_later_version(content: bytes) -> bytes:
    return content.replace(b'"postroom_backup": 1', b'"postroom_backup": 2')


def with_a_strange_manifest(content: bytes) -> bytes:
    return rewritten(content, lambda members: members.append((members.pop()[0], b"[]")))


WRONG = [
    cut,
    emptied,
    text,
    flipped,
    other_database,
    other_key,
    without_a_file,
    without_its_manifest,
    with_a_path_out,
    with_a_file_twice,
    with_more_behind,
    of_a_later_version,
    with_a_strange_manifest,
]


@pytest.mark.parametrize("change", WRONG, ids=lambda one: one.__name__)
def test_what_is_not_whole_is_no_backup(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    content = packed(tmp_path, FILES)
    assert change(content) != content
    with pytest.raises(BackupDamaged, match="no whole backup"):
        unpack(io.BytesIO(change(content)))


def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo("postroom.db")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(info)
    with pytest.raises(BackupDamaged, match="something else"):
        unpack(io.BytesIO(out.getvalue()))


@given(st.data())
def test_no_byte_of_the_content_can_be_changed_unseen(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(packed(tmp_path_factory.mktemp("x"), [b"a" * 700, b"b"]))
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        spans = [(one.offset_data, one.size) for one in tar if one.name != MANIFEST]
    start, size = data.draw(st.sampled_from(spans))
    content[start + data.draw(st.integers(0, size - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BackupDamaged):
        unpack(io.BytesIO(content))


@given(st.binary(max_size=3000))
def test_any_bytes_are_refused_with_our_error(content: bytes) -> None:
    with pytest.raises(BackupDamaged):
        unpack(io.BytesIO(content))
