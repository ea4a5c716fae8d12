"""`postroom-sendmail` against a small daemon: its options, its exit codes, what it retries, and what it is made of."""

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom import __version__
from postroom.cli.sendmail.__main__ import main
from support.cli_daemon import MAILBOXES
from support.cli_mail_out import JOB
from support.fake_daemon import FakeDaemon, Say, fake_daemon, problem
from support.fake_host import FakeHost


JOBS = "POST /v1/jobs"
ANN = b"To: ann@example.com\nSubject: Hi\n\nText.\n"
FILE = b"""\
From: news@example.com
To: ann@example.com
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/html

<img src="cid:logo">
--b
Content-Type: image/png; name="logo.png"
Content-ID: <logo>
Content-Transfer-Encoding: base64

AAEC
--b
Content-Type: message/rfc822

Subject: old \xff

Old.
--b--
"""


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(tmp_path) as running:
        running.on("GET /v1/mailboxes", MAILBOXES)
        running.on("POST /v1/attachments", Say(201, {"ref": "att_1"}))
        running.on(JOBS, Say(202, JOB))
        monkeypatch.setenv("POSTROOM_SOCKET", str(running.socket))
        monkeypatch.setenv("POSTROOM_MAILBOX", "support")
        yield running


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: str, given: bytes = ANN, host: FakeHost | None = None) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        code = main(words, host=host or FakeHost())
        return code, *capsys.readouterr()

    return run


def _jobs(daemon: FakeDaemon) -> list[dict[str, Any]]:
    return [one.json for one in daemon.asked if f"{one.method} {one.path}" == JOBS]


def test_its_help_and_version_need_nothing_else(run: Any) -> None:
    code, told, _ = run("--help")
    assert code == 0
    assert "postroom-sendmail(1)" in told
    assert run("--version") == (0, f"postroom-sendmail {__version__}\n", "")


def test_a_job_has_its_key_before_the_first_try_and_keeps_it(daemon: FakeDaemon, run: Any) -> None:
    daemon.on(JOBS, problem(503, "draining", "The daemon is stopping."), Say(202, JOB))
    assert run("-t") == (0, "", "")
    assert run("-t", "-v") == (0, "job_1\n", "")
    keys = [one["idempotency_key"] for one in _jobs(daemon)]
    assert keys == ["minted-1", "minted-1", "minted-1"]


def test_two_messages_have_two_keys(daemon: FakeDaemon, run: Any) -> None:
    host = FakeHost()
    assert run("-t", host=host)[0] == run("-t", host=host)[0] == 0
    assert len({one["idempotency_key"] for one in _jobs(daemon)}) == 2


CHAINED = {
    "an answer": ("References: <1@x>\n <2@x>", "the conversation <1@x>."),
    "of nothing": ("In-Reply-To: Your mail", "a conversation of its own."),
}


@pytest.mark.parametrize(("field", "where"), CHAINED.values(), ids=CHAINED)
@pytest.mark.usefixtures("daemon")
def test_what_becomes_of_references_is_told_who_asks(field: str, where: str, run: Any) -> None:
    given = f"{field}\n".encode() + ANN
    assert (told := run("-t", "-v", given=given))[:2] == (0, "job_1\n")
    assert told[2].endswith(f"are not carried: the mail belongs to {where}\n")
    assert run("-t", given=given) == (0, "", "")


REFUSED = [
    (
        problem(
            422, "invalid_job", "It has faults.", errors=[{"pointer": "/to/0", "detail": "No."}]
        ),
        65,
        "/to/0: No.",
    ),
    (
        problem(
            422, "unknown_mailbox", "x", errors=[{"pointer": "/mailbox_id", "detail": "None such."}]
        ),
        67,
        "postroom-sendmail: x; None such.\n",
    ),
    (problem(413, "body_too_large", "The body is too large."), 65, "too large"),
    (problem(403, "not_allowed", "Not you."), 77, "Not you."),
    (problem(429, "mailbox_queue_full", "The queue is full."), 75, "full"),
    (problem(507, "storage_full", "The disk is full."), 75, "disk"),
    (problem(500, "internal", "Ours."), 70, "Ours."),
    (Say(200, b"<html>"), 76, "not JSON"),
]


@pytest.mark.parametrize(
    ("said", "code", "told"), REFUSED, ids=[f"{row[0].status} {row[1]}" for row in REFUSED]
)
def test_what_the_daemon_says_becomes_an_exit_code(
    said: Say, code: int, told: str, daemon: FakeDaemon, run: Any
) -> None:
    daemon.on(JOBS, said)
    ended, out, err = run("-t")
    assert (ended, out) == (code, "")
    assert told in err
    assert err.count("\n") == 1


