"""What a relay's settings name outside the file: a password in the environment, a CA on the disk, and where a login may go."""

import os
from pathlib import Path

import pytest

from postroom.config.loading import load
from support.config_files import LOGIN, load_text, problems_of, relay_with, write_settings


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.3.2.1", "::1"])
def test_a_login_without_tls_may_go_to_this_machine(tmp_path: Path, host: str) -> None:
    text = relay_with(LOGIN + "password = 'env:P'\ntls = 'none'").replace("smtp.example.net", host)
    assert load_text(tmp_path, text, {"P": "hunter2"}).relays["r"].password == "hunter2"


def test_a_ca_of_ones_own_is_taken_when_it_holds_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    (problem,) = problems_of(write_settings(tmp_path, relay_with("tls_ca = 'empty.pem'")))
    assert "no certificate" in problem.wrong


def test_a_ca_that_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(1 << 30)
    for name, words in (("fifo", "not a file"), ("huge", "too large"), (".", "Is a directory")):
        (problem,) = problems_of(write_settings(tmp_path, relay_with(f"tls_ca = '{name}'")))
        assert words in problem.wrong


def test_the_real_environment_is_used_where_none_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "P", "hunter2")
    path = write_settings(tmp_path, relay_with(LOGIN + "password = 'env:P'"))
    assert load(path).relays["r"].password == "hunter2"
