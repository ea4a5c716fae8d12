"""What the command line says to do fits what is the matter, and can be typed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.cli.__main__ import main
from support.cli_daemon import CLOSED, STORM, teach
from support.fake_daemon import FakeDaemon, fake_daemon


BOX = {"id": "support", "address": "support@example.com", "relay": "main", "breaker": CLOSED}
OPEN = {**STORM, "reason": "relay.unreachable"}
HALF_OPEN = {**OPEN, "state": "half_open", "probe_at": None}
WELL = {"mailbox_id": "support", "ok": True, "checks": [{"step": "dns", "result": "ok"}]}


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(tmp_path) as running:
        teach(running)
        monkeypatch.setenv("POSTROOM_SOCKET", str(running.socket))
        yield running


def test_who_resumes_a_mailbox_is_told_that_its_relay_is_tried_at_once(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("POST /v1/mailboxes/support/resume", {**BOX, "relay_breaker": OPEN})
    assert main(["mailboxes", "resume", "support"]) == 0
    assert capsys.readouterr().out == (
        "support goes on. Its relay main is stopped (relay.unreachable) and is tried at once,"
        " with one mail; three that go through let all others go.\n"
    )
    daemon.on("POST /v1/mailboxes/support/resume", {**BOX, "relay_breaker": HALF_OPEN})
    assert main(["mailboxes", "resume", "support"]) == 0
    assert capsys.readouterr().out == "support goes on.\n"


def test_a_check_that_is_well_says_how_a_stopped_mailbox_is_tried_at_once(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("POST /v1/mailboxes/support/check", WELL)
    for state, is_told in (("blocked", True), ("active", False)):
        daemon.on("GET /v1/mailboxes", {"items": [{**BOX, "state": state, "relay_breaker": OPEN}]})
        assert main(["mailboxes", "check", "support"]) == 0
        said = capsys.readouterr().err
        assert ("`postroom mailboxes resume support` tries at once" in said) is is_told


def test_a_relay_that_proves_itself_is_shown_as_well(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    box = {**BOX, "state": "active", "relay_breaker": {**HALF_OPEN, "probe_at": OPEN["probe_at"]}}
    daemon.on("GET /v1/mailboxes", {"items": [box]})
    main(["mailboxes"])
    shown = capsys.readouterr().out
    assert "active" in shown
    assert "PROBE" not in shown
    assert "relay.unreachable" not in shown
