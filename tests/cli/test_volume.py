"""How much a verb says beside its data: with --quiet only what is wrong, with --verbose every request as well."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from postroom.cli.selftest import _tell
from postroom.cli.tree import main, root
from postroom.cli.wordtree import spots
from postroom.selftest.row import Row
from support.cli_daemon import teach
from support.fake_daemon import FakeDaemon, Say, fake_daemon, problem


SEND = ["send", "--mailbox", "support", "--to", "ann@example.com", "--subject", "Hi", "--text", "x"]
# What these say is for a person, a shell, or whoever keeps the log.
WITHOUT_JSON = {"run", "demo", "completion"}


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(tmp_path) as running:
        teach(running)
        monkeypatch.setenv("POSTROOM_SOCKET", str(running.socket))
        yield running


def test_every_verb_has_json_and_quiet_and_verbose_where_it_asks_a_daemon() -> None:
    for spot in spots(root):
        names = {flag.name for flag in spot.flags}
        if not spot.verbs and spot.words[0] not in WITHOUT_JSON:
            assert names >= {"--json", "--quiet"}, spot.words
            assert ("--verbose" in names) == ("--socket" in names), spot.words


@pytest.mark.parametrize(
    "argv", [["-q", *SEND], ["--quiet", *SEND], [*SEND, "-q"], [*SEND, "--quiet"]]
)
def test_a_quiet_verb_says_its_data_alone(
    argv: list[str], daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(SEND) == 0
    assert "Accepted for" in capsys.readouterr().err
    assert main(argv) == 0
    assert capsys.readouterr() == ("job_1\n", "")


@pytest.mark.parametrize(
    "argv",
    [
        ["mailboxes", "pause", "gone"],
        ["suppressions", "remove", "a@example.com"],
        ["show", "job_9"],
    ],
    ids=["no mailbox", "not suppressed", "no job"],
)
def test_a_quiet_verb_says_what_is_wrong(
    argv: list[str], daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("DELETE /v1/suppressions", problem(404, "not_found", "it is not suppressed"))
    loud = main(argv), capsys.readouterr()
    assert loud[1].err != ""
    assert (main([*argv, "--quiet"]), capsys.readouterr()) == loud


def test_quiet_says_nothing_of_reasons_and_the_table_stays(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dead-letters"]) == 1
    loud = capsys.readouterr()
    assert main(["dead-letters", "-q"]) == 1
    assert capsys.readouterr() == (loud.out, "")


def test_a_quiet_selftest_prints_what_falls_short(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Row("good", "a", "a"), Row("bad", "a", "b")]
    with click.Context(root) as context:
        root.parse_args(context, ["-q", "selftest"])
        for row in rows:
            _tell(row)
    said = capsys.readouterr().out
    assert "good" not in said
    assert "bad" in said


@pytest.mark.parametrize("argv", [["-v", "status"], ["status", "--verbose"]])
def test_a_verbose_verb_says_every_request_and_its_answer(
    argv: list[str], daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 0
    lines = capsys.readouterr().err.splitlines()
    asked = [f"{one.method} {one.path}" for one in daemon.asked]
    assert [re.sub(r", \d+ ms$", "", line) for line in lines if " ms" in line] == [
        f"{one}: 200" for one in asked
    ]
    assert asked


def test_a_verbose_verb_says_refusals_and_tries_that_came_to_nothing(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    busy = Say(503, {"code": "store_unavailable", "retry_after_s": 0})
    daemon.on("POST /v1/jobs", busy, problem(422, "invalid_job", "wrong"))
    assert main([*SEND, "-v"]) == 65
    said = re.findall(r"POST /v1/jobs: (\d+), \d+ ms\n", capsys.readouterr().err)
    assert said == ["503", "422"]


def test_what_is_typed_can_not_move_the_cursor_of_who_wants_to_hear_it(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["jobs", "--key", "\x1b[2J", "-v"])
    said = capsys.readouterr().err
    assert "GET /v1/jobs?" in said
    assert "\x1b" not in said


def test_quiet_and_verbose_together_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-q", "stats", "-v"]) == 64
    assert "not both" in capsys.readouterr().err
