"""What doctor says of the daemon, its clock, its store and its relay, whether it runs or not."""

import os
import socket
import sqlite3
from dataclasses import replace

import pytest

from postroom.core.instant import SECOND, Instant
from postroom.service.findings import Finding, Verdict
from postroom.store.sqlite import state_dir as state_dir_module
from support.inward import free_port
from support.store_host import NOON
from support.ward import Ward


DAY = 86_400 * SECOND


def test_a_daemon_that_does_not_run_is_said_and_the_rest_is_looked_at_all_the_same(
    ward: Ward,
) -> None:
    worst = ward.worst(running=None)
    assert [*worst] == ["socket"]
    assert "systemctl start" in worst["socket"].fix
    (relay,) = [one for one in ward.found(running=None) if one.check == "relay"]
    assert relay.detail == "main (as support) takes mail from support@example.com"


def test_a_daemon_that_runs_and_can_not_be_reached_is_told_from_one_that_does_not(
    ward: Ward,
) -> None:
    with state_dir_module.locked(ward.state):
        worst = ward.worst(running=None)
    assert f"process {os.getpid()} uses" in worst["socket"].detail


def test_a_stale_socket_is_told(ward: Ward) -> None:
    path = ward.folder / "run" / "api.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    assert "of one that ended" in ward.worst(running=None)["socket"].detail


def test_a_daemon_that_takes_nothing_is_told(ward: Ward) -> None:
    assert ward.patient.running is not None
    worst = ward.worst(running=replace(ward.patient.running, is_ready=False))
    assert [*worst] == ["daemon"]


def test_a_doubted_clock_can_be_confirmed(ward: Ward) -> None:
    assert ward.patient.running is not None
    worst = ward.worst(running=replace(ward.patient.running, is_clock_doubted=True))
    assert worst["clock"].verdict is Verdict.FAIL
    assert "--confirm-clock" in worst["clock"].fix


@pytest.mark.parametrize("days", [8, -8])
async def test_a_clock_far_from_the_store_is_told_while_no_daemon_runs(
    ward: Ward, days: int
) -> None:
    conn = sqlite3.connect(ward.state / "postroom.db")
    conn.execute("PRAGMA foreign_keys = OFF")
    conn.execute(
        "INSERT INTO history (delivery, after, at, by) VALUES (1, 'pending', ?, 'accept')", (NOON,)
    )
    conn.commit()
    conn.close()
    now = Instant(NOON + days * DAY)
    told = ward.worst(running=None, now=now)["clock"]
    assert "8 days from the newest instant" in told.detail
    assert "clock" not in ward.worst(running=None, now=Instant(NOON + days // 2 * DAY))


def test_a_store_that_can_not_be_read_is_no_reason_to_stop(ward: Ward) -> None:
    (ward.state / "postroom.db").write_bytes(b"This is a letter." * 500)
    assert ward.worst(running=None)["clock"].verdict is Verdict.WARN


def test_a_relay_that_does_not_take_us_is_told_with_its_step(ward: Ward) -> None:
    assert ward.patient.running is not None
    tried = [("dns", "ok", "fine", ""), ("auth", "failed", "535 no", "Check the password.")]
    told = ward.worst(running=replace(ward.patient.running, ask=lambda mailbox_id: tried))
    assert told["relay"] == Finding(
        "relay", Verdict.FAIL, "main (as support): auth: 535 no", "Check the password."
    )


def test_a_relay_that_is_away_is_told_while_no_daemon_runs(ward: Ward) -> None:
    config = ward.patient.config
    text = config.read_text()
    config.write_text(text.replace(text.partition("port = ")[2].split()[0], str(free_port()), 1))
    assert ward.worst(running=None)["relay"].verdict is Verdict.FAIL
