"""Dead letters and leases at the command line."""

import pytest

from postroom.cli.tree import main
from support.cli_mail_in import DEAD
from support.cli_mail_out import page
from support.fake_daemon import FakeDaemon
from support.typed import COMPLETE


def test_no_dead_letters_is_no_news(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    daemon.on("GET /v1/dead-letters", page())
    assert main(["dead-letters"]) == 0
    assert capsys.readouterr() == ("", "No dead letters.\n")


def test_events_that_nobody_could_handle_are_dead_letters(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/dead-letters", {**DEAD, "items": []})
    assert main(["dead-letters"]) == 1
    assert "postroom events retry ID" in capsys.readouterr().err


def test_a_lease_that_can_not_be_had_exits_75(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("POST /v1/leases", {"leases": []})
    assert main(["events", "lease"]) == 75
    assert capsys.readouterr() == ("", "Nothing waits.\n")


def test_a_lease_is_asked_for_and_completed_as_it_was_typed(daemon: FakeDaemon) -> None:
    typed = "lease --consumer a --mailbox x --mailbox y --type reply.received --threads 2 --for 9"
    assert main(["events", *typed.split()]) == 0
    assert main([*COMPLETE, "--ack", "evt_2", "--reply-to", "evt_2", "--text", "Yes."]) == 0
    asked = {**daemon.asked[0].json, "attempt_id": "any"}
    assert asked == {
        "consumer": "a",
        "mailbox_ids": ["x", "y"],
        "types": ["reply.received"],
        "max_threads": 2,
        "lease_s": 9.0,
        "wait_s": 0.0,
        "attempt_id": "any",
    }
    (reply,) = daemon.asked[1].json["replies"]
    assert (daemon.asked[1].json["ack"], daemon.asked[1].json["fence"]) == (["evt_2"], 3)
    assert {**reply, "idempotency_key": "any"} == {
        "in_reply_to_event": "evt_2",
        "text": "Yes.",
        "idempotency_key": "any",
    }
