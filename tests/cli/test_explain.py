"""`postroom explain`: what holds a mail, what slows it down, and what ended it."""

import pytest

from postroom.cli.tree import main
from support.cli_mail_out import ENDED, EXPLAINED, job
from support.fake_daemon import FakeDaemon


def test_explain_says_that_a_loop_holds_and_what_frees_it(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = {
        "name": "hold",
        "verdict": "blocked",
        "value": "held: loop in thr_1",
        "threshold": "not held",
        "until_at": None,
    }
    said = {"delivery_id": "dlv_3", "state": "held", "blocked_by": "hold", "earliest_at": None}
    daemon.on("GET /v1/deliveries/dlv_3/explain", {**said, "gates": [gate]})
    assert main(["explain", "dlv_3"]) == 0
    printed = capsys.readouterr()
    assert "held: loop in thr_1" in printed.out
    assert "postroom thread ID --resume" in printed.out
    assert "machines answer each other in its thread" in printed.out


def test_what_has_ended_is_explained_by_how_it_ended(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/deliveries/dlv_3/explain", ENDED)
    assert main(["explain", "dlv_3"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("dlv_3  failed: it waits for nothing\n")
    assert "550 5.1.1" in said.out
    assert "recipient.unknown  The relay knows no such recipient." in said.err


def test_a_gate_is_shown_once_for_all_that_wait_at_it(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/jobs/job_1", job("retry_scheduled", "retry_scheduled"))
    for number in range(2):
        explained = {**EXPLAINED, "delivery_id": f"dlv_{number}"}
        daemon.on(f"GET /v1/deliveries/dlv_{number}/explain", explained)
    main(["explain", "job_1"])
    out = capsys.readouterr().out
    assert out.count("waits for backoff") == 2
    assert out.count("GATE") == 1


def test_a_delivery_to_a_slowed_domain_says_how_slow_and_why(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = {
        "name": "domain_slowed",
        "verdict": "blocked",
        "value": "12.5 a minute, 2 at once: domain.deferred",
        "threshold": "25 a minute, 4 at once",
        "until_at": "2026-11-30T07:00:05Z",
    }
    said = {"delivery_id": "dlv_1", "state": "pending", "blocked_by": "domain_slowed"}
    daemon.on("GET /v1/deliveries/dlv_1/explain", {**said, "earliest_at": None, "gates": [gate]})
    daemon.on("GET /v1/deliveries/dlv_1", {"id": "dlv_1", "history": []})
    assert main(["explain", "dlv_1"]) == 0
    told = capsys.readouterr()
    assert "Because the recipient's domain said that we are too fast" in told.out
    assert "12.5 a minute, 2 at once: domain.deferred  25 a minute, 4 at once" in told.out
    assert "takes no mail from us for a while" in told.out + told.err
