"""What stands at the door: sizes, times, encodings, methods, names, and what is said when something is wrong."""

import asyncio
import socket
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.api.parts import Bounds
from postroom.core.instant import Instant, format_instant
from postroom.core.mailbox import Limits, Mailbox
from postroom.ports.loop import Readiness
from support.api_server import Api, running
from support.records import NOW


HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\n"
SMALL = Bounds(
    body_bytes=100,
    batch_bytes=200,
    body_time=timedelta(seconds=0.05),
    linger=timedelta(seconds=0.05),
)


async def answer_to(api: Api, *said: bytes) -> bytes:
    """All that a bare connection is answered before it is closed."""
    async with api.raw() as (reader, writer):
        for piece in said:
            writer.write(piece)
        return await reader.read()


async def first_line(api: Api, *said: bytes) -> bytes:
    async with api.raw() as (reader, writer):
        for piece in said:
            writer.write(piece)
        return await reader.readline()


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


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/stats", "/metrics"])
async def test_health_is_told_with_and_without_the_base_path(api: Api, path: str) -> None:
    assert (await api.ask("GET", path)).status == 200
    assert (await api.ask("GET", "/v1" + path)).status == 200
    assert (await api.ask("GET", "/jobs")).status == 404


async def test_a_daemon_that_is_not_ready_says_why(api: Api) -> None:
    api.signals.ready = Readiness(is_ready=False, detail="Recovery is under way.")
    said = await api.get("/readyz")
    assert (said.status, said.code) == (503, "not_ready")
    assert said.json["detail"] == "Recovery is under way."


async def test_the_signals_are_told_in_all_and_by_mailbox(api: Api) -> None:
    said = (await api.get("/stats")).json
    assert said["depth"] == {"pending": 2, "sent": 7}
    assert said["oldest_due_age_s"] == 3.0
    assert said["mailboxes"]["support"] == {
        "depth": {"high": {"pending": 2}, "bulk": {"sent": 7}},
        "oldest_due_age_s": {"high": 3.0},
        "outcomes": {"sent": 7},
        "last_minute": {"accepted": 9, "sent": 7, "failed": 1, "deferred": 2},
        "paused_by": None,
    }
    assert said["mailboxes"]["news"]["paused_by"] == "uid:0"
    assert said["last_minute"]["sent"] == 7


async def test_what_stands_behind_the_signals_is_told(api: Api) -> None:
    said = (await api.get("/stats")).json
    assert said["breakers"] == [
        {
            "scope": "relay",
            "id": "main",
            "state": "open",
            "reason": "relay.unreachable",
            "probe_at": format_instant(Instant(NOW + 1_000_000)),
        }
    ]
    assert said["pace"] == [
        {"scope": "mailbox", "id": "support", "per": "minute", "used": 7, "allowed": 60}
    ]
    assert said["connections"] == {"main": 2}
    assert said["consumers"] == {"agents": {"events": 5, "leased": 1, "oldest_age_s": 90.0}}
    assert said["unclaimed"] == {"events": 4, "leased": 0, "oldest_age_s": 10.0}
    assert (said["lease_expiries"], said["events_dead"]) == (3, 1)
    assert said["inbound"] == {
        "received": 20,
        "refused": 6,
        "set_aside": 1,
        "waiting": 2,
        "oldest_age_s": 7.0,
        "sessions": 1,
    }
    assert said["store"] == {
        "commits": 5,
        "commit_s": 0.5,
        "waiting": 1,
        "wal_bytes": 4_096,
        "disk_free_bytes": 1 << 30,
        "disk_kept_bytes": 1 << 28,
    }


async def test_metrics_are_in_the_format_of_prometheus(api: Api) -> None:
    said = await api.get("/metrics")
    assert said.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b"postroom_queue_depth 2" in said.body


async def test_the_version_is_told(api: Api) -> None:
    assert (await api.get("/version")).json == {"name": "postroom", "version": "1.2.3", "api": "v1"}


async def test_a_closed_server_hangs_up_and_leaves_the_path(tmp_path: Path) -> None:
    async with running(tmp_path) as api, api.raw() as (reader, writer):
        writer.write(b"HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await api.server.close()
        assert await reader.read() == b""
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_unix_connection(str(api.path))
        assert api.path.exists()


def box(limit: int) -> Mailbox:
    return Mailbox("m", "m@example.com", "", "main", limits=Limits(attachment_bytes=limit))


@pytest.mark.parametrize("with_length", [True, False], ids=["length told", "chunked"])
async def test_an_attachment_over_every_mailboxs_limit_is_refused(
    tmp_path: Path, *, with_length: bool
) -> None:
    mailboxes = {"a": box(10), "b": box(20)}
    head = b"POST /v1/attachments?filename=a HTTP/1.1\r\nHost: x\r\n"
    length, chunked = b"Content-Length: 21\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n15\r\n"
    async with running(tmp_path, mailboxes=mailboxes) as api:
        line = await first_line(api, head, length if with_length else chunked, b"x" * 21)
        assert line.startswith(b"HTTP/1.1 413")
        assert (await api.ask("POST", "/v1/attachments?filename=a", data=b"x" * 20)).status == 201
