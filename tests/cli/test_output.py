"""How it is written: lists that are cut, readers who have seen enough, colour."""

import contextlib
import json
import os
import sys

import pytest

from postroom.cli.tree import main
from support.cli_mail_out import JOB, page
from support.fake_daemon import FakeDaemon


def test_a_long_list_is_cut_and_says_so(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/jobs", page(*([JOB] * 5)))
    assert main(["jobs", "--limit", "3", "--json"]) == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)["items"]) == 3
    assert "more than 3" in said.err


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
