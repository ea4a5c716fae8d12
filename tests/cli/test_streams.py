"""Where nobody listens, or nobody speaks: a mail that is taken is never said not to be."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli_daemon import JOB, MAILBOXES
from support.fake_daemon import Asked, FakeDaemon, Say, fake_daemon


JOBS = "POST /v1/jobs"
MAIL = b"To: ann@example.com\nSubject: Hi\n\nText.\n"


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(tmp_path) as running:
        running.on("GET /v1/mailboxes", MAILBOXES)
        running.on(JOBS, Say(202, JOB))
        monkeypatch.setenv("POSTROOM_SOCKET", str(running.socket))
        monkeypatch.setenv("POSTROOM_MAILBOX", "support")
        yield running


def taken(daemon: FakeDaemon) -> list[Asked]:
    return [one for one in daemon.asked if f"{one.method} {one.path}" == JOBS]


def called(
    words: str, program: str = "postroom.cli.sendmail"
) -> subprocess.CompletedProcess[bytes]:
    """How the program ends that a shell starts with these words."""
    command = f"{sys.executable} -m {program} {words}"
    return subprocess.run(["/bin/sh", "-c", command], input=MAIL, capture_output=True, check=False)


@pytest.mark.parametrize(
    "words", ["-t >&-", "-t >&- 2>&-", "-t -v >&-", "-t -v >/dev/full", "-t -v 2>&-"]
)
def test_a_mail_that_is_taken_is_taken_whoever_hears_it(words: str, daemon: FakeDaemon) -> None:
    done = called(words)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(taken(daemon)) == 1


def test_a_reader_who_is_gone_makes_no_second_mail(daemon: FakeDaemon) -> None:
    read, write = os.pipe()
    os.close(read)
    argv = [sys.executable, "-m", "postroom.cli.sendmail", "-t", "-v"]
    done = subprocess.run(argv, input=MAIL, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(taken(daemon)) == 1


@pytest.mark.parametrize("words", ["2>&-", "2>/dev/full"])
def test_what_is_wrong_has_its_exit_code_whoever_hears_it(words: str, daemon: FakeDaemon) -> None:
    assert called(words).returncode == 64


def test_without_standard_input_there_is_no_message(daemon: FakeDaemon) -> None:
    done = called("ann@example.com <&-")
    assert (done.returncode, done.stdout) == (66, b"")
    assert done.stderr == b"postroom-sendmail: Standard input is closed: there is no message.\n"
    assert not taken(daemon)


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&-"])
def test_a_job_that_is_taken_is_taken_whoever_hears_it(closed: str, daemon: FakeDaemon) -> None:
    words = "send --mailbox support --to ann@example.com --subject Hi --text x"
    assert called(f"{words} {closed}", "postroom.cli").returncode == 0
    assert len(taken(daemon)) == 1
