"""The targets of the API: whatever is asked, it is answered, and what is refused is told as a problem (RFC 9457)."""

import asyncio
import functools
import json
import re
import tempfile
from pathlib import Path
from urllib.parse import quote_from_bytes

import msgspec

from fuzz.folder import quick_folder
from postroom.api.parsing import decode_body, decode_query
from postroom.api.problems import Code, Refusal
from postroom.api.render import render_problem
from postroom.api.routes.every import ROUTES
from postroom.api.routing import Table
from postroom.core.fingerprint import request_hash
from postroom.core.job import Job, OnDuplicate
from postroom.core.jobrequest import check_recipients, read_references, read_request
from postroom.core.mailbox import Mailbox
from support.api_server import Api, running
from support.mail import NOW


NOT_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
STRICT = Mailbox(
    "support",
    "support@example.com",
    "",
    "main",
    recipients_allow=("one.example", "*.two.example", "ann@three.example"),
    recipients_deny=("bob@one.example",),
)
PATIENCE_S = 0.25  # streams and polls do not end by themselves
NOT_TOKEN = re.compile(rb"[^A-Za-z0-9-]")
FRAMING = {b"content-length", b"transfer-encoding", b"connection", b"host", b"upgrade", b"expect"}


def asked(octets: bytes) -> None:
    """A call's query and body: a value of its shape, or a refusal that says what is wrong. The first octet says which call."""
    kind, rest = (octets[0], octets[1:]) if octets else (0, b"")
    query, _, body = rest.partition(b"\n")
    route = ROUTES[kind % len(ROUTES)]
    found = decode_query(query.decode("latin-1"), route.query)
    if isinstance(found, Refusal):
        _check_refusal(found)
    if route.body is not None:
        given = decode_body(body, _decoder(kind % len(ROUTES)))
        if isinstance(given, Refusal):
            _check_refusal(given)
    _table().find(query.decode("utf-8", "replace"))
    _check_job(body, query.decode("latin-1"))


def request(octets: bytes) -> None:
    """A request at the door: `METHOD path`, lines of headers, an empty line, a body."""
    start, _, rest = octets.partition(b"\n")
    method, _, target = start.partition(b" ")
    lines, _, body = rest.partition(b"\n\n")
    headers = [
        (NOT_TOKEN.sub(b"", name), re.sub(rb"[^ -~]", b"", value))
        for name, _, value in (line.partition(b":") for line in lines.split(b"\n"))
    ]
    kept = [b"%s: %s" % one for one in headers if one[0] and one[0].lower() not in FRAMING]
    first = b"%s /%s HTTP/1.1" % (
        NOT_TOKEN.sub(b"", method).upper() or b"GET",
        quote_from_bytes(target, safe="/?&=%-._~:;,+*()!$'@").encode(),
    )
    framed = [b"Host: x", b"Connection: close", b"Content-Length: %d" % len(body)]
    said = b"\r\n".join([first, *kept[:50], *framed, b"", body])
    answer = asyncio.run(_answered(said))
    _check_answer(answer, is_head=first.startswith(b"HEAD "))


async def _answered(said: bytes) -> bytes:
    """All that is answered to it, or what is there of an answer that does not end."""
    with tempfile.TemporaryDirectory(dir=quick_folder()) as folder:
        async with running(Path(folder)) as api:
            answer = await _heard(api, said)
        assert api.faults == []
    return answer


async def _heard(api: Api, said: bytes) -> bytes:
    heard = bytearray()
    async with api.raw() as (reader, writer):
        writer.write(said)
        try:
            async with asyncio.timeout(PATIENCE_S):
                while piece := await reader.read(65536):
                    heard += piece
        except (TimeoutError, ConnectionError):
            pass
    return bytes(heard)


def _check_answer(answer: bytes, *, is_head: bool) -> None:
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head:
        return  # it waits for something
    first, *lines = head.decode("latin-1").split("\r\n")
    status = int(first.split(" ")[1])
    assert status != 500, answer
    headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines)}
    assert headers["server"] == "postroom"
    if status >= 400:
        assert headers["content-type"] == "application/problem+json"
        if not is_head:
            problem = json.loads(body)
            assert problem["status"] == status
            assert problem["code"] in set(Code)
            assert problem["title"]
            assert problem["fix"]


def _check_refusal(refusal: Refusal) -> None:
    assert 400 <= refusal.entry.status < 500
    msgspec.json.encode(render_problem(refusal))
    for one in (
        refusal.detail,
        *(part for fault in refusal.faults for part in (fault.pointer, fault.detail)),
    ):
        assert not NOT_SHOWN.search(one), ascii(one)
        assert len(one) < 2000


def _check_job(body: bytes, header: str) -> None:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return
    found = read_request(value, header_key=header or None, trace_header=header, now=NOW)
    if isinstance(value, dict):
        read_references(value)
        check_recipients(value, STRICT)
    if isinstance(found, Job):
        for mode in OnDuplicate:
            assert len(request_hash(found, mode)) == 32
        return
    assert found
    for one in found:
        assert not NOT_SHOWN.search(one.pointer + one.detail), ascii(one)
        assert one.pointer == "" or one.pointer.startswith("/")
        assert len(one.detail) < 1000


@functools.cache
def _decoder(index: int) -> msgspec.json.Decoder:
    return msgspec.json.Decoder(ROUTES[index].body)


@functools.cache
def _table() -> Table:
    return Table(ROUTES)
