"""The search for secrets in all output of these tests: what it finds, and that a run in which it finds something fails."""

import base64
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.heard import Ear, forms


TESTS = Path(__file__).parents[1]
CALM = '{"event": "delivery.sent", "reply_text": "2.0.0 ok"}\n'


def login(password: str) -> str:
    return base64.b64encode(f"\0someone\0{password}".encode()).decode()


@pytest.mark.parametrize(
    "said",
    [
        "password hunter2-secret",
        "b'correct horse battery'",
        f"AUTH PLAIN {login('correct-horse-battery')}",
        f"key {b'k' * 32!r}",
        f"key {(b'k' * 32).hex()}",
    ],
    ids=["in clear", "as Python shows it", "in a login", "a key", "a key in hex"],
)
def test_a_secret_is_found_in_any_form_and_its_line_is_told(said: str) -> None:
    ear = Ear()
    ear.hear("daemon 7", f"{CALM}{said}\n{CALM}")
    assert [(leak.who, leak.line) for leak in ear.leaks] == [("daemon 7", said)]


@pytest.mark.parametrize("ahead", range(4))
def test_a_secret_is_found_wherever_in_base64_it_begins(ahead: int) -> None:
    text = base64.b64encode(b"x" * ahead + b"a key of these octets" + b"y" * 5).decode()
    assert any(form in text for form in forms(b"a key of these octets"))


def test_keys_of_a_store_are_found_as_well() -> None:
    ear = Ear()
    ear.hear("daemon 7", f"key={b'9' * 32!r}", [b"9" * 32])
    assert [leak.who for leak in ear.leaks] == ["daemon 7"]


@pytest.mark.parametrize(
    "said",
    ["Your secret salary", f"support-r-{'a2' * 14}b@reply.example.com"],
    ids=["text", "token"],
)
def test_what_people_wrote_may_be_shown_by_a_command_and_stands_in_no_log(said: str) -> None:
    ear = Ear()
    ear.hear("postroom show", said)
    assert not ear.leaks
    ear.hear_log("daemon 7", said)
    assert [leak.line for leak in ear.leaks] == [said]


def test_what_is_no_secret_is_none() -> None:
    ear = Ear()
    ear.hear_log("daemon 7", CALM * 3)
    assert not ear.leaks


LEAKS = """
import subprocess, sys

def test_printing():
    print("the password is hunter2-x")

def test_of_a_child():
    subprocess.run([sys.executable, "-c", "print('hun' + 'ter2-y')"], capture_output=True)

def test_of_a_daemon(tmp_path):
    (tmp_path / "log").write_text("a line\\nYour secret salary\\n")

def test_of_a_command(capsys):
    print("hunter2-z")
    capsys.readouterr()
"""


def test_a_run_in_which_all_tests_pass_fails_where_something_leaked_and_says_who_said_it() -> None:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "test_leaks.py").write_text(LEAKS)
        given = ("-p", "support.hearing", "-p", "no:cacheprovider", "--basetemp", f"{name}/base")
        with (Path(name) / "told").open("wb") as told:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *given, f"{name}/test_leaks.py"],
                cwd=name,
                env={**os.environ, "PYTHONPATH": f"{TESTS.parent / 'daemon'}:{TESTS}"},
                stdout=told,
                stderr=told,
                timeout=50,
                check=False,
            )
        said = (Path(name) / "told").read_text()
    assert (done.returncode, "4 passed" in said) == (1, True), said
    _, _, leaks = said.partition("secrets and texts of strangers in output")
    told_of = [line for line in leaks.splitlines() if " in: " in line]
    assert len(told_of) == 4, said
    for who in ("test_printing", "test_of_a_child", "test_of_a_daemon0/log", "test_of_a_command"):
        assert any(who in line for line in told_of), who
