"""From 354 on: whose the mail is at every moment, and that no content can do harm."""

import asyncio
import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.inbound.rawfiles import RawFiles
from postroom.inbound.words import Reply
from postroom.ops.host import SystemClock
from postroom.ops.spool import Spool
from postroom.ports.arriving import RawFile
from postroom.ports.errors import StorageFull, StoreBroken, StoreUnavailable
from support.listening import MAIL, PATIENCE, SETTINGS, listening, until


async def test_250_comes_after_the_commit_and_not_before() -> None:
    async with listening() as house, house.client() as client:
        house.inbox.is_open.clear()
        await client.begin()
        await client.send(MAIL + b".\r\n")
        await until(lambda: house.inbox.asked)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.reader.readline(), 0.1)
        house.inbox.is_open.set()
        assert await client.hear() == "250 2.0.0 Ok: received as 1"
    assert house.inbox.content() == MAIL


TROUBLE = {
    "a full disk": (StorageFull("no room"), Reply.STORAGE_FULL),
    "a busy store": (StoreUnavailable("locked"), Reply.LOCAL_TROUBLE),
    "a broken store": (StoreBroken("gone"), Reply.LOCAL_TROUBLE),
    "a bug": (RuntimeError("secret words"), Reply.LOCAL_TROUBLE),
}


@pytest.mark.parametrize("size", [10, 300_000], ids=["small", "large"])
@pytest.mark.parametrize("where", ["fault", "raw_fault"])
@pytest.mark.parametrize(("fault", "reply"), TROUBLE.values(), ids=TROUBLE)
async def test_trouble_of_ours_is_never_said_to_be_the_clients(
    fault: Exception, reply: Reply, where: str, size: int
) -> None:
    if where == "raw_fault" and size == 10:
        where = "fault"
    async with listening() as house, house.client() as client:
        setattr(house.inbox, where, fault)
        assert await client.give(MAIL + b"x\r\n" * size) == reply
        setattr(house.inbox, where, None)
        assert await client.give() == "250 2.0.0 Ok: received as 1"
    assert "secret words" not in " ".join(client.heard)


async def test_a_daemon_that_ends_takes_no_content_and_reads_none_as_commands() -> None:
    async with listening() as house, house.client() as client:
        ended = asyncio.TaskGroup()
        async with ended:
            pass
        house.listener.receiver._group = ended
        assert await client.begin() == "354 End data with <CR><LF>.<CR><LF>"
        await client.send(b"NOOP\r\n.\r\n")
        assert [await client.hear(), await client.hear()] == [Reply.STOPPING, ""]
    assert house.inbox.asked == 0


@pytest.mark.parametrize("ending", ["reset", "closed"])
async def test_a_peer_that_hangs_up_behind_the_dot_is_stored_once(ending: str) -> None:
    async with listening() as house:
        house.inbox.is_open.clear()
        async with house.client() as client:
            await client.begin()
            await client.send(MAIL + b".\r\n")
            await until(lambda: house.inbox.asked)
            if ending == "reset":
                client.reset()
                await asyncio.wait_for(house.listener._is_empty.wait(), PATIENCE)
        assert house.inbox.arrivals == []
        house.inbox.is_open.set()
        await until(lambda: not house.listener.under_way)
        await asyncio.wait_for(house.listener._is_empty.wait(), PATIENCE)
    assert (house.inbox.asked, len(house.inbox.arrivals)) == (1, 1)


@pytest.mark.parametrize("size", [1, 100_000])
async def test_a_peer_that_closes_right_behind_the_dot_is_stored_and_still_answered(
    size: int,
) -> None:
    async with listening() as house, house.client() as client:
        await client.begin()
        client.writer.write(MAIL + b"x\r\n" * size + b".\r\nQUIT\r\n")
        client.writer.write_eof()
        assert (await client.hear()).startswith("250 2.0.0")
        await asyncio.wait_for(house.listener._is_empty.wait(), PATIENCE)
    assert len(house.inbox.arrivals) == 1


@pytest.mark.parametrize("size", [1, 100_000])
@pytest.mark.parametrize("ending", ["reset", "closed"])
async def test_a_peer_that_hangs_up_before_the_dot_leaves_nothing(size: int, ending: str) -> None:
    async with listening() as house:
        async with house.client() as client:
            await client.begin()
            await client.send(MAIL + b"x\r\n" * size + b"\r\n.\r")
            await until(lambda: house.listener.under_way)
            if ending == "reset":
                client.reset()
        await asyncio.wait_for(house.listener._is_empty.wait(), PATIENCE)
        await until(lambda: not house.listener.under_way)
    assert (house.inbox.asked, house.inbox.raws) == (0, {})


async def test_small_mails_are_in_memory_and_large_ones_in_the_spool_piece_by_piece() -> None:
    async with listening() as house, house.client() as client:
        small, large = b"x" * 998 + b"\r\n", (b"y" * 998 + b"\r\n") * 700
        assert (await client.give(small)).startswith("250")
        assert (await client.give(large)).startswith("250")
    kept = house.inbox.arrivals[1].raw
    assert house.inbox.arrivals[0].raw == small
    assert kept == RawFile(hashlib.sha256(large).hexdigest(), len(large))
    assert house.inbox.content(1) == large
    assert house.inbox.largest_piece < 600_000


