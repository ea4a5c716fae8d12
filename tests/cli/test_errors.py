"""What goes wrong at the command line: one rule for exit codes, and one document for programs."""

import json
from pathlib import Path
from typing import Any

import pytest

from postroom.cli.tree import main
from support.cli_mail_out import page
from support.fake_daemon import FakeDaemon, problem


FAULT = {"pointer": "/to/1", "detail": "Bad."}
SEND = ["send", "--mailbox", "support", "--to", "a@example.com", "--subject", "s", "--text", "x"]


def failed(argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """How it ended and the document on stderr; stdout has nothing."""
    code = main([*argv, "--json"])
    said = capsys.readouterr()
    assert said.out == ""
    return code, json.loads(said.err)


def test_what_the_daemon_refuses_is_its_document_in_the_words_of_the_command_line(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("POST /v1/jobs", problem(422, "invalid_job", "No.", title="Wrong", errors=[FAULT]))
    code, told = failed([*SEND, "--key", "k"], capsys)
    assert code == 65
    assert told["errors"] == [{**FAULT, "option": "--to"}]
    assert {name: told[name] for name in ("code", "title", "detail", "fix", "status")} == {
        "code": "invalid_job",
        "title": "Wrong",
        "detail": "No.",
        "fix": "Do it otherwise.",
        "status": 422,
    }


@pytest.mark.parametrize(
    ("argv", "code", "word"),
    [
        (["show", "job_7"], 69, "not_found"),
        (["mailboxes", "pause", "nope"], 67, "unknown_mailbox"),
        (["explain", "--relay", "nope"], 67, "unknown_mailbox"),
        (["suppressions", "remove", "x@example.com"], 69, "not_found"),
        (["jobs", "--status", "nonsense"], 64, "usage"),
        (["show", "dlv_3", "--raw"], 64, "usage"),
        (["show", "nonsense"], 64, "usage"),
        (["thread", "nonsense"], 64, "usage"),
        ([*SEND, "--attach", "/nonexistent"], 66, "file_unreadable"),
        (["restore", "/nonexistent"], 66, "io"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_every_error_is_one_json_document_for_programs(
    argv: list[str], code: int, word: str, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = problem(404, "not_found", "Nothing is here.")
    for call in ("DELETE /v1/suppressions", "GET /v1/waiting", "POST /v1/mailboxes/nope/pause"):
        daemon.on(call, gone)
    daemon.on("GET /v1/jobs/job_7", gone)
    ended, told = failed(argv, capsys)
    assert (ended, told["code"]) == (code, word)
    assert set(told) >= {"code", "title", "detail", "fix", "errors"}
    assert told["title"]
    assert told["detail"]


def test_a_daemon_that_is_away_is_one_json_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.cli.send.HAND_OVER_S", 0.0)
    code, told = failed(["doctor", "--confirm-clock", "--socket", f"{tmp_path}/none"], capsys)
    assert (code, told["code"]) == (75, "unreachable")
    assert "postroom run" in told["fix"]


NAMED = [
    ["jobs", "--mailbox", "nope"],
    ["held", "--mailbox", "nope"],
    ["suppressions", "--mailbox", "nope"],
    ["suppressions", "remove", "x@example.com", "--mailbox", "nope"],
    ["release", "--mailbox", "nope", "--dry-run"],
    ["cancel", "--mailbox", "nope", "--yes"],
    ["retry", "--mailbox", "nope"],
    ["events", "lease", "--mailbox", "nope"],
]


@pytest.mark.parametrize("argv", NAMED, ids=" ".join)
def test_a_mailbox_that_is_not_there_exits_67_with_every_verb(
    argv: list[str], daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("jobs", "deliveries", "suppressions"):
        daemon.on(f"GET /v1/{path}", page())
    for act in ("release", "cancel", "retry"):
        daemon.on(f"POST /v1/deliveries/{act}", {"matched": 0, "done": 0})
    daemon.on("POST /v1/leases", {"leases": []})
    daemon.on("DELETE /v1/suppressions", problem(404, "not_found", "?"))
    assert main(argv) == 67
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("postroom: there is no mailbox 'nope'\n  What to do: ")
    known = [word.replace("nope", "support") for word in argv]
    assert main([*known, *([] if argv[0] != "retry" else ["--yes"])]) != 67


def test_a_mailbox_that_left_is_known_by_what_is_left_of_it(daemon: FakeDaemon) -> None:
    daemon.on("GET /v1/mailboxes", {"items": []})
    assert main(["jobs", "--mailbox", "gone"]) == 0


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["jobs", "--status", "compleated"], "Did you mean completed? There are: accepted, "),
        (["retry", "--state", "nonsense"], "'nonsense' is none of the words. There are: pending, "),
        (["cancel", "--reason", "greylist"], "Did you mean greylisted?"),
        (["show", "nonsense"], "takes what begins with job_ or dlv_ or evt_."),
        (["explain", "nonsense"], "'nonsense' is no id: this takes what begins with job_ or dlv_."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_word_that_nobody_knows_is_wrong_usage(
    argv: list[str], told: str, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 64
    assert told in capsys.readouterr().err
    assert daemon.asked == []


def test_a_file_that_is_not_there_is_named_with_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restore", "/nonexistent.tar"]) == 66
    assert capsys.readouterr().err == "postroom: /nonexistent.tar: No such file or directory\n"


def test_the_help_cuts_no_sentence_on_a_screen_of_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    main(["--help"])
    assert "..." not in capsys.readouterr().out.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("argv", "option"),
    [
        (["status", "job_1", "--wait", "--timeout", "nan"], "--timeout"),
        (["status", "job_1", "--wait", "--timeout", "-1"], "--timeout"),
        ([*SEND, "--wait", "--timeout", "inf"], "--timeout"),
        ([*SEND, "--send-at", "999999999w"], "--send-at"),
        ([*SEND, "--not-after", "9999999d"], "--not-after"),
        (["top", "--every", "nan"], "--every"),
        (["top", "--every", "1e300"], "--every"),
        (["events", "lease", "--consumer", "c", "--for", "inf"], "--for"),
        (["events", "lease", "--consumer", "c", "--wait", "nan"], "--wait"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else value,
)
def test_a_time_without_end_is_wrong_usage_and_nobody_is_asked(
    argv: list[str], option: str, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = failed(argv, capsys)
    assert (code, told["code"], daemon.asked) == (64, "usage", [])
    assert option in json.dumps(told)


def test_a_time_before_all_times_is_the_first_one(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/dead-letters", page())
    assert main(["dead-letters", "--since", "999999999w"]) == 0
    assert daemon.asked[0].query["since"].startswith("1970-01-01T00:00:00")
