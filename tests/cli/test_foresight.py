"""What a command says it would do is what it would do; and tables fit the screen that they are read on."""

import sys
from typing import Any

import click
import pytest

from postroom.cli.paper import column, table
from postroom.cli.tree import main
from support.cli_daemon import RELOADED
from support.cli_mail_out import JOB, WAITING, page
from support.fake_daemon import FakeDaemon


LONG = "a.very.long.name.of.somebody.with.many.names@some.large.organisation.example.com"


@pytest.mark.parametrize(
    ("argv", "matched", "told"),
    [
        pytest.param("release --state sent", 17, "17 matched, 0 would be done\n", id="too late"),
        pytest.param("cancel --state sent", 17, "17 matched, 0 would be done\n", id="sent is sent"),
        pytest.param("cancel --state held", 17, "17 matched, 17 would be done\n", id="held"),
        pytest.param("retry --mailbox support", 3, "3 matched, 3 would be done\n", id="any state"),
        pytest.param("retry --limit 2 --domain x.example", 3, "3 matched, 2 would", id="limit"),
        pytest.param(
            "resolve --as sent --mailbox support", 1200, "1200 matched, 1000 would", id="the usual"
        ),
    ],
)
def test_a_dry_run_promises_no_more_than_would_be_done(
    argv: str, matched: int, told: str, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    act = argv.split(maxsplit=1)[0]
    daemon.on(f"POST /v1/deliveries/{act}", {"matched": matched, "done": 0})
    assert main([*argv.split(), "--dry-run"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(told)
    assert ("Left alone" in said.err) is (f"{matched} would" not in said.out)


@pytest.mark.parametrize(
    ("kind", "told"), [("removed", "support: 19 of its deliveries wait"), ("changed", "")]
)
def test_a_dry_reload_names_the_mailboxes_whose_mail_would_be_held(
    kind: str, told: str, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = [{"path": f"mailbox.{name}", "kind": kind, "before": "x"} for name in ("support", "b")]
    daemon.on("POST /v1/reload", {**RELOADED, "changed": gone, "dry_run": True})
    assert main(["reload", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert ("would be held" in out) is bool(told)
    assert told in out


def test_a_reason_is_explained_once_however_many_tables_have_it(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    lane: dict[str, Any] = WAITING["items"][0]
    queue = {
        **lane["queues"][0],
        "blocked_by": "relay_breaker",
        "value": "open: relay.unreachable",
    }
    retry = {**WAITING["retries"][0], "reason_code": "relay.unreachable"}
    daemon.on(
        "GET /v1/waiting",
        {**WAITING, "items": [{**lane, "queues": [queue]}]} | {"retries": [retry]},
    )
    assert main(["explain"]) == 0
    assert capsys.readouterr().err.count("No connection to the relay could be made.") == 1


def test_rows_of_the_selftest_that_are_not_there_are_answered_with_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["selftest", "--only", "nosuch"]) == 64
    said = capsys.readouterr().err
    assert "No row has such words in its name. There are:" in said
    assert "\n  kill " in said


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_table_fits_the_terminal_and_is_whole_in_a_pipe(
    daemon: FakeDaemon,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_terminal: bool,
) -> None:
    long = {**JOB["deliveries"][0], "recipient": LONG}
    request = {"subject": "Quarterly figures " * 9}
    daemon.on("GET /v1/jobs", page({**JOB, "deliveries": [long], "request": request}))
    monkeypatch.setenv("COLUMNS", "130")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    assert main(["jobs"]) == 0
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert (max(map(len, lines)) <= 130) is is_terminal
    assert (LONG in lines[1]) is not is_terminal
    assert lines[1].startswith(
        "job_1  in_progress  support  2026-11-30T07:00:00Z  a.very.long.name"
    )
    assert lines[1].endswith("…") is is_terminal


def test_no_id_is_cut_on_the_smallest_screen_nor_what_to_do_on_any(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    row = {"id": "job_0000000000001", "says": "漢" * 40}
    table([row], [column("ID", "id"), column("SAYS", "says")])
    cut = click.unstyle(capsys.readouterr().out).splitlines()[1]
    assert cut == f"job_0000000000001  {'漢' * 11}…"
    table([row], [column("ID", "id"), column("SAYS", "says")], is_whole=True)
    assert row["says"] in capsys.readouterr().out
