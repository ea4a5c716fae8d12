"""From 354 on: whose the mail is at every moment, and that no content can do harm."""

import asyncio
import hashlib
import resource
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.inbound.limits import Limits
from postroom.inbound.rawfiles import RawFiles
from postroom.inbound.words import Reply
from postroom.ops.host import SystemClock
from postroom.ops.spool import Spool
from postroom.ports.arriving import RawFile
from postroom.ports.errors import StorageFull, StoreBroken, StoreUnavailable
from support.listening import BOX, MAIL, PATIENCE, SETTINGS, Client, House, listening


END = b"\r\n.\r\n"


async def _until(is_so: object) -> None:
    """Wait until the function says yes."""
    assert callable(is_so)
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.005)


async def test_250_comes_after_the_commit_and_not_before() -> None:
    async with listening() as house, house.client() as client:
        house.inbox.is_open.clear()
        await client.begin()
        await client.send(MAIL + b".\r\n")
        await _until(lambda: house.inbox.asked)
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
            await _until(lambda: house.inbox.asked)
            if ending == "reset":
                client.reset()
                await asyncio.wait_for(house.listener._is_empty.wait(), PATIENCE)
        assert house.inbox.arrivals == []
        house.inbox.is_open.set()
        await _until(lambda: not house.listener.under_way)
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
            await _until(lambda: house.listener.under_way)
            if ending == "reset":
                client.reset()
        await asyncio.wait_for(house.listener._is_empty.wait(), PATIENCE)
        await _until(lambda: not house.listener.under_way)
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


async def test_a_line_of_60_kb_comes_in_and_one_without_end_does_not() -> None:
    async with listening() as house, house.client() as client:
        assert (await client.give(b"x" * 60_000 + b"\r\n")).startswith("250")
        assert await client.give(b"x" * 70_000 + b"\r\n") == Reply.LINE_LONG
        assert await client.give(b"x" * 900_000 + b"\r\n") == Reply.LINE_LONG
        assert (await client.give()).startswith("250")
    assert len(house.inbox.arrivals) == 2


async def test_a_mail_that_is_a_little_too_large_is_refused_at_its_end() -> None:
    async with listening() as house, house.client() as client:
        line = b"x" * 998 + b"\r\n"
        assert await client.give(line * 1_040) == Reply.TOO_BIG
        assert (await client.give(line * 1_000)).startswith("250")
    assert len(house.inbox.raws) == 1


@pytest.mark.parametrize("line", [b"x" * 998 + b"\r\n", b"x" * 1_000], ids=["lines", "no line"])
async def test_content_without_end_is_cut_off_and_takes_no_memory(line: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with listening() as house, house.client() as client:
        await client.begin()
        flood = asyncio.get_running_loop().create_task(_flood(client, line))
        try:
            assert await client.hear() == Reply.TOO_BIG
        finally:
            flood.cancel()
        await asyncio.wait_for(house.listener._is_empty.wait(), PATIENCE)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20_000  # KiB
    assert (house.inbox.arrivals, house.inbox.raws) == ([], {})


async def _flood(client: Client, line: bytes) -> None:
    for _ in range(300):
        await client.send(line * 100)


async def test_a_loop_is_ended_at_its_fifty_first_server() -> None:
    async with listening() as house, house.client() as client:
        assert (await client.give(b"Received: x\r\n" * 50 + MAIL)).startswith("250")
        assert await client.give(b"Received: x\r\n" * 51 + MAIL) == Reply.LOOP


SLOW = {
    "silent": Limits(data_s=0.2),
    "dripping": Limits(data_s=0.2, data_rate=1_000),
    "for ever": Limits(data_s=60, data_rate=1, data_total_s=0.3),
}


@pytest.mark.parametrize("limits", SLOW.values(), ids=SLOW)
async def test_content_that_comes_too_slowly_is_cut_off(limits: Limits) -> None:
    async with listening(limits) as house, house.client() as client:
        await client.begin()
        drip = asyncio.get_running_loop().create_task(_drip(client))
        try:
            assert await client.hear() == Reply.SLOW
            assert await client.hear() == ""
        finally:
            drip.cancel()
    assert house.inbox.asked == 0


async def _drip(client: Client) -> None:
    while True:
        await client.send(b"x\r\n")
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.05)


async def test_who_comes_slowly_but_surely_is_waited_for() -> None:
    async with listening(Limits(data_s=0.2, data_rate=10)) as house, house.client() as client:
        await client.begin()
        await client.send(b"x" * 98 + b"\r\n")  # ten seconds more
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.4)
        await client.send(b".\r\n")
        assert (await client.hear()).startswith("250")


async def test_only_so_many_wait_for_the_store_at_once() -> None:
    async with listening(Limits(storing=2)) as house:
        house.inbox.is_open.clear()
        async with house.client() as a, house.client() as b, house.client() as c:
            for client in (a, b, c):
                await client.begin()
                await client.send(MAIL + b".\r\n")
            await _until(lambda: house.listener.under_way == 3)
            await _until(lambda: house.inbox.asked == 2)
            house.inbox.is_open.set()
            for client in (a, b, c):
                assert (await client.hear()).startswith("250")
        assert house.inbox.most_at_once == 2


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
                await _until(lambda: len(_files(tmp_path)) == 1)
                if end:
                    await client.send(end)
                    assert (await client.hear()).startswith("250")
            await _until(lambda: not house.listener.under_way)
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


async def test_the_mail_of_many_clients_at_once_is_each_its_own() -> None:
    async def one(house: House, number: int) -> None:
        async with house.client() as client:
            body = b"%d\r\n" % number * 30_000
            assert (await client.give(body, BOX.address)).startswith("250")

    async with listening(Limits(per_address=50)) as house, asyncio.TaskGroup() as group:
        for number in range(10, 20):
            group.create_task(one(house, number))
    contents = sorted(house.inbox.content(n) for n in range(10))
    assert contents == [b"%d\r\n" % number * 30_000 for number in range(10, 20)]