def test_a_daemon_that_is_away_for_long_is_tempfail(
    tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_SOCKET", str(tmp_path / "none.sock"))
    host = FakeHost()
    code, _, err = run("-t", host=host)
    assert code == 75
    assert "there is no socket" in err
    assert 5 < sum(host.slept) <= 10


def test_a_daemon_that_comes_back_in_time_is_not_missed(daemon: FakeDaemon, run: Any) -> None:
    daemon.stop()
    host = FakeHost(on_sleep=lambda _: None if daemon._server else daemon.start())
    assert run("-t", host=host) == (0, "", "")


SENDERS = [
    (["-t"], b"From: News <NEWS@example.com>\n", "bulk", None),
    (["-t", "-f", "news@example.com"], b"", "bulk", None),
    (["-t", "-f", "old@example.com"], b"From: news@example.com\n", "bulk", None),
    (["-t", "-f", "news@example.com"], b"From: x@example.com\n", "bulk", "x@example.com"),
    (["-t", "-f", "x@example.com"], b"From: nobody at all\n", "support", "nobody at all"),
    (["-t", "-f", "<>"], b"", "support", None),
]


@pytest.mark.parametrize(
    ("words", "sender", "mailbox", "kept"),
    SENDERS,
    ids=[f"{' '.join(row[0])} {row[1].decode()}" for row in SENDERS],
)
def test_the_mailbox_is_that_of_from_then_of_f_then_of_the_settings(
    words: list[str], sender: bytes, mailbox: str, kept: str | None, daemon: FakeDaemon, run: Any
) -> None:
    assert run(*words, given=sender + ANN)[0] == 0
    (job,) = _jobs(daemon)
    assert job["mailbox_id"] == mailbox
    assert job.get("headers", {}).get("X-Original-From") == kept


def test_of_mailboxes_with_one_address_the_one_in_the_settings_sends(
    daemon: FakeDaemon, run: Any
) -> None:
    twins = [{"id": name, "address": "news@example.com"} for name in ("a", "support", "z")]
    daemon.on("GET /v1/mailboxes", {"items": [*twins, {"id": "gone", "address": None}]})
    assert run("-t", given=b"From: news@example.com\n" + ANN)[0] == 0
    assert _jobs(daemon)[0]["mailbox_id"] == "support"


def test_files_are_handed_over_before_the_job(daemon: FakeDaemon, run: Any) -> None:
    assert run("-t", given=FILE)[0] == 0
    (job,) = _jobs(daemon)
    assert job["html"] == '<img src="cid:logo">'
    assert "text" not in job
    assert job["attachments"] == [
        {"ref": "att_1", "content_type": "image/png", "inline": True, "content_id": "<logo>"},
        {"ref": "att_1", "content_type": "application/octet-stream", "inline": False},
    ]
    staged = [one for one in daemon.asked if one.path == "/v1/attachments"]
    assert [(one.query["filename"], one.body) for one in staged] == [
        ("logo.png", b"\0\1\2"),
        ("message.eml", b"Subject: old \xff\n\nOld."),
    ]


def test_a_message_that_no_relay_takes_is_not_handed_over(
    daemon: FakeDaemon, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.cli.sendmail.__main__._MOST_BYTES", 100)
    for words in (["-t"], ["-t", "-i"]):
        assert run(*words, given=ANN + 100 * b"x\n")[0] == 65
    assert run("-t", given=ANN)[0] == 0
    assert len(_jobs(daemon)) == 1


@pytest.mark.parametrize(
    ("words", "text"), [(["-t"], "a\n"), (["-t", "-i"], "a\n.\nb\n"), (["-t", "-oi"], "a\n.\nb\n")]
)
def test_a_lone_dot_ends_a_message_unless_it_is_said_not_to(
    words: list[str], text: str, daemon: FakeDaemon, run: Any
) -> None:
    for end in (b"\n", b"\r\n"):
        assert run(*words, given=b"To: a@example.com\n\na\n.\nb\n".replace(b"\n", end))[0] == 0
    assert [one["text"].replace("\r\n", "\n") for one in _jobs(daemon)] == [text, text]


def test_what_is_told_moves_no_cursor(run: Any, daemon: FakeDaemon) -> None:
    daemon.on(JOBS, problem(422, "invalid_job", "No \x1b[2J\u202e."))
    _, _, err = run("-t")
    assert err == "postroom-sendmail: No \\x1b[2J\\u202e.\n"


def test_the_queue_is_listed_until_its_end(daemon: FakeDaemon, run: Any) -> None:
    waiting = {
        "id": "dlv_1",
        "mailbox_id": "support",
        "recipient": "a@b.example",
        "reason_code": None,
    }
    daemon.on(
        "GET /v1/deliveries",
        {"items": [waiting], "next_cursor": "c"},
        {"items": [waiting], "next_cursor": None},
    )
    code, told, _ = run("-bp")
    assert code == 0
    assert told.splitlines()[0] == "dlv_1  held  support  a@b.example"
    assert told.splitlines()[-1] == "-- 5 deliveries wait."


def test_it_is_made_of_the_standard_library_and_our_client_alone() -> None:
    code = "import sys; before = set(sys.modules); import postroom.cli.sendmail.__main__; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    ours = {one for one in loaded if one.startswith("postroom.")}
    assert {one.partition(".")[0] for one in loaded} - {"postroom"} <= sys.stdlib_module_names
    assert {
        one for one in ours if not one.startswith(("postroom.client", "postroom.cli.sendmail"))
    } == {
        "postroom.cli",
        "postroom.cli.exits",
        "postroom.cli.streams",
    }
    assert not loaded & {"asyncio", "sqlite3", "logging", "multiprocessing", "email.headerregistry"}


def test_who_has_seen_enough_of_the_queue_gets_no_more(daemon: FakeDaemon) -> None:
    daemon.on("GET /v1/deliveries", {"items": [], "next_cursor": None})
    read, write = os.pipe()
    os.close(read)
    argv = [sys.executable, "-m", "postroom.cli.sendmail", "-bp"]
    done = subprocess.run(argv, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (74, b"")


def test_ctrl_c_ends_it_in_one_sentence(daemon: FakeDaemon, run: Any) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    daemon.on(JOBS, problem(503, "draining", "The daemon is stopping."))
    assert run("-t", host=FakeHost(on_sleep=interrupt)) == (
        130,
        "",
        "postroom-sendmail: Interrupted.\n",
    )


def test_a_fault_of_ours_is_said_to_be_one(daemon: FakeDaemon, run: Any) -> None:
    daemon.on(JOBS, Say(202, {}))
    code, _, err = run("-t", "-v")
    assert code == 70
    assert "KeyError: 'id'" in err
    assert "please report it" in err
