"""More connections and calls than there may be: whose place is given away, and who is told to come again."""

import asyncio
from pathlib import Path
from typing import Any

from postroom.api.parts import Bounds
from support.api_server import Api, running
from support.api_submitter import FakeSubmitter


FEW = Bounds(connections=4)  # three calls, two of which may wait
ASK = b"GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n"
WAIT = b"GET /v1/events/stream HTTP/1.1\r\nHost: x\r\n\r\n"
JOB = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"


class _Held(FakeSubmitter):
    """Answers nobody until it `is_open`."""

    def __init__(self) -> None:
        self.count = 0
        self.is_open = asyncio.Event()

    async def submit(self, *_: Any, **__: Any) -> Any:
        self.count += 1
        await self.is_open.wait()
        raise OSError


Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _open(api: Api, said: bytes = b"") -> Pair:
    reader, writer = await asyncio.open_unix_connection(str(api.path))
    writer.write(said)
    return reader, writer


async def _status(one: Pair) -> bytes:
    async with asyncio.timeout(5):
        return (await one[0].readline())[9:12]


async def _asked(one: Pair) -> bytes:
    """The status of an answer, read to its end."""
    one[1].write(ASK)
    async with asyncio.timeout(5):
        head = await one[0].readuntil(b"\r\n\r\n")
        await one[0].readuntil(b"}")
    return head[9:12]


def _close(*pairs: Pair) -> None:
    for _, writer in pairs:
        writer.close()


async def test_one_more_takes_the_place_of_the_one_that_has_asked_nothing_for_longest(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, bounds=FEW) as api:
        old, *others = [await _open(api) for _ in range(4)]
        assert await _asked(old) == b"200"
        newest = await _open(api)
        assert await _asked(newest) == b"200"
        assert await _status(others[0]) == b"", "the second one was longest without a request"
        for one in (old, *others[1:]):
            assert await _asked(one) == b"200"
        _close(old, *others, newest)


async def test_whoever_is_being_answered_keeps_its_place(tmp_path: Path) -> None:
    held = _Held()
    async with running(tmp_path, bounds=FEW, submitter=held) as api:
        at_work = await _open(api, JOB)
        while not held.count:
            await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.001)
        crowd = [await _open(api) for _ in range(9)]
        assert await _asked(crowd[-1]) == b"200"
        assert [await _status(one) for one in crowd[:6]] == [b""] * 6
        held.is_open.set()
        assert await _status(at_work) == b"500"
        _close(at_work, *crowd)


async def test_one_call_too_many_is_told_so_and_comes_in_later(tmp_path: Path) -> None:
    held = _Held()
    async with running(tmp_path, bounds=FEW, submitter=held) as api:
        calls = [await _open(api, JOB) for _ in range(3)]
        while held.count < 3:
            await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.001)
        said = await api.get("/version")
        assert (said.status, said.code, said.headers["retry-after"]) == (
            503,
            "too_many_connections",
            "1",
        )
        assert said.headers["connection"] == "close"
        assert [name for name, _ in api.faults] == ["crowded by 1000"]
        held.is_open.set()
        assert [await _status(one) for one in calls] == [b"500"] * 3
        assert (await api.get("/version")).status == 200
        _close(*calls)


async def test_those_who_wait_leave_room_for_those_who_ask(tmp_path: Path) -> None:
    async with running(tmp_path, bounds=FEW) as api:
        waiting = [await _open(api, WAIT) for _ in range(2)]
        assert [await _status(one) for one in waiting] == [b"200"] * 2
        third = await _open(api, WAIT)
        assert await _status(third) == b"503"
        assert (await api.get("/version")).status == 200
        _close(waiting[0])
        while len(api.bells._log) > 1:
            await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.001)
        fourth = await _open(api, WAIT)
        assert await _status(fourth) == b"200"
        _close(*waiting, third, fourth)
