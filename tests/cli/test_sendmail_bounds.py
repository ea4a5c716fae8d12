"""What would take `postroom-sendmail` memory or time without bound is refused, and no half of a line is a lone dot."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom.cli.exits import Exit
from postroom.cli.sendmail.__main__ import main
from postroom.cli.sendmail.content import Content, read_content
from postroom.cli.sendmail.mime import read_message
from postroom.cli.sendmail.unfit import Unfit
from support.fake_daemon import FakeDaemon, Say, fake_daemon
from support.fake_host import FakeHost


JOBS = "POST /v1/jobs"
TEXT = b"Content-Type: text/plain\n\ntext"


def _multi(kind: str, *parts: bytes) -> bytes:
    torn = b"".join(b"--b\n" + part + b"\n" for part in parts)
    return f"Content-Type: multipart/{kind}; boundary=b\n\n".encode() + torn + b"--b--\n"


def _content(raw: bytes) -> Content:
    return read_content(read_message(raw)[1])


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(tmp_path) as running:
        running.on("GET /v1/mailboxes", Say(200, {"items": []}))
        running.on(JOBS, Say(202, {"id": "job_1"}))
        monkeypatch.setenv("POSTROOM_SOCKET", str(running.socket))
        monkeypatch.setenv("POSTROOM_MAILBOX", "support")
        yield running


def _run(words: list[str], stdin: io.BufferedIOBase, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))  # type: ignore[type-var]
    return main(words, host=FakeHost())


def _texts(daemon: FakeDaemon) -> list[str]:
    return [one.json["text"] for one in daemon.asked if f"{one.method} {one.path}" == JOBS]


class Endless(io.RawIOBase):
    """One line that never ends; `taken` is what was read of it."""

    taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        self.taken += len(room)
        assert self.taken < 1_000_000
        room[:] = bytes(len(room))
        return len(room)


@pytest.mark.parametrize("words", [["-t"], ["-t", "-i"]])
def test_a_line_without_end_is_not_read_to_its_end(
    words: list[str], daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.cli.sendmail.__main__._MOST_BYTES", 10_000)
    assert _run(words, io.BufferedReader(Endless()), monkeypatch) == Exit.BAD_DATA
    assert not _texts(daemon)


@pytest.mark.parametrize("written", range(8, 14))
def test_no_dot_within_a_line_ends_a_message_however_near_the_limit_it_stands(
    written: int, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = b"To: a@example.com\n\n"
    monkeypatch.setattr("postroom.cli.sendmail.__main__._MOST_BYTES", len(head) + 12)
    body = written * b"x" + b".\n"
    is_short = len(body) <= 12
    code = _run(["-t"], io.BytesIO(head + body), monkeypatch)
    assert code == (Exit.OK if is_short else Exit.BAD_DATA)
    assert _texts(daemon) == ([body.decode()] if is_short else [])


LONG = b"y" * 400_000
SLOW = {
    "a quoted parameter of semicolons": (
        b'Content-Type: text/plain; a="' + 200_000 * b";" + b"\n\nx",
        "Content-Type",
    ),
    "a file name in pieces": (
        b"Content-Disposition: attachment" + 20_000 * b"; filename*1=x" + b"\n\nx",
        "Content-Disposition",
    ),
    "many files": (_multi("mixed", TEXT, *51 * [TEXT]), "50 files"),
    "many alternatives": (
        _multi("alternative", b"Content-Type: text/plain\n\n" + LONG, *3_000 * [TEXT]),
        "50",
    ),
}


@pytest.mark.parametrize(("raw", "words"), SLOW.values(), ids=SLOW)
def test_what_a_job_could_not_carry_anyway_is_refused_before_time_is_spent_on_it(
    raw: bytes, words: str
) -> None:
    with pytest.raises(Unfit, match=words) as caught:
        _content(raw)
    assert caught.value.code is Exit.BAD_DATA


def test_as_many_files_as_a_job_carries_are_carried() -> None:
    assert len(_content(_multi("mixed", TEXT, *50 * [TEXT])).files) == 50
