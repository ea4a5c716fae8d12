"""How the command line ends when something is wrong on this side of the socket."""

import json
from pathlib import Path

import pytest

from postroom.cli.tree import main
from postroom.client import Client
from postroom.config.loading import load


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir(mode=0o700)
    found = tmp_path / "postroom.toml"
    found.write_text(
        f'[daemon]\nstate_dir = "{tmp_path}/state"\n[api]\nsocket = "{tmp_path}/api.sock"\n'
    )
    return found


def test_right_settings_are_called_right(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "check", "--config", str(settings)]) == 0
    assert capsys.readouterr() == (f"{settings} is right: no mailbox yet.\n", "")


def test_everything_wrong_with_settings_is_said_at_once(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.write_text("colour = 1\n[daemon]\ndrain_s = 'long'\n[listener]\n")
    assert main(["config", "check", "--config", str(settings)]) == 78
    said = capsys.readouterr()
    assert said.out == ""
    assert all(word in said.err for word in ("colour", "drain_s", "listener"))


def test_a_settings_file_that_is_not_there_is_an_error_of_settings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["config", "check", "--config", "/nonexistent/postroom.toml"]) == 78
    assert "/nonexistent/postroom.toml" in capsys.readouterr().err


def test_programs_read_of_settings_as_json(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "check", "--json", "--config", str(settings)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "ok": True,
        "problems": [],
        "warnings": [],
        "dns": [],
        "advice": [],
    }
    settings.write_text("[daemon]\nslots = 0\n")
    assert main(["config", "check", "--json", "--config", str(settings)]) == 78
    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is False
    assert [(one["file"], one["key"]) for one in said["problems"]] == [
        (str(settings), "daemon.slots")
    ]
    assert set(said["problems"][0]) == {"file", "key", "wrong", "fix"}


@pytest.mark.parametrize(
    ("text", "socket"),
    [
        ("", "/run/postroom/api.sock"),
        ("[api]\nmode = '0600'\n", "/run/postroom/api.sock"),
        ("[api]\nsocket = 'run/here.sock'\n", "{folder}/run/here.sock"),
        ("[api]\nsocket = '/srv/there.sock'\n", "/srv/there.sock"),
    ],
    ids=["none", "no socket", "relative", "absolute"],
)
def test_the_socket_of_settings_is_the_one_that_their_daemon_has(
    text: str,
    socket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("postroom.client.host.Host.sleep", lambda _host, _seconds: None)
    monkeypatch.setattr("postroom.client.host.Host.monotonic_s", _Ticking().tick)
    found = tmp_path / "p.toml"
    found.write_text(text)
    assert main(["stats", "--config", str(found)]) == 75
    assert socket.format(folder=tmp_path) in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[api]\nsocket = 1\n", "api = 1\n", "[api\n", "\udcff"], ids=repr)
def test_settings_that_name_no_socket_are_wrong_usage(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tmp_path / "p.toml"
    found.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main(["status", "--config", str(found)]) == 64
    assert "--config" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "socket"),
    [
        ("", "/run/postroom/api.sock"),
        ("[api]\n", "/run/postroom/api.sock"),
        ('[api]\nsocket = ""\n', "/run/postroom/api.sock"),
        ('[api]\nsocket = "../run/api.sock"\n', "HERE/run/api.sock"),
        ('[api]\nsocket = "/run/other.sock"\n', "/run/other.sock"),
    ],
    ids=["nothing", "no socket", "an empty one", "beside the file", "absolute"],
)
def test_settings_name_the_socket_that_the_daemon_reads_from_them(
    text: str, socket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(Client, "mailboxes", lambda one: asked.append(one.socket) or {"items": []})
    monkeypatch.delenv("POSTROOM_SOCKET", raising=False)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "p.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["--config", "etc/p.toml", "mailboxes"]) == 0
    assert asked == [socket.replace("HERE", str(tmp_path))]
    assert str(load(tmp_path / "etc" / "p.toml").api.socket) == asked[0]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (OSError(28, "No space left on device"), 74),
        (FileNotFoundError(2, "No such file"), 66),
        (KeyboardInterrupt(), 130),
        (KeyError("depth"), 70),
    ],
    ids=["disk full", "file gone", "Ctrl-C", "a bug of ours"],
)
def test_a_fault_here_has_a_code_of_its_own(
    fault: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_client: Client) -> None:
        raise fault

    monkeypatch.setattr(Client, "stats", fail)
    assert main(["stats"]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err


def test_no_daemon_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("postroom.client.host.Host.sleep", lambda _host, _seconds: None)
    monkeypatch.setattr("postroom.client.host.Host.monotonic_s", _Ticking().tick)
    assert main(["status", "--socket", str(tmp_path / "api.sock")]) == 75
    said = capsys.readouterr().err
    assert "there is no socket" in said
    assert "postroom run" in said


class _Ticking:
    """A second for every look at it."""

    def __init__(self) -> None:
        self.at_s = 0.0

    def tick(self, *_: object) -> float:
        self.at_s += 1
        return self.at_s


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("postroom 0.")
