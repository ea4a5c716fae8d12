"""Secrets come by reference, and no error, repr or log ever holds one."""

import os
from pathlib import Path

import pytest

from postroom.config.loading import load
from support.config_files import problems_of, write_settings


SECRET = "correct horse battery"


def _settings(folder: Path, reference: str) -> Path:
    return write_settings(
        folder,
        '[relay.r]\nhost = "smtp.example.net"\nauth = "password"\nusername = "u"\n'
        f"password = '{reference}'\n",
    )


def _keep(path: Path, content: str | bytes, mode: int = 0o600) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)
    return path


def _password(path: Path, environ: dict[str, str]) -> str | None:
    return load(path, environ).relays["r"].password


def test_a_credential_is_a_file_of_that_name(tmp_path: Path) -> None:
    _keep(tmp_path / "main", SECRET + "\n", 0o440)
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert _password(_settings(tmp_path, "credential:main"), environ) == SECRET


def test_a_credential_of_the_units_folder_is_found_by_its_own_name(tmp_path: Path) -> None:
    _keep(tmp_path / "relay_main", SECRET)
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert _password(_settings(tmp_path, "credential:main"), environ) == SECRET


def test_a_private_file_is_read(tmp_path: Path) -> None:
    _keep(tmp_path / "main", SECRET + "\r\n")
    assert _password(_settings(tmp_path, f"file:{tmp_path}/main"), {}) == SECRET
    assert _password(_settings(tmp_path, "file:main"), {}) == SECRET


def test_a_variable_is_read(tmp_path: Path) -> None:
    assert _password(_settings(tmp_path, "env:MAIN"), {"MAIN": SECRET}) == SECRET


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (SECRET, "never written here"),
        (f"plain:{SECRET}", "never written here"),
        ("credential:main", "$CREDENTIALS_DIRECTORY is not set"),
        ("credential:../../etc/shadow", "nothing usable"),
        ("credential:..", "nothing usable"),
        ("env:MAIN", "not set"),
        ("env:", "nothing usable"),
        ("file:", "nothing usable"),
        ("file:/nowhere", "No such file"),
        ("file:readable", "others may read"),
        ("file:folder", "Is a directory"),
        ("file:fifo", "not a file"),
        ("file:empty", "empty"),
        ("file:lines", "more than one line"),
        ("file:binary", "no text"),
        ("file:huge", "too big"),
    ],
)
def test_what_is_no_secret_is_refused_without_showing_one(
    tmp_path: Path, reference: str, words: str
) -> None:
    _keep(tmp_path / "readable", SECRET, 0o640)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    _keep(tmp_path / "empty", "\n")
    _keep(tmp_path / "lines", f"{SECRET}\n{SECRET}\n")
    _keep(tmp_path / "binary", b"\xff\xfe" + SECRET.encode())
    _keep(tmp_path / "huge", SECRET * 1000)
    (problem,) = problems_of(_settings(tmp_path, reference))
    assert words in problem.line
    assert SECRET not in problem.line
    assert problem.key == "relay.r.password"


def test_a_credential_that_is_not_in_the_folder_is_said(tmp_path: Path) -> None:
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    (problem,) = problems_of(_settings(tmp_path, "credential:main"), environ)
    assert "LoadCredential=" in problem.fix


def test_a_folder_of_credentials_that_can_not_be_looked_into_is_said(tmp_path: Path) -> None:
    environ = {"CREDENTIALS_DIRECTORY": f"{tmp_path}/{300 * 'x'}"}
    (problem,) = problems_of(_settings(tmp_path, "credential:main"), environ)
    assert "File name too long" in problem.wrong


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    _keep(tmp_path / "main", SECRET)
    os.chown(tmp_path / "main", 12345, -1)
    (problem,) = problems_of(_settings(tmp_path, "file:main"))
    assert "another user" in problem.wrong


def test_settings_do_not_show_their_secrets(tmp_path: Path) -> None:
    settings = load(_settings(tmp_path, "env:MAIN"), {"MAIN": SECRET})
    assert SECRET not in repr(settings)
