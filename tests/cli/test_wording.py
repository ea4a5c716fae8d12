"""What is said in passing: how this program is called where the reader sits."""

import os
import sys
from pathlib import Path

import pytest

from postroom.cli.wording import command


@pytest.mark.parametrize(
    ("called", "is_on_path", "typed"),
    [
        pytest.param(".venv/bin/postroom", False, "{here}/.venv/bin/postroom", id="in a venv"),
        pytest.param("a b/postroom", False, "'{here}/a b/postroom'", id="with a blank"),
        pytest.param(".venv/bin/postroom", True, "postroom", id="on PATH"),
        pytest.param("postroom/cli/__main__.py", False, "postroom", id="as a module"),
    ],
)
def test_the_command_that_is_named_can_be_typed(
    called: str, typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_on_path: bool
) -> None:
    program = tmp_path / called
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [called])
    monkeypatch.setitem(os.environ, "PATH", str(program.parent if is_on_path else tmp_path))
    assert command() == typed.format(here=tmp_path)
