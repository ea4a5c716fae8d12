"""What stands at the door: methods, targets, names, and what is said when something is no HTTP."""

import asyncio
import socket
from pathlib import Path

import pytest

from support.api_server import Api, answer_to, first_line, running


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/v1/jobs", "GET, HEAD, POST"),
        ("DELETE", "/v1/jobs/job_0000000000001", "GET, HEAD"),
        ("GET", "/v1/jobs/batch", "POST"),
        ("PATCH", "/v1/mailboxes/support/pause", "POST"),
        ("TRACE", "/healthz", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(
    api: Api, method: str, path: str, allow: str
) -> None:
    said = await api.ask(method, path)
    assert (said.status, said.code, said.headers["allow"]) == (405, "method_not_allowed", allow)
    assert said.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "said",
    [
        b"EHLO mail.example.com\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n",
        b"GET /v1/jobs?" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
    ids=["smtp", "version", "header", "long line", "negative length", "two lengths"],
)
async def test_what_is_no_http_is_a_problem_and_ends_the_connection(api: Api, said: bytes) -> None:
    answer = await answer_to(api, said)
    assert answer.partition(b" ")[2].startswith(b"400")
    assert b"application/problem+json" in answer
    assert b'"code":"bad_request"' in answer
    assert b"aiohttp" not in answer


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (b"GET http://elsewhere.example/v1/version", b"200"),
        (b"GET /v1/version?", b"200"),
        (b"GET //v1/version", b"404"),
        (b"GET /v1/../v1/version", b"404"),
        (b"GET /%76%31/version", b"200"),
        (b"GET /v1/jobs/%ff%00", b"404"),
        (b"GET /v1/jobs?%ff=%00", b"422"),
        (b"OPTIONS *", b"40"),
        (b"CONNECT x:25", b"40"),
        (b"GET /v1/mailboxes/" + b"x" * 7000, b"404"),
    ],
    ids=lambda one: one[:24],
)
async def test_strange_targets_have_plain_answers(api: Api, target: bytes, status: bytes) -> None:
    line = await first_line(api, target + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert line.partition(b" ")[2].startswith(status)
    assert api.faults == []


async def test_a_caller_without_a_name_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path, principal=lambda peer: None) as api:
        said = await api.get("/jobs")
    assert (said.status, said.code) == (403, "principal_unknown")


async def test_a_caller_whose_name_can_not_be_read_is_refused(tmp_path: Path) -> None:
    def broken(peer: socket.socket) -> int | None:
        raise OSError

    async with running(tmp_path, principal=broken) as api:
        said = await api.get("/jobs")
    assert said.status == 403


async def test_the_principal_is_read_from_the_connection(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def peer_uid(peer: socket.socket) -> int | None:
        seen.append((peer.family, peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED)))
        return 1234

    async with running(tmp_path, principal=peer_uid) as api:
        for _ in range(3):
            await api.post("/jobs", {})
    assert [uid for _, uid, *_ in api.submitter.seen] == [1234] * 3
    assert len(seen) == 1


async def test_head_answers_as_get_without_the_body(api: Api) -> None:
    said = await api.ask("HEAD", "/v1/version")
    assert (said.status, said.body) == (200, b"")
    assert int(said.headers["content-length"]) > 0


async def test_many_requests_in_one_write_are_answered_in_order(api: Api) -> None:
    one = b"GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /v1/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    answer = await answer_to(api, one * 50 + last)
    assert answer.count(b"HTTP/1.1 200") == 50
    assert answer.rindex(b"HTTP/1.1 404") > answer.rindex(b"HTTP/1.1 200")


async def test_a_closed_server_hangs_up_and_leaves_the_path(tmp_path: Path) -> None:
    async with running(tmp_path) as api, api.raw() as (reader, writer):
        writer.write(b"HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await api.server.close()
        assert await reader.read() == b""
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_unix_connection(str(api.path))
        assert api.path.exists()
