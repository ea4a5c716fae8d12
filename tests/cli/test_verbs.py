"""Every verb of the command line, against a small daemon: what it prints, how it explains itself and exits."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from postroom.cli.exits import MEANINGS
from postroom.cli.tree import main, root
from support.fake_daemon import FakeDaemon
from support.typed import COMPLETE, SEND


GOLDEN = Path(__file__).parent / "golden"
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
