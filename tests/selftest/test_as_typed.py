"""`postroom selftest`, as somebody types it."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom.cli.tree import main
from postroom.selftest import run
from postroom.selftest.row import Row
from support.real_daemon import POSTROOM, env


UGLY = (
    "relay",
    "payload",
    "message that",
    "same job",
    "attachment",
    "token",
    "tampered",
    "poison",
    "restart",
    "reply",
    "burst",
)
NAMED = ("intake.accept", "loop.mark", "inbox.receive", "leases.complete", "outbox.recover")


@pytest.fixture
def temp() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pr-") as name:
        yield Path(name)


def start(temp: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*POSTROOM, "selftest", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env(TMPDIR=str(temp), PYTHONUNBUFFERED="1"),
    )


def alive(temp: Path) -> list[str]:
    """Processes that were started with this directory for what is temporary."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(f"TMPDIR={temp}") in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text(errors="replace"))
        except OSError:
            continue
    return found


@pytest.mark.timeout(120)
def test_the_ugly_paths_a_sample_of_the_matrix_and_of_chance_are_as_promised(temp: Path) -> None:
    only = [word for each in (*UGLY, *NAMED) for word in ("--only", each)]
    selftest = start(temp, "--json", "--runs", "1", "--seed", "5", *only)
    out, err = selftest.communicate(timeout=110)
    told = json.loads(out)
    assert [row for row in told["rows"] if not row["ok"]] == []
    assert (selftest.returncode, err, told["ok"], told["seed"]) == (0, "", True, 5)
    assert len(told["rows"]) == 16 + 2 * len(NAMED) + 1
    assert len({cell for row in told["rows"] for cell in row["cells"]}) == 7 * 2 * len(NAMED)
    assert list(temp.iterdir()) == []
    assert alive(temp) == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
def test_a_selftest_that_is_stopped_leaves_nothing_that_runs(
    kind: signal.Signals, temp: Path
) -> None:
    selftest = start(temp, "--only", "the relay", "--only", "kill before")
    assert selftest.stdout is not None
    assert selftest.stdout.readline().startswith("ok")
    selftest.send_signal(kind)
    selftest.communicate(timeout=90)
    assert alive(temp) == []
    if kind is not signal.SIGKILL:
        assert selftest.returncode == 130
        assert list(temp.iterdir()) == []


GOOD = Row("a good row", "so", "so", ("a before dot",), "/somewhere/good")
BAD = Row("a bad row", "so", "not so\nits last \x1b[2J words", (), "/somewhere/bad")


@pytest.mark.parametrize(
    ("rows", "code"),
    [([GOOD], 0), ([GOOD, BAD], 1), ([], 1)],
    ids=["as promised", "one fell short", "nothing was tried"],
)
def test_it_ends_with_1_unless_all_is_as_promised(
    rows: list[Row],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wishes: list[Any] = []

    def fake(wish: run.Wish, tell: Any) -> list[Row]:
        wishes.append(wish)
        for row in rows:
            tell(row)
        return rows

    monkeypatch.setattr(run, "run", fake)
    assert main(["selftest", "--runs", "3", "--seed", "7"]) == code
    lines = capsys.readouterr().out.splitlines()
    expected = {
        GOOD.name: ["ok           a good row"],
        BAD.name: [
            "FALLS SHORT  a bad row",
            "             expected  so",
            "             seen      not so",
            "                       its last \\x1b[2J words",
            "             kept in   /somewhere/bad",
        ],
    }
    assert lines[:-2] == [line for row in rows for line in expected[row.name]]
    assert main(["selftest", "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is (code == 0)
    assert set(told) == {"ok", "seed", "took_s", "rows"}
    keys = {"name", "ok", "expected", "seen", "cells", "kept_in"}
    assert all(set(row) == keys for row in told["rows"])
    kept = {"a good row": None, "a bad row": "/somewhere/bad"}
    assert all(row["kept_in"] == kept[row["name"]] for row in told["rows"])
    assert (wishes[0].runs, wishes[0].seed) == (3, 7)
    assert wishes[1].seed != 7, "chance of its own"
