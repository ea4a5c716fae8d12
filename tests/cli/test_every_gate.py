"""Whatever gate mail waits at, `postroom explain` says it in words, with its figures and what to do."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom.cli.meanings import GATES, waiting_at
from postroom.cli.tree import main
from postroom.core import gates
from postroom.core.reason import EXPLANATIONS, ReasonCode
from support.cli_daemon import teach
from support.cli_mail_out import AT, EXPLAINED, WAITING
from support.fake_daemon import FakeDaemon, fake_daemon


NAMES = [*GATES, "doubt"]
OPEN = "open: relay.unreachable"


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(tmp_path) as running:
        teach(running)
        monkeypatch.setenv("POSTROOM_SOCKET", str(running.socket))
        yield running


def explained(name: str, value: str) -> dict[str, Any]:
    gate = {"name": name, "verdict": "blocked", "value": value, "threshold": "T", "until_at": AT}
    return {**EXPLAINED, "blocked_by": name, "gates": [gate]}


def waiting(name: str, value: str) -> dict[str, Any]:
    lane = WAITING["items"][0]
    stop = {"blocked_by": name, "value": value, "threshold": "T", "until_at": AT}
    queue = {**lane["queues"][0], **stop}
    return {
        **WAITING,
        "items": [{**lane, "depth": {"pending": 1}, "queues": [queue]}],
        "holds": [],
        "retries": [],
    }


def test_every_gate_has_its_words() -> None:
    assert list(GATES) == [gate.name for gate in gates.GATES]
    assert len({one.because for one in GATES.values()}) == len(GATES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("argv", [["explain", "dlv_2"], ["explain"]], ids=["delivery", "queue"])
def test_a_gate_is_told_with_its_figures_and_what_to_do(
    argv: list[str], name: str, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/deliveries/dlv_2/explain", explained(name, "V9"))
    daemon.on("GET /v1/waiting", waiting(name, "V9"))
    assert main(argv) == 0
    said = capsys.readouterr()
    words = waiting_at(name, "V9")
    assert words is not None
    assert f"{words.because}.\n" in said.out + said.err
    assert f"What to do: {words.to_do}\n" in said.out + said.err
    (row,) = [line for line in said.out.splitlines() if "V9" in line]
    assert all(word in row for word in (name, "V9", "T", "2026-11-30T07:00:00Z"))


@pytest.mark.parametrize("argv", [["explain", "dlv_2"], ["explain"]], ids=["delivery", "queue"])
def test_of_a_breaker_that_is_open_its_reason_is_told_too(
    argv: list[str], daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/deliveries/dlv_2/explain", explained("relay_breaker", OPEN))
    daemon.on("GET /v1/waiting", waiting("relay_breaker", OPEN))
    assert main(argv) == 0
    assert EXPLANATIONS[ReasonCode.RELAY_UNREACHABLE].means in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["explain", "dlv_2"], ["explain"]], ids=["delivery", "queue"])
def test_a_gate_of_a_newer_daemon_is_shown_by_its_name(
    argv: list[str], daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/deliveries/dlv_2/explain", explained("moon_phase", "full"))
    daemon.on("GET /v1/waiting", waiting("moon_phase", "full"))
    assert main(argv) == 0
    said = capsys.readouterr()
    assert "moon_phase" in said.out
    assert "What to do" not in said.err
