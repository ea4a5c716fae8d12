"""Every verb of the command line, against a small daemon: what it prints, asks and exits with."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from postroom.cli.__main__ import main, root
from postroom.cli.exits import MEANINGS
from support.cli_mail_in import DEAD, LETTER
from support.cli_mail_out import ENDED, EXPLAINED, JOB, brief, page
from support.fake_daemon import FakeDaemon, HangUp, Say, problem


GOLDEN = Path(__file__).parent / "golden"
SEND = ["send", "--mailbox", "support", "--to", "ann@example.com", "--subject", "Hi", "--text", "x"]
COMPLETE = ["events", "complete", "lse_1", "--fence", "3"]


VERBS = [
    ("status", ["status"], 0),
    ("status-job", ["status", "job_1"], 75),
    ("jobs", ["jobs"], 0),
    ("show-job", ["show", "job_1"], 0),
    ("show-delivery", ["show", "dlv_3"], 0),
    ("show-waiting", ["show", "dlv_2"], 0),
    ("show-event", ["show", "evt_2"], 0),
    ("show-report", ["show", "evt_3"], 0),
    ("show-fact", ["show", "evt_1"], 0),
    ("show-doubt", ["show", "dlv_4"], 0),
    ("show-alert", ["show", "evt_9"], 0),
    ("explain-doubt", ["explain", "dlv_4"], 0),
    ("cancel", ["cancel", "job_1"], 69),
    ("held", ["held", "--hold-reason", "restored"], 0),
    ("release", ["release", "dlv_3"], 0),
    ("release-all", ["release", "--hold-reason", "restored", "--yes"], 0),
    ("retry", ["retry", "dlv_3"], 0),
    ("retry-job", ["retry", "job_1"], 0),
    ("retry-all", ["retry", "--reason", "recipient.unknown", "--yes"], 0),
    ("resolve", ["resolve", "dlv_3", "--as", "sent"], 0),
    ("explain", ["explain", "job_1"], 0),
    ("explain-all", ["explain"], 0),
    ("explain-mailbox", ["explain", "--mailbox", "support", "--lane", "bulk"], 0),
    ("explain-relay", ["explain", "--relay", "main"], 0),
    ("dead-letters", ["dead-letters", "--since", "24h"], 1),
    ("events", ["events"], 0),
    ("events-tail", ["events", "tail", "--after", "1", "--count", "1"], 0),
    ("events-lease", ["events", "lease", "--mailbox", "support", "--for", "120"], 0),
    ("events-complete", [*COMPLETE, "--reply-to", "evt_2", "--text", "Yes."], 0),
    ("events-release", ["events", "release", "lse_1", "--fence", "3", "--delay", "60"], 0),
    ("events-retry", ["events", "retry", "evt_1"], 0),
    ("thread", ["thread", "thr_1"], 0),
    ("thread-resume", ["thread", "thr_1", "--resume"], 0),
    ("mailboxes", ["mailboxes"], 0),
    ("mailboxes-check", ["mailboxes", "check", "support"], 69),
    ("mailboxes-pause", ["mailboxes", "pause", "support", "--reason", "moving"], 0),
    ("mailboxes-resume", ["mailboxes", "resume", "support"], 0),
    ("suppressions", ["suppressions", "list"], 0),
    ("suppressions-add", ["suppressions", "add", "gone@example.com"], 0),
    ("suppressions-remove", ["suppressions", "remove", "gone@example.com"], 0),
    ("stats", ["stats"], 0),
    ("reload", ["reload"], 0),
    ("reload-dry", ["reload", "--dry-run"], 0),
    ("top", ["top", "--once"], 0),
    ("doctor-clock", ["doctor", "--confirm-clock"], 0),
    ("send", SEND, 0),
    ("send-wait", [*SEND, "--wait", "--timeout", "0"], 75),
]


@pytest.mark.parametrize(("name", "argv", "code"), VERBS, ids=[row[0] for row in VERBS])
def test_a_verb_prints_for_people(
    name: str,
    argv: list[str],
    code: int,
    daemon: FakeDaemon,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(argv) == code
    said = capsys.readouterr()
    printed = f"{said.out}--- talk\n{said.err}".replace(str(daemon.socket), "SOCKET")
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("POSTROOM_GOLDEN") == "write":
        golden.write_text(printed, "utf-8")
    assert printed == golden.read_text("utf-8")


def test_explain_says_that_a_loop_holds_and_what_frees_it(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = {
        "name": "hold",
        "verdict": "blocked",
        "value": "held: loop in thr_1",
        "threshold": "not held",
        "until_at": None,
    }
    said = {"delivery_id": "dlv_3", "state": "held", "blocked_by": "hold", "earliest_at": None}
    daemon.on("GET /v1/deliveries/dlv_3/explain", {**said, "gates": [gate]})
    assert main(["explain", "dlv_3"]) == 0
    printed = capsys.readouterr()
    assert "held: loop in thr_1" in printed.out
    assert "postroom thread ID --resume" in printed.out
    assert "machines answer each other in its thread" in printed.out


def test_a_job_shows_what_was_heard_of_its_deliveries(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    heard = {**JOB["deliveries"][0], "feedback": "bounced"}
    daemon.on("GET /v1/jobs/job_1", {**JOB, "deliveries": [heard, *JOB["deliveries"][1:]]})
    assert main(["show", "job_1"]) == 0
    rows = [
        row
        for row in capsys.readouterr().out.splitlines()
        if "  FEEDBACK  " in row or "dlv_" in row
    ]
    assert [row.split()[3] for row in rows[:2]] == ["FEEDBACK", "bounced"]
    assert all("bounced" not in row for row in rows[2:])


@pytest.mark.parametrize(("name", "argv", "code"), VERBS, ids=[row[0] for row in VERBS])
def test_a_verb_prints_one_json_document_for_programs(
    name: str,
    argv: list[str],
    code: int,
    daemon: FakeDaemon,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*argv, "--json"]) == code
    out = capsys.readouterr().out
    assert isinstance(json.loads(out), dict)
    assert out.isascii()
    assert not set(out) & set(map(chr, range(32))) - {"\n"}


@pytest.mark.parametrize(("name", "argv", "code"), VERBS, ids=[row[0] for row in VERBS])
def test_nothing_that_a_stranger_wrote_reaches_the_terminal_as_it_is(
    name: str,
    argv: list[str],
    code: int,
    daemon: FakeDaemon,
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(argv)
    said = capsys.readouterr()
    assert not set(said.out + said.err) & {"\x1b", "\r", "\x07", "\u202e"}


def _commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            yield from _commands(one, (*path, name))


@pytest.mark.parametrize("path", list(_commands(root, ())), ids=lambda path: " ".join(path) or "-")
def test_every_verb_explains_itself(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*path, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: {' '.join(('postroom', *path))}")
    assert len(out.splitlines()) > 4


@pytest.mark.parametrize("path", list(_commands(root, ())), ids=lambda path: " ".join(path) or "-")
def test_every_option_says_what_it_is_for(path: tuple[str, ...]) -> None:
    command: click.Command = root
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []
    assert command is root or not command.get_short_help_str(66).endswith("...")


def test_every_exit_code_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    told = capsys.readouterr().out
    assert [code for code, says in MEANINGS.items() if f"{code:7}  {says}\n" not in told] == []


def test_the_verbs_are_those_of_the_contract() -> None:
    verbs = (
        "run demo send status jobs show cancel retry resolve explain dead-letters events thread mailboxes suppressions"
        " stats config backup restore doctor held release reload selftest completion top"
    )
    assert set(root.commands) == set(verbs.split())


@pytest.mark.parametrize("verb", ["mcp"])
def test_a_verb_of_a_later_version_does_not_exist(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb]) == 64
    assert "No such command" in capsys.readouterr().err


def test_a_reload_that_changes_nothing_says_so(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    same = {"changed": [], "needs_restart": [], "warnings": [], "mailboxes": 1, "dry_run": False}
    daemon.on("POST /v1/reload", same)
    assert main(["reload"]) == 0
    assert capsys.readouterr() == ("The settings are read again; all of them are as before.\n", "")
    assert main(["reload", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == same


def test_settings_that_are_wrong_are_said_as_config_check_says_them(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [
        {"file": "/etc/x.toml", "key": "daemon.slots", "wrong": "is 0.", "fix": "It must be more."},
        {"file": "/etc/y\x1b.toml", "key": "", "wrong": "is not TOML.", "fix": ""},
    ]
    daemon.on("POST /v1/reload", problem(422, "settings_wrong", "2 wrong.", problems=wrong))
    assert main(["reload"]) == 78
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[1:] == [
        "/etc/x.toml: daemon.slots: is 0. It must be more.",
        "/etc/y\\x1b.toml: is not TOML.",
    ]
    assert main(["reload", "--json"]) == 78
    assert json.loads(capsys.readouterr().out) == {"ok": False, "problems": wrong}


@pytest.mark.parametrize(
    ("said", "code"),
    [((403, "not_allowed"), 77), ((422, "unknown_field"), 65)],
)
def test_a_reload_that_is_refused_ends_as_any_other_call(
    said: tuple[int, str], code: int, daemon: FakeDaemon
) -> None:
    daemon.on("POST /v1/reload", problem(*said, "No."))
    assert main(["reload"]) == code


def job(*states: str, **more: object) -> dict[str, object]:
    """A job with one delivery in each of these states."""
    found = [brief(n, f"r{n}@example.com", state) for n, state in enumerate(states)]
    return {**JOB, "deliveries": found, **more}


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


REFUSALS: list[tuple[str, Say, int]] = [
    ("wrong field", problem(422, "invalid", "?", errors=[{"pointer": "/x", "detail": "?"}]), 65),
    (
        "no such mailbox",
        problem(422, "unknown_mailbox", "?", errors=[{"pointer": "/mailbox_id", "detail": "?"}]),
        67,
    ),
    ("not JSON", problem(400, "not_json", "?"), 65),
    ("too large", problem(413, "too_large", "?"), 65),
    ("not allowed", problem(403, "denied", "?"), 77),
    ("no such thing", problem(404, "not_found", "?"), 69),
    ("wrong state", problem(409, "wrong_state", "?"), 69),
    ("log reset", problem(410, "log_reset", "?"), 69),
    ("full", problem(507, "storage_full", "?", retry_after_s=90), 75),
    ("store away", problem(503, "store_unavailable", "?", retry_after_s=90), 75),
    ("a bug there", problem(500, "internal", "?"), 70),
    ("no daemon of ours", Say(200, b"<html>"), 76),
]


@pytest.mark.parametrize(
    ("answer", "code"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS]
)
def test_a_refusal_says_what_why_and_what_to_do(
    answer: Say, code: int, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("POST /v1/jobs", answer)
    assert main(SEND) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("postroom: ")
    if answer.status >= 400:
        assert "What to do: " in said.err


FAULTS = [
    ("/to/1", "Bad.", "--to: Bad."),
    ("/mailbox_id", "Unknown.", "--mailbox: Unknown."),
    ("/attachments/0/path", "No such file.", "attachment 1: No such file."),
    ("/filter/reason_code", "No such word.", "--reason: No such word."),
    ("/replies/0/in_reply_to_event", "No event.", "--reply-to: No event."),
    ("/lease_s", "Too long.", "--for: Too long."),
    ("/address", "Bad.", "Bad."),
]


@pytest.mark.parametrize(("pointer", "detail", "told"), FAULTS, ids=[row[0] for row in FAULTS])
def test_what_is_wrong_is_said_once_in_the_words_of_the_command_line(
    pointer: str, detail: str, told: str, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    errors = [{"pointer": pointer, "detail": detail}]
    daemon.on("POST /v1/jobs", problem(422, "invalid_job", f"{pointer}: {detail}", errors=errors))
    main(SEND)
    assert capsys.readouterr().err == f"postroom: {told} (invalid_job)\n"


def test_of_several_faults_each_has_a_line(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    errors = [{"pointer": pointer, "detail": detail} for pointer, detail, _ in FAULTS]
    daemon.on(
        "POST /v1/jobs",
        problem(422, "invalid_job", "?", title="The job has faults", errors=errors),
    )
    main(SEND)
    told = [f"  {line}" for *_, line in FAULTS]
    expected = ["postroom: The job has faults: (invalid_job)", *told]
    assert capsys.readouterr().err.splitlines() == expected


def test_a_key_that_is_taken_says_by_which_job(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("POST /v1/jobs", problem(422, "idempotency_key_reuse", "Taken.", job_id="job_7"))
    main([*SEND, "--key", "k"])
    assert "  It belongs to job_7: postroom show job_7\n" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--attach", "--text-file", "--html-file"])
def test_a_file_that_can_not_be_read_exits_66(
    option: str, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SEND, option, "/nonexistent"]) == 66
    said = capsys.readouterr().err
    assert option in said
    assert "/nonexistent" in said
    assert daemon.asked == []


@pytest.mark.parametrize(
    "argv",
    [
        ["send"],
        ["send", "--mailbox", "support", "--subject", "x", "--text", "y", "--text-file", "-"],
        [*SEND, "--send-at", "tomorrow"],
        [*SEND, "--header", "no colon"],
        ["retry"],
        ["retry", "dlv_3", "--mailbox", "support"],
        ["resolve", "dlv_3"],
        ["resolve", "dlv_3", "--as", "maybe"],
        ["show", "job_1", "--raw"],
        ["dead-letters", "--since", "yesterday"],
        ["events", "complete", "lse_1"],
        [*COMPLETE, "--text", "x"],
        [*COMPLETE, "--reply-to", "evt_2"],
        ["status", "--config", "/nonexistent"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_64_and_asks_nothing_of_anyone(
    argv: list[str], daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 64
    assert "Error: " in capsys.readouterr().err
    assert not [asked for asked in daemon.asked if asked.method == "POST"]


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


class Stdin(io.TextIOWrapper):
    """Standard input with these bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")


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


