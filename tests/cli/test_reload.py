"""`postroom reload`: settings that are as before, wrong, or not to be read again."""

import json

import pytest

from postroom.cli.tree import main
from support.fake_daemon import FakeDaemon, problem


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
