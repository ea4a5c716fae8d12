"""`postroom send`: what becomes of all that was typed, read from files or standard input, and waited for."""

import sys
from pathlib import Path

import pytest

from postroom.cli.tree import main
from support.cli_mail_out import JOB, job
from support.fake_daemon import FakeDaemon
from support.typed import SEND, Stdin


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (["sent"], 0),
        (["sent", "sent"], 0),
        (["failed"], 69),
        (["sent", "failed"], 69),
        (["cancelled"], 69),
        (["skipped", "sent"], 69),
        (["uncertain"], 75),
        (["sent", "uncertain"], 75),
        (["pending"], 75),
        (["sent", "retry_scheduled"], 75),
        (["held", "failed"], 75),
        (["sending"], 75),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else str(value),
)
def test_waiting_for_a_mail_exits_with_what_became_of_it(
    states: list[str], code: int, daemon: FakeDaemon
) -> None:
    daemon.on("GET /v1/jobs/job_1", job(*states))
    assert main([*SEND, "--wait", "--timeout", "0"]) == code
    assert main(["status", "job_1"]) == code


def test_a_job_of_which_only_its_key_is_left_exits_with_how_it_ended(daemon: FakeDaemon) -> None:
    for status, code in (("completed", 0), ("failed", 69)):
        daemon.on("POST /v1/jobs", job(expired=True, status=status, deduplicated=True))
        assert main([*SEND, "--wait"]) == code


@pytest.mark.parametrize("option", ["--attach", "--text-file", "--html-file"])
def test_a_file_that_can_not_be_read_exits_66(
    option: str, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SEND, option, "/nonexistent"]) == 66
    said = capsys.readouterr().err
    assert option in said
    assert "/nonexistent" in said
    assert daemon.asked == []


def test_all_that_was_typed_becomes_one_job(daemon: FakeDaemon, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    (tmp_path / "x.html").write_text("<p>Hällo</p>", "utf-8")
    typed = f"""--cc Bob_B<bob@example.com> --bcc eve@example.com --reply-to desk@example.com
        --html-file {tmp_path}/x.html --attach {tmp_path}/a.pdf --path {tmp_path}/b.csv --pin --priority high
        --send-at 2026-12-01T08:00:00+01:00 --key k1 --conversation conv_1 --header X-Report:1 --metadata run=7
        --on-duplicate merge --copies individual --trace t1 --not-after 2026-12-02T00:00:00Z"""
    assert main([*SEND, *typed.split()]) == 0
    staged, posted = daemon.asked
    assert (staged.body, staged.headers["content-type"]) == (b"%PDF", "application/pdf")
    assert posted.json == {
        "mailbox_id": "support",
        "to": ["ann@example.com"],
        "cc": [{"address": "bob@example.com", "name": "Bob_B"}],
        "bcc": ["eve@example.com"],
        "reply_to": ["desk@example.com"],
        "subject": "Hi",
        "text": "x",
        "html": "<p>Hällo</p>",
        "headers": {"X-Report": "1"},
        "metadata": {"run": "7"},
        "conversation_id": "conv_1",
        "trace_id": "t1",
        "idempotency_key": "k1",
        "copies": "individual",
        "priority": "high",
        "send_at": "2026-12-01T07:00:00.000000Z",
        "not_after": "2026-12-02T00:00:00.000000Z",
        "on_duplicate": "merge",
        "attachments": [{"ref": "att_1"}, {"path": f"{tmp_path}/b.csv", "pin": True}],
    }


@pytest.mark.parametrize("option", [["--text", "-"], ["--text-file", "-"], []], ids=" ".join)
def test_the_text_may_come_from_standard_input(
    option: list[str], daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin("Grüße\n".encode()))
    assert main([*SEND[:-2], *option]) == 0
    assert daemon.asked[0].json["text"] == "Grüße\n"


def test_a_mail_without_any_text_is_not_sent(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under cron and systemd standard input is /dev/null."""
    monkeypatch.setattr(sys, "stdin", Stdin(b""))
    assert main(SEND[:-2]) == 64
    assert "There is no text" in capsys.readouterr().err
    assert daemon.asked == []


def test_text_that_is_not_utf8_is_refused_here(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"\xff"))
    assert main([*SEND[:-2], "--text", "-"]) == 64
    assert daemon.asked == []


def test_a_merge_says_who_had_it_already(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("POST /v1/jobs", {**JOB, "queued": 1, "already": 4})
    assert main(SEND) == 0
    assert capsys.readouterr() == ("job_1\n", "Queued for 1; 4 had it already.\n")


def test_an_answer_needs_no_mailbox_and_no_subject(daemon: FakeDaemon) -> None:
    answer = ["--in-reply-to", "evt_7", "--lease", "lse_3:5", "--new-recipients"]
    condition = ["--if-version", "0", "--if-no-mail-since", "evt_7"]
    assert main(["send", "--text", "x", *answer, *condition]) == 0
    asked = daemon.asked[-1].json
    del asked["idempotency_key"]
    assert asked == {
        "text": "x",
        "in_reply_to_event": "evt_7",
        "lease": {"id": "lse_3", "fence": 5},
        "allow_new_recipients": True,
        "if": {"thread_version": 0, "no_inbound_since": "evt_7"},
    }


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--to", "a@example.com", "--subject", "s"], "Missing option '--mailbox'"),
        (["--to", "a@example.com", "--mailbox", "m"], "Missing option '--subject'"),
        (["--in-reply-to", "evt_7", "--lease", "lse_3"], "is not the id of a lease"),
    ],
    ids=["mailbox", "subject", "lease"],
)
def test_what_send_needs_is_said(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], argv: list[str], says: str
) -> None:
    assert main(["send", "--text", "x", *argv]) == 64
    assert says in capsys.readouterr().err
