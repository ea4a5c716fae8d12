"""What comes as a body: its size, its time, its encoding, and whether it is JSON at all."""

from datetime import timedelta
from pathlib import Path

import pytest

from postroom.api.parts import Bounds
from support.api_server import Api, answer_to, first_line, running


HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\n"
SMALL = Bounds(
    body_bytes=100,
    batch_bytes=200,
    body_time=timedelta(seconds=0.05),
    linger=timedelta(seconds=0.05),
)


async def test_a_body_over_the_limit_is_refused_before_it_is_read(api: Api) -> None:
    line = await first_line(api, HEAD, b"Content-Length: 99000000\r\n\r\n")
    assert line.startswith(b"HTTP/1.1 413 ")


async def test_a_client_that_asks_first_is_not_invited_to_send_too_much(api: Api) -> None:
    ask = b"Expect: 100-continue\r\n"
    line = await first_line(api, HEAD, ask, b"Content-Length: 99000000\r\n\r\n")
    assert line.startswith(b"HTTP/1.1 413")


async def test_a_client_that_asks_first_is_invited(api: Api) -> None:
    async with api.raw() as (reader, writer):
        writer.write(HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"{}")
        assert (await reader.readline()).startswith(b"HTTP/1.1 422")


async def test_another_expectation_is_not_met(api: Api) -> None:
    line = await first_line(api, HEAD, b"Expect: tea\r\nContent-Length: 2\r\n\r\n")
    assert line.startswith(b"HTTP/1.1 417")


async def test_a_client_that_asks_first_at_a_wrong_place_learns_so_at_once(api: Api) -> None:
    said = (
        b"POST /v1/nothing HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
    )
    assert (await first_line(api, said)).startswith(b"HTTP/1.1 404")


async def test_a_chunked_body_over_the_limit_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path, bounds=SMALL) as api:
        chunk = b"80\r\n" + b" " * 128 + b"\r\n"
        line = await first_line(api, HEAD, b"Transfer-Encoding: chunked\r\n\r\n", chunk)
    assert line.startswith(b"HTTP/1.1 413")


async def test_after_a_refused_body_the_connection_goes_on(api: Api) -> None:
    big = await api.ask("POST", "/v1/jobs", data=b" " * 1_200_000)
    assert (big.status, big.code) == (413, "body_too_large")
    assert (await api.get("/healthz")).status == 200


async def test_a_body_that_comes_too_slowly_is_given_up(tmp_path: Path) -> None:
    async with running(tmp_path, bounds=SMALL) as api:
        said = await answer_to(api, HEAD, b"Content-Length: 10\r\n\r\n{")
    assert said.startswith(b"HTTP/1.1 408")
    assert b"Connection: close" in said
    assert b"body_timeout" in said


async def test_a_body_with_broken_chunks_is_refused(api: Api) -> None:
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    said = await answer_to(api, head + b"2\r\n{}\r\n", b"nonsense\r\n")
    assert said.partition(b" ")[2].startswith(b"400")
    assert b"application/problem+json" in said


async def test_a_body_that_is_cut_off_stores_nothing(api: Api) -> None:
    async with api.raw() as (_, writer):
        writer.write(HEAD + b'Content-Length: 1000\r\n\r\n{"mailbox_id"')
        await writer.drain()
    assert (await api.get("/healthz")).status == 200
    assert api.submitter.seen == []
    assert api.faults == []


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"\xff\xfe",
        b"{'a': 1}",
        b'{"a": NaN}',
        b'{"to": ' + b"[" * 5000,
        b"[" * 500_000,
        b'{"a":' * 100_000,
        b'{"a": "\\ud800"}',
        b"{} {}",
    ],
    ids=lambda body: repr(body[:10]),
)
async def test_what_is_no_json_is_said_to_be_none(api: Api, body: bytes) -> None:
    said = await api.ask("POST", "/v1/jobs", data=body)
    assert (said.status, said.code) == (400, "not_json")
    assert api.submitter.seen == []


@pytest.mark.parametrize("body", [b"null", b"[]", b'"job"', b"7", b"1" * 5000], ids=lambda b: b[:5])
async def test_json_that_is_no_job_is_refused(api: Api, body: bytes) -> None:
    said = await api.ask("POST", "/v1/jobs", data=body)
    assert said.status in {400, 422}
    assert said.headers["content-type"] == "application/problem+json"


async def test_a_compressed_body_is_not_opened(api: Api) -> None:
    said = await api.ask("POST", "/v1/jobs", data=b"{}", headers={"Content-Encoding": "br"})
    assert (said.status, said.code) == (415, "encoding_unsupported")
