"""What the command line says to do fits what is the matter, and can be typed."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from postroom.cli import meanings, refusals
from postroom.cli.tree import main, root
from postroom.core import alert, digest, reason
from support.cli_daemon import CLOSED, STORM, teach
from support.cli_mail_in import ALERT, ALERT_EVENT
from support.cli_mail_out import AT, WAITING, page
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


def advice() -> list[str]:
    """Every text that says what to do."""
    told = [text for one in reason.EXPLANATIONS.values() for text in (one.means, one.to_do)]
    told += [one.to_do for one in (*meanings.GATES.values(), *meanings.HOLDS.values())]
    told += [one.to_do for one in alert.MEANINGS.values()] + list(alert.CAUSES.values())
    told += [*refusals._FIXES.values(), digest._DOUBT]
    waiting = meanings.waiting_at("doubt", None)
    return told if waiting is None else [*told, waiting.to_do]


COMMANDS = sorted({found for text in advice() for found in re.findall(r"`postroom ([^`]+)`", text)})
NEEDS_A_NAME = {"cancel", "release", "retry", "resolve"}


@pytest.mark.parametrize("typed", COMMANDS)
def test_a_command_that_is_advised_can_be_typed_as_it_stands(typed: str) -> None:
    words = shlex.split(typed)
    command: click.Command = root
    context = click.Context(root)
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        command = command.commands[words.pop(0)]
        context = click.Context(command, parent=context, info_name=command.name)
    assert command is not root, typed
    command.parse_args(context, list(words))
    assert command.name not in NEEDS_A_NAME or words, f"{typed}: of which?"


HELD = {
    "mailbox paused by uid:0": ("a person paused its mailbox", "`postroom mailboxes resume ID`"),
    "held: operator": ("a person holds it", "`postroom release ID`"),
    "held: mailbox_removed": ("not in the settings", "Bring the mailbox back"),
    "mailbox removed": ("not in the settings", "Bring the mailbox back"),
    "held: restored": ("may have gone before the restore", "`postroom release ID` where it had"),
    "held: unreadable": ("can not be read", "`postroom release ID` tries again"),
    "held: loop in thr_1": ("machines answer each other", "`postroom thread ID --resume`"),
    "held: a later word": ("it is held, or a person paused", "Its value says"),
}


@pytest.mark.parametrize("value", HELD, ids=HELD)
def test_what_is_advised_fits_what_holds_it(
    value: str, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = {"name": "hold", "verdict": "blocked", "value": value, "threshold": "not held"}
    found = {"delivery_id": "dlv_3", "state": "held", "blocked_by": "hold", "gates": [gate]}
    daemon.on("GET /v1/deliveries/dlv_3/explain", {**found, "earliest_at": None})
    because, to_do = HELD[value]
    assert main(["explain", "dlv_3"]) == 0
    told = capsys.readouterr().out
    assert because in told
    assert f"What to do: {to_do}" in told
    queue = {**WAITING["items"][0]["queues"][0], "blocked_by": "hold", "value": value}
    lanes = [{**WAITING["items"][0], "depth": {}, "queues": [queue]}]
    daemon.on("GET /v1/waiting", {**WAITING, "items": lanes})
    assert main(["explain"]) == 0
    told = capsys.readouterr().err
    assert because in told
    assert f"What to do: {to_do}" in told


def test_doubt_is_told_with_its_reason_and_what_becomes_of_it(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain"]) == 0
    said = capsys.readouterr()
    assert (
        "support: 1 in doubt, the latest dlv_4; on_uncertain is resend after 900 s, at " in said.out
    )
    assert "The final dot went out and no answer came" in said.err
    assert "`postroom resolve ID --as sent`" in said.err
    lanes = [{**one, "depth": {"pending": 1}} for one in WAITING["items"]]
    daemon.on("GET /v1/waiting", {**WAITING, "items": lanes})
    assert main(["explain"]) == 0
    assert "doubt" not in "".join(capsys.readouterr())


def test_what_is_tried_again_and_due_waits_for_no_instant(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    (again,) = WAITING["retries"]
    daemon.on("GET /v1/waiting", {**WAITING, "retries": [again, {**again, "next_at": AT}]})
    assert main(["explain"]) == 0
    shown = capsys.readouterr().out.partition("NEXT TRY\n")[2].splitlines()
    assert [row.split()[-1] for row in shown] == ["2026-11-30T07:05:00Z", "due"]


def test_an_alert_that_is_over_asks_for_nothing(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    over = {**ALERT, "raised_at": AT, "raised_by": "evt_9"}
    event = {**ALERT_EVENT, "id": "evt_8", "type": "alert.cleared", "alert": over}
    daemon.on("GET /v1/events/evt_8", event)
    assert main(["show", "evt_8"]) == 0
    shown = capsys.readouterr().out
    assert "It is over." in shown
    assert "evt_9" in shown
    assert not any(one in shown for one in ("to_do", "likely", "Many deliveries failed"))
    daemon.on("GET /v1/events", page(event))
    assert main(["events"]) == 0
    assert "failures_clustering: it is over" in capsys.readouterr().out
