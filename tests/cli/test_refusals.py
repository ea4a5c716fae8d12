"""What the daemon refuses and what was typed wrongly, in the words of the command line."""

import pytest

from postroom.cli.tree import main
from support.fake_daemon import FakeDaemon, Say, problem
from support.typed import COMPLETE, SEND


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