def test_the_message_itself_is_written_as_it_is(
    daemon: FakeDaemon, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["show", "dlv_3", "--raw"]) == 0
    assert capfdbinary.readouterr().out == b"Subject: x\r\n\r\n\x1b[2J.\r\n"


def test_a_mail_that_no_sign_ties_to_a_thread_is_shown_without_one(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = {"id": "thr_7", "version": 1, "matched_by": "none", "confidence": "none"}
    daemon.on("GET /v1/events/evt_2", {**LETTER, "thread": alone, "answers": None})
    assert main(["show", "evt_2"]) == 0
    shown = capsys.readouterr().out
    assert "thr_7" in shown
    assert not {"found by", "answers"} & {line[:8].rstrip() for line in shown.splitlines()}


def test_a_mail_that_came_in_is_written_as_it_is(
    daemon: FakeDaemon, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["show", "evt_2", "--raw"]) == 0
    assert capfdbinary.readouterr().out == b"Subject: y\r\n\r\n\x1b[2J.\r\n"


@pytest.mark.parametrize(
    ("argv", "right"),
    [
        (["show", "thr_1"], "thr_1 is a conversation: see `postroom thread thr_1`."),
        (["thread", "evt_1"], "evt_1 is an event: see `postroom show evt_1`."),
        (["explain", "evt_1"], "evt_1 is an event: see `postroom show evt_1`."),
        (["explain", "thr_1"], "thr_1 is a conversation: see `postroom thread thr_1`."),
        (["thread", "dlv_1"], "dlv_1 is a delivery: see `postroom show dlv_1`."),
        (["thread", "job_1"], "job_1 is a job: see `postroom show job_1`."),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_who_gives_an_id_to_the_wrong_verb_is_told_the_right_one(
    argv: list[str], right: str, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 64
    assert right in capsys.readouterr().err
    assert daemon.asked == []


def test_people_and_attachments_are_shown_as_one_would_type_them(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    request = {
        "to": ["ann@example.com", {"address": "bob@example.com", "name": "Bob B"}],
        "cc": [{"address": "eve@example.com"}],
        "attachments": [{"ref": "att_1"}, {"path": "/srv/a.pdf", "filename": "Report.pdf"}],
    }
    daemon.on("GET /v1/jobs/job_1", job("sent", request=request))
    assert main(["show", "job_1"]) == 0
    out = capsys.readouterr().out
    assert "ann@example.com, Bob B <bob@example.com>\n" in out
    assert "  eve@example.com\n" in out
    assert "att_1, /srv/a.pdf as Report.pdf\n" in out


def test_no_dead_letters_is_no_news(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    daemon.on("GET /v1/dead-letters", page())
    assert main(["dead-letters"]) == 0
    assert capsys.readouterr() == ("", "No dead letters.\n")


def test_events_that_nobody_could_handle_are_dead_letters(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/dead-letters", {**DEAD, "items": []})
    assert main(["dead-letters"]) == 1
    assert "postroom events retry ID" in capsys.readouterr().err


def test_a_lease_that_can_not_be_had_exits_75(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("POST /v1/leases", {"leases": []})
    assert main(["events", "lease"]) == 75
    assert capsys.readouterr() == ("", "Nothing waits.\n")


def test_a_lease_is_asked_for_and_completed_as_it_was_typed(daemon: FakeDaemon) -> None:
    typed = "lease --consumer a --mailbox x --mailbox y --type reply.received --threads 2 --for 9"
    assert main(["events", *typed.split()]) == 0
    assert main([*COMPLETE, "--ack", "evt_2", "--reply-to", "evt_2", "--text", "Yes."]) == 0
    asked = {**daemon.asked[0].json, "attempt_id": "any"}
    assert asked == {
        "consumer": "a",
        "mailbox_ids": ["x", "y"],
        "types": ["reply.received"],
        "max_threads": 2,
        "lease_s": 9.0,
        "wait_s": 0.0,
        "attempt_id": "any",
    }
    (reply,) = daemon.asked[1].json["replies"]
    assert (daemon.asked[1].json["ack"], daemon.asked[1].json["fence"]) == (["evt_2"], 3)
    assert {**reply, "idempotency_key": "any"} == {
        "in_reply_to_event": "evt_2",
        "text": "Yes.",
        "idempotency_key": "any",
    }


def test_a_long_list_is_cut_and_says_so(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/jobs", page(*([JOB] * 5)))
    assert main(["jobs", "--limit", "3", "--json"]) == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)["items"]) == 3
    assert "more than 3" in said.err


def test_what_is_done_to_many_is_asked_about_first(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"n\n"))
    assert main(["retry", "--mailbox", "support"]) == 130
    (asked,) = daemon.asked
    assert asked.json == {"filter": {"mailbox_id": "support"}, "dry_run": True}
    assert "retry 4 deliveries?" in capsys.readouterr().err
    assert main(["retry", "--mailbox", "support", "--dry-run", "--limit", "2"]) == 0
    assert daemon.asked[-1].json == {**asked.json, "limit": 2}


def test_where_nobody_can_be_asked_it_says_how_to_go_on(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b""))
    assert main(["retry", "--mailbox", "support"]) == 64
    assert "--yes" in capsys.readouterr().err
    assert len(daemon.asked) == 1


def test_what_was_left_alone_is_said(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("POST /v1/deliveries/retry", {"matched": 8, "done": 0})
    assert main(["retry", "--state", "sent", "--yes"]) == 0
    said = capsys.readouterr()
    assert said.out == "8 matched, 0 done\n"
    assert "Left alone: what is not failed" in said.err


def test_what_has_ended_is_explained_by_how_it_ended(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/deliveries/dlv_3/explain", ENDED)
    assert main(["explain", "dlv_3"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("dlv_3  failed: it waits for nothing\n")
    assert "550 5.1.1" in said.out
    assert "recipient.unknown  The relay knows no such recipient." in said.err


def test_a_gate_is_shown_once_for_all_that_wait_at_it(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/jobs/job_1", job("retry_scheduled", "retry_scheduled"))
    for number in range(2):
        explained = {**EXPLAINED, "delivery_id": f"dlv_{number}"}
        daemon.on(f"GET /v1/deliveries/dlv_{number}/explain", explained)
    main(["explain", "job_1"])
    out = capsys.readouterr().out
    assert out.count("waits for backoff") == 2
    assert out.count("GATE") == 1


@pytest.mark.parametrize(
    ("mailbox", "added", "removed"),
    [
        ([], "Nothing is sent to x@example.com any more.", "for all mailboxes."),
        (
            ["--mailbox", "news"],
            "Nothing is sent to x@example.com from news any more.",
            "for news.",
        ),
    ],
    ids=["all", "one"],
)
def test_a_suppression_says_for_which_mailbox_it_is(
    mailbox: list[str],
    added: str,
    removed: str,
    daemon: FakeDaemon,
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["suppressions", "add", "x@example.com", *mailbox])
    assert capsys.readouterr().out == f"{added}\n"
    main(["suppressions", "remove", "x@example.com", *mailbox])
    assert capsys.readouterr().out.endswith(f"{removed}\n")
    daemon.on("DELETE /v1/suppressions", problem(404, "not_found", "?"))
    daemon.on("GET /v1/mailboxes", {"items": [{"id": "news"}]})
    assert main(["suppressions", "remove", "x@example.com", *mailbox]) == 69
    assert "is not suppressed" in capsys.readouterr().err


def test_a_mailbox_that_is_not_blocked_has_no_probe_to_wait_for(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    """A closed breaker has one for a moment after each fault."""
    redial = {"state": "closed", "reason": None, "probe_at": "2026-11-30T07:00:00.250000Z"}
    box = {"id": "a", "address": "a@example.com", "relay": "main", "state": "active"}
    daemon.on("GET /v1/mailboxes", {"items": [{**box, "relay_breaker": redial}]})
    main(["mailboxes"])
    assert "PROBE" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("domains", "told"),
    [
        pytest.param([None], "all: 12.5 a minute", id="the relay"),
        pytest.param(["a.example"], "a.example: 12.5 a minute", id="a domain"),
        pytest.param([None, "a.example", "b.example"], "all: 12.5 a minute, and 2 more", id="more"),
    ],
)
def test_a_mailbox_says_what_is_slowed_down(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], domains: list[str | None], told: str
) -> None:
    box = {"id": "a", "address": "a@example.com", "relay": "main", "state": "active"}
    slowed = [{"domain": domain, "per_minute": 12.5} for domain in domains]
    daemon.on("GET /v1/mailboxes", {"items": [{**box, "slowed": slowed}]})
    main(["mailboxes"])
    heads, line = capsys.readouterr().out.splitlines()
    assert heads.endswith("SLOWED TO")
    assert line.endswith(f"  {told}")


def test_a_delivery_to_a_slowed_domain_says_how_slow_and_why(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = {
        "name": "domain_slowed",
        "verdict": "blocked",
        "value": "12.5 a minute, 2 at once: domain.deferred",
        "threshold": "25 a minute, 4 at once",
        "until_at": "2026-11-30T07:00:05Z",
    }
    said = {"delivery_id": "dlv_1", "state": "pending", "blocked_by": "domain_slowed"}
    daemon.on("GET /v1/deliveries/dlv_1/explain", {**said, "earliest_at": None, "gates": [gate]})
    daemon.on("GET /v1/deliveries/dlv_1", {"id": "dlv_1", "history": []})
    assert main(["explain", "dlv_1"]) == 0
    told = capsys.readouterr()
    assert "Because the recipient's domain said that we are too fast" in told.out
    assert "12.5 a minute, 2 at once: domain.deferred  25 a minute, 4 at once" in told.out
    assert "takes no mail from us for a while" in told.out + told.err


SOCKETS: list[tuple[str, Callable[[Path], list[str]]]] = [
    (
        "before the verb",
        lambda here: ["--socket", f"{here}/api.sock", "mailboxes", "check", "support"],
    ),
    ("within", lambda here: ["mailboxes", "--socket", f"{here}/api.sock", "check", "support"]),
    ("after", lambda here: ["mailboxes", "check", "support", "--socket", f"{here}/api.sock"]),
    (
        "by the settings",
        lambda here: ["mailboxes", "check", "support", "--config", f"{here}/p.toml"],
    ),
]


@pytest.mark.parametrize("argv", [row[1] for row in SOCKETS], ids=[row[0] for row in SOCKETS])
def test_the_socket_may_be_named_in_several_places(
    argv: Callable[[Path], list[str]],
    daemon: FakeDaemon,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSTROOM_SOCKET", "/nonexistent")
    (tmp_path / "p.toml").write_text(f'[api]\nsocket = "{tmp_path}/api.sock"\n')
    assert main(argv(tmp_path)) == 69
    assert len(daemon.asked) == 1


def test_a_lost_answer_tells_how_to_go_on(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.cli.send.HAND_OVER_S", 0.0)
    daemon.on("POST /v1/deliveries/dlv_3/retry", HangUp())
    assert main(["retry", "dlv_3"]) == 75
    assert "the answer was lost" in capsys.readouterr().err


def test_a_reader_who_has_seen_enough_is_no_error(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, write = os.pipe()
    os.close(read)
    closed = os.fdopen(write, "w")
    monkeypatch.setattr(sys, "stdout", closed)
    assert main(["jobs"]) == 141
    with contextlib.suppress(BrokenPipeError):
        closed.close()


def test_colour_is_left_out_where_it_is_not_wanted(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda stream, color: color is False)
    main(["jobs"])
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    main(["jobs"])
    assert "\x1b[" not in capsys.readouterr().out


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
