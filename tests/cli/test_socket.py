"""Where the daemon is looked for, and what is said when its answer is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from postroom.cli.tree import main
from support.fake_daemon import FakeDaemon, HangUp


SOCKETS: list[tuple[str, Callable[[Path], list[str]]]] = [
    (
        "before the verb",
        lambda here: ["--socket", f"{here}/api.sock", "mailboxes", "check", "support"],
    ),
    ("within", lambda here: ["mailboxes", "--socket", f"{here}/api.sock", "check", "support"]),
    ("after", lambda here: ["mailboxes", "check", "support", "--socket", f"{here}/api.sock"]),
    (
        "by the settings",
        lambda here: ["mailboxes", "check", "support", "--config", f"{here}/p.toml"],
    ),
]


@pytest.mark.parametrize("argv", [row[1] for row in SOCKETS], ids=[row[0] for row in SOCKETS])
def test_the_socket_may_be_named_in_several_places(
    argv: Callable[[Path], list[str]],
    daemon: FakeDaemon,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSTROOM_SOCKET", "/nonexistent")
    (tmp_path / "p.toml").write_text(f'[api]\nsocket = "{tmp_path}/api.sock"\n')
    assert main(argv(tmp_path)) == 69
    assert len(daemon.asked) == 1


def test_a_lost_answer_tells_how_to_go_on(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.cli.send.HAND_OVER_S", 0.0)
    daemon.on("POST /v1/deliveries/dlv_3/retry", HangUp())
    assert main(["retry", "dlv_3"]) == 75
    assert "the answer was lost" in capsys.readouterr().err
