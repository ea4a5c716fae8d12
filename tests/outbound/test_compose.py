"""The bytes of a message: put together, dot-stuffed, in bounded pieces, and never with another file than was named."""

import base64
import hashlib
import os
import threading
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Self, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.body import Body, Encoding, FileSegment, Segment
from postroom.core.encodings import base64_size
from postroom.core.instant import Instant
from postroom.core.message import date_line
from postroom.core.reason import ReasonCode
from postroom.core.record import Raw
from postroom.outbound.compose import DotStuffer, StoredMessages
from postroom.ports.desk import Reader
from postroom.ports.errors import ContentFault
from support.clock import START
from support.decide_files import Files, files_in


DATE = b"Date: Mon, 01 Dec 2025 07:00:00 +0000\r\n"
HEAD = b"Subject: x\r\n"
MOST = 256 * 1024


def a_body(*segments: Segment) -> Body:
    return Body(tuple(segments), 0)


async def spooled(
    files: Files, content: bytes, encoding: Encoding = Encoding.BASE64
) -> FileSegment:
    return FileSegment(await files.staging.keep_bytes(content), len(content), encoding)


def pinned(path: Path) -> FileSegment:
    content = path.read_bytes()
    return FileSegment(
        hashlib.sha256(content).hexdigest(), len(content), Encoding.BASE64, str(path)
    )


async def wire(files: Files, body: Body) -> list[bytes]:
    content = files.composer.content(DATE, HEAD, body)
    once = [piece async for piece in content()]
    assert [piece async for piece in content()] == once, "the same when it is asked for again"
    assert all(0 < len(piece) <= MOST for piece in once)
    return once


async def test_a_small_message_is_one_piece_and_costs_no_thread(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        files.executor.shutdown()
        body = a_body(b"MIME-Version: 1.0\r\n\r\n.Hi\r\n..\r\nno .dot\r\n")
        assert await files.composer.check_pins(body) is None
        assert await wire(files, body) == [
            DATE + HEAD + b"MIME-Version: 1.0\r\n\r\n..Hi\r\n...\r\nno .dot\r\n"
        ]


async def test_a_large_text_in_memory_goes_in_pieces(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        text = b".\r\n" * 300_000
        pieces = await wire(files, a_body(b"\r\n" + text))
        assert len(pieces) > 4
        assert b"".join(pieces) == DATE + HEAD + b"\r\n" + b"..\r\n" * 300_000


async def test_files_are_encoded_between_their_neighbours(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        content = os.urandom(600_001)
        (files.root / "pin").write_bytes(content[:100])
        body = a_body(
            b"a\r\n",
            await spooled(files, content),
            b"--b--\r\n",
            pinned(files.root / "pin"),
            await spooled(files, b"..text\r\n", Encoding.NONE),
            b".end\r\n",
        )
        assert await files.composer.check_pins(body) is None
        sent = b"".join(await wire(files, body))
        first, _, rest = sent.removeprefix(DATE + HEAD + b"a\r\n").partition(b"--b--\r\n")
        assert len(first) == base64_size(len(content))
        assert max(map(len, first.split(b"\r\n"))) == 76
        assert base64.b64decode(first) == content
        second, _, end = rest.partition(b"...text\r\n")
        assert base64.b64decode(second) == content[:100]
        assert end == b"..end\r\n"


async def test_an_empty_file_adds_nothing(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        body = a_body(b"a\r\n", await spooled(files, b""), b"b\r\n")
        assert await files.composer.check_pins(body) is None
        assert b"".join(await wire(files, body)) == DATE + HEAD + b"a\r\nb\r\n"


@given(st.lists(st.sampled_from([b".", b"\r\n", b"a", b""]), max_size=40).map(b"".join), st.data())
def test_stuffing_does_not_depend_on_how_the_content_is_cut(
    content: bytes, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=6)))
    stuffer = DotStuffer()
    edges = [0, *cuts, len(content)]
    stuffed = b"".join(stuffer.stuff(content[begin:end]) for begin, end in pairwise(edges))
    lines = content.split(b"\r\n")
    assert stuffed == b"\r\n".join(b"." + line if line[:1] == b"." else line for line in lines)


@pytest.mark.parametrize(
    ("damage", "is_pinned", "reason"),
    [
        pytest.param("gone", False, ReasonCode.ATTACHMENT_MISSING, id="gone from the spool"),
        pytest.param("shorter", False, ReasonCode.ATTACHMENT_MISSING, id="torn in the spool"),
        pytest.param("gone", True, ReasonCode.ATTACHMENT_MISSING, id="pinned and gone"),
        pytest.param("changed", True, ReasonCode.ATTACHMENT_CHANGED, id="pinned and changed"),
        pytest.param("shorter", True, ReasonCode.ATTACHMENT_CHANGED, id="pinned and shorter"),
        pytest.param("pipe", True, ReasonCode.ATTACHMENT_CHANGED, id="pinned, now a pipe"),
        pytest.param("link", True, ReasonCode.ATTACHMENT_MISSING, id="pinned, now a link"),
        pytest.param(
            "directory", True, ReasonCode.ATTACHMENT_CHANGED, id="pinned, now a directory"
        ),
    ],
)
async def test_a_missing_or_changed_file_is_seen_before_the_relay_is_dialled(
    tmp_path: Path, damage: str, reason: ReasonCode, *, is_pinned: bool
) -> None:
    with files_in(tmp_path) as files:
        path = files.root / "report.csv"
        path.write_bytes(b"day,sum\n1,100\n")
        segment = pinned(path) if is_pinned else await spooled(files, path.read_bytes())
        if not is_pinned:
            path = files.spool.path(segment.sha256)
        spoil(path, damage)
        body = a_body(b"a\r\n", segment)
        assert await files.composer.check_pins(body) is reason
        with pytest.raises(ContentFault) as raised:
            await wire(files, body)
        assert raised.value.reason is reason


def spoil(path: Path, damage: str) -> None:
    at = path.stat()
    content = path.read_bytes()
    path.unlink()
    match damage:
        case "changed":  # same size, same times
            path.write_bytes(content.replace(b"100", b"900"))
            os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))
        case "shorter":
            path.write_bytes(content[:-1])
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to(path.parent)
        case "directory":
            path.mkdir()


