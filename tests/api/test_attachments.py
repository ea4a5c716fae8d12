"""Files that are staged ahead of their job: read back whole, bounded, and under harmless names."""

import hashlib
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.api.routes.attachments import clean_filename
from postroom.core.mailbox import Limits, Mailbox
from support.api_server import Api, first_line, running


async def test_a_file_is_staged_and_read_back(api: Api) -> None:
    content = bytes(range(256)) * 2000
    name = quote("Übersicht 1.pdf")
    headers = {"Content-Type": "application/PDF; x=y"}
    said = await api.post(f"/attachments?filename={name}", data=content, headers=headers)
    assert said.status == 201
    ref = said.json["ref"]
    assert said.headers["location"] == f"/v1/attachments/{ref}"
    assert said.json == {
        "ref": ref,
        "size_bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "content_type": "application/pdf",
        "filename": "Übersicht 1.pdf",
    }
    back = await api.get(f"/attachments/{ref}")
    assert (back.status, back.body) == (200, content)
    assert back.headers["content-type"] == "application/pdf"
    assert back.headers["content-disposition"] == (
        "attachment; filename*=UTF-8''%C3%9Cbersicht%201.pdf"
    )
    head = await api.ask("HEAD", f"/v1/attachments/{ref}")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(content))


async def test_a_file_larger_than_any_body_is_streamed(api: Api) -> None:
    said = await api.post("/attachments?filename=a", data=bytes(3 << 20))
    assert (said.status, said.json["size_bytes"]) == (201, 3 << 20)


async def test_a_file_that_is_cut_off_is_not_staged(api: Api) -> None:
    async with api.raw() as (_, writer):
        head = b"POST /v1/attachments?filename=a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"
        writer.write(head)
        await writer.drain()
    while not api.uploads.broken:
        await api.get("/healthz")
    assert api.uploads.files == {}


@pytest.mark.parametrize("path", ["att_nothing", "att_0000000000009", "%2e%2e"])
async def test_a_file_that_is_not_there_is_not_found(api: Api, path: str) -> None:
    assert (await api.get(f"/attachments/{path}")).status == 404
    assert (await api.ask("HEAD", f"/v1/attachments/{path}")).status == 404


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a.doc", "a.doc"),
        ("a\r\nBcc: b", "a__Bcc: b"),
        ("..", None),
        ("/", None),
        ("x" * 300 + ".pdf", "x" * 146 + ".pdf"),
        ("ü" * 300, "ü" * 75),
    ],
)
def test_a_name_is_made_harmless(given_name: str, kept: str | None) -> None:
    assert clean_filename(given_name) == kept


@given(st.text(max_size=400))
def test_no_name_leaves_its_place(name: str) -> None:
    kept = clean_filename(name)
    if kept is not None:
        assert 0 < len(kept.encode()) <= 150
        assert not set(kept) & set("/\\\r\n\0")
        assert kept not in {".", ".."}


async def test_a_file_without_a_name_is_refused(api: Api) -> None:
    for query in ("", "?filename=", "?filename=..", "?filename=a&x=1"):
        assert (await api.post("/attachments" + query, data=b"x")).status == 422


async def test_a_strange_type_is_not_believed(api: Api) -> None:
    headers = {"Content-Type": 'text/html"'}
    said = await api.post("/attachments?filename=a", data=b"x", headers=headers)
    assert said.json["content_type"] == "application/octet-stream"


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
