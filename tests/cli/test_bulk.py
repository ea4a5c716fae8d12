"""What is done to many deliveries at once is asked about first, and says what it left alone."""

import sys

import pytest

from postroom.cli.tree import main
from support.fake_daemon import FakeDaemon
from support.typed import Stdin


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