async def test_damage_in_the_spool_is_never_followed_by_a_dot(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        segment = await spooled(files, b"day,sum\n1,100\n")
        spoil(files.spool.path(segment.sha256), "changed")
        with pytest.raises(ContentFault) as raised:
            await wire(files, a_body(segment))
        assert raised.value.reason is ReasonCode.ATTACHMENT_MISSING
        assert "1,100" not in str(raised.value)


async def test_a_disk_that_fails_while_it_is_read_is_a_missing_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def read(self, _: int) -> bytes:
            raise OSError

    with files_in(tmp_path) as files:
        segment = await spooled(files, b"x")
        monkeypatch.setattr(files.composer, "_open", lambda _: Broken())
        with pytest.raises(ContentFault):
            await wire(files, a_body(segment))


async def test_large_files_go_through_flat_memory_and_off_the_loops_thread(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        size = 8 << 20
        with (files.root / "big").open("wb") as file:
            file.truncate(size)
        digest = hashlib.sha256()
        for _ in range(8):
            digest.update(bytes(1 << 20))
        segment = FileSegment(digest.hexdigest(), size, Encoding.BASE64, str(files.root / "big"))
        threads: set[int] = set()
        inner = files.composer._open

        def watched(one: FileSegment) -> object:
            threads.add(threading.get_ident())
            return inner(one)

        files.composer._open = watched  # type: ignore[method-assign, assignment]
        tracemalloc.start()
        total = 0
        async for piece in files.composer.content(DATE, HEAD, a_body(segment))():
            total += len(piece)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert total == len(DATE) + len(HEAD) + base64_size(size)
        assert peak < 3 << 20
        assert threading.get_ident() not in threads


class Shelf:
    def __init__(self, raw: Raw | None, body: Body | None) -> None:
        self.raw, self.body = raw, body

    async def find_raw(self, number: int) -> Raw | None:
        return self.raw

    async def find_body(self, body_number: int) -> Body | None:
        return self.body


async def message(files: Files, raw: Raw | None, body: Body | None) -> bytes | None:
    shelf = cast(Reader, Shelf(raw, body))
    pieces = await StoredMessages(shelf, files.composer, files.clock).find_message(1)
    return None if pieces is None else b"".join([one async for one in pieces])


async def test_the_raw_message_is_what_is_sent_without_the_stuffing(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        body = a_body(b".a\r\n", await spooled(files, b"xyz"), b".b\r\n")
        at = Instant(START - 1_000_000)
        expected = date_line(at) + HEAD + b".a\r\neHl6\r\n.b\r\n"
        assert await message(files, Raw(at, HEAD, 1), body) == expected
        fresh = await message(files, Raw(None, HEAD, 1), body)
        assert fresh is not None
        assert fresh.startswith(date_line(START))


async def test_a_raw_message_that_is_gone_is_none(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        gone = a_body(FileSegment("0" * 64, 1, Encoding.NONE))
        assert await message(files, None, None) is None
        assert await message(files, Raw(None, HEAD, 1), None) is None
        assert await message(files, Raw(None, HEAD, 1), gone) is None