SMUGGLED = b"MAIL FROM:<ceo@example.com>\r\nRCPT TO:<support@example.com>\r\nDATA\r\nevil\r\n"


@pytest.mark.parametrize(
    "end", [b"\n.\n", b"\n.\r\n", b"\r\n.\n", b"\r.\r", b"\r\n.\r", b"\r.\r\n", b"\n.\r"]
)
async def test_a_mail_smuggled_behind_another_end_is_only_content(end: bytes) -> None:
    async with listening() as house, house.client() as client:
        assert (await client.give(MAIL + b"x" + end + SMUGGLED)).startswith("250")
        assert await client.say("NOOP") == "250 2.0.0 Ok"
    (arrival,) = house.inbox.arrivals
    content = house.inbox.content()
    assert b"MAIL FROM:<ceo@example.com>" in content
    assert arrival.defects == ("bare_newline",)
    assert content.count(b"\n") == content.count(b"\r\n") == content.count(b"\r")


async def test_what_is_clean_is_kept_to_the_byte() -> None:
    content = b"From: a@b.test\r\nX: \xff\xfe\x00\r\n\r\n..dots\r\n\r\n. \r\n\x1a\r\n"
    async with listening() as house, house.client() as client:
        await client.begin()
        await client.send(content.replace(b"\r\n.", b"\r\n..") + b".\r\n")
        assert (await client.hear()).startswith("250")
    assert house.inbox.content() == content
    assert house.inbox.arrivals[0].defects == ()


async def test_commands_right_behind_the_dot_are_obeyed_in_order() -> None:
    async with listening() as house, house.client() as client:
        await client.begin()
        await client.send(MAIL + b".\r\nMAIL FROM:<>\r\nRCPT TO:<x@example.com>\r\nQUIT\r\n")
        said = [await client.hear() for _ in range(4)]
        assert said[1:] == [Reply.MAIL_OK, Reply.UNKNOWN, Reply.BYE]
    assert house.inbox.content() == MAIL


async def test_a_stop_ends_the_idle_and_waits_for_a_mail_that_is_coming_in() -> None:
    async with listening() as house, house.client() as idle, house.client() as busy:
        await busy.begin()
        stop = asyncio.get_running_loop().create_task(house.listener.drain(PATIENCE))
        assert await idle.hear() == Reply.STOPPING
        assert await idle.hear() == ""
        with pytest.raises(ConnectionError):
            await asyncio.open_connection("127.0.0.1", busy.writer.get_extra_info("peername")[1])
        await busy.send(MAIL + b".\r\n")
        assert (await busy.hear()).startswith("250")
        assert await busy.hear() == Reply.STOPPING
        await stop
    assert house.inbox.content() == MAIL


async def test_a_stop_does_not_wait_longer_than_it_may() -> None:
    async with listening() as house, house.client() as busy:
        await busy.begin()
        await asyncio.wait_for(house.listener.drain(0.1), PATIENCE)
        await house.listener.close()
        assert await busy.hear() == ""


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("end", [b".\r\n", b""], ids=["whole", "not"])
async def test_a_large_mail_lies_in_the_spool_whole_or_not_at_all(
    tmp_path: Path, end: bytes
) -> None:
    spool = Spool(tmp_path, SystemClock(), lambda: None)
    spool.open()
    content = b"x" * 98 + b"\r\n"
    with ThreadPoolExecutor(1) as threads:
        async with listening() as house:
            object.__setattr__(house.listener.parts, "raws", RawFiles(spool, threads))
            async with house.client() as client:
                await client.begin()
                await client.send(content * 5_000)
                await until(lambda: len(_files(tmp_path)) == 1)
                if end:
                    await client.send(end)
                    assert (await client.hear()).startswith("250")
            await until(lambda: not house.listener.under_way)
    kept = [arrival.raw for arrival in house.inbox.arrivals]
    assert len(kept) == len(_files(tmp_path)) == bool(end)
    for raw in kept:
        assert isinstance(raw, RawFile)
        assert spool.path(raw.sha256).read_bytes() == content * 5_000


@pytest.mark.parametrize("content", [b"x" * 98 + b"\r\n", b"Received: x\r\n"], ids=["big", "loop"])
async def test_a_large_mail_that_is_refused_leaves_no_file(tmp_path: Path, content: bytes) -> None:
    spool = Spool(tmp_path, SystemClock(), lambda: None)
    spool.open()
    with ThreadPoolExecutor(1) as threads:
        settings = replace(SETTINGS, max_message_bytes=200_000)
        async with listening(settings=settings) as house, house.client() as client:
            object.__setattr__(house.listener.parts, "raws", RawFiles(spool, threads))
            wanted = Reply.LOOP if content.startswith(b"Rec") else Reply.TOO_BIG
            assert await client.give(content * (210_000 // len(content))) == wanted
    assert _files(tmp_path) == []
