"""Files that the client uploads: whole, in pieces, and again where that can be."""

import io
from pathlib import Path

import pytest

from postroom.client import Client
from postroom.client.errors import Unreachable
from support.fake_daemon import FakeDaemon, HangUp, Say


class Pipe(io.RawIOBase):
    """A source that can be read once and not measured."""

    def __init__(self, data: bytes) -> None:
        self.left = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self.left.read(size)


STAGED = Say(201, {"ref": "att_1"})


def test_a_file_is_uploaded_whole_and_again_after_a_fault(
    daemon: FakeDaemon, client: Client, tmp_path: Path
) -> None:
    data = bytes(range(256)) * 4096
    (tmp_path / "Übersicht 1.bin").write_bytes(data)
    daemon.on("POST /v1/attachments", HangUp(), STAGED)
    assert client.stage(tmp_path / "Übersicht 1.bin") == {"ref": "att_1"}
    assert [asked.body == data for asked in daemon.asked] == [True, True]
    assert daemon.asked[1].query == {"filename": "Übersicht 1.bin"}


def test_a_file_whose_name_is_no_text_is_uploaded_all_the_same(
    daemon: FakeDaemon, client: Client, tmp_path: Path
) -> None:
    (tmp_path / "\udcff.pdf").write_bytes(b"x")
    daemon.on("POST /v1/attachments", STAGED)
    assert client.stage(tmp_path / "\udcff.pdf") == {"ref": "att_1"}
    assert daemon.asked[0].query["filename"].endswith(".pdf")


def test_a_pipe_is_uploaded_in_pieces_and_only_once(daemon: FakeDaemon, client: Client) -> None:
    data = b"x" * 300_000
    daemon.on("POST /v1/attachments", STAGED)
    client.stage(Pipe(data), filename="x.bin", content_type="text/plain")  # type: ignore[arg-type]
    assert daemon.asked[0].body == data
    assert daemon.asked[0].headers["content-type"] == "text/plain"
    daemon.on("POST /v1/attachments", HangUp(), STAGED)
    with pytest.raises(Unreachable):
        client.stage(Pipe(data), filename="x.bin")  # type: ignore[arg-type]
