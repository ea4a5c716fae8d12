"""`postroom show`: a job, a delivery or an event as people read it, and the message itself as it is."""

import pytest

from postroom.cli.tree import main
from support.cli_mail_in import LETTER
from support.cli_mail_out import JOB, job
from support.fake_daemon import FakeDaemon


def test_a_job_shows_what_was_heard_of_its_deliveries(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    heard = {**JOB["deliveries"][0], "feedback": "bounced"}
    daemon.on("GET /v1/jobs/job_1", {**JOB, "deliveries": [heard, *JOB["deliveries"][1:]]})
    assert main(["show", "job_1"]) == 0
    rows = [
        row
        for row in capsys.readouterr().out.splitlines()
        if "  FEEDBACK  " in row or "dlv_" in row
    ]
    assert [row.split()[3] for row in rows[:2]] == ["FEEDBACK", "bounced"]
    assert all("bounced" not in row for row in rows[2:])


def test_the_message_itself_is_written_as_it_is(
    daemon: FakeDaemon, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["show", "dlv_3", "--raw"]) == 0
    assert capfdbinary.readouterr().out == b"Subject: x\r\n\r\n\x1b[2J.\r\n"


def test_a_mail_that_no_sign_ties_to_a_thread_is_shown_without_one(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = {"id": "thr_7", "version": 1, "matched_by": "none", "confidence": "none"}
    daemon.on("GET /v1/events/evt_2", {**LETTER, "thread": alone, "answers": None})
    assert main(["show", "evt_2"]) == 0
    shown = capsys.readouterr().out
    assert "thr_7" in shown
    assert not {"found by", "answers"} & {line[:8].rstrip() for line in shown.splitlines()}


def test_a_mail_that_came_in_is_written_as_it_is(
    daemon: FakeDaemon, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["show", "evt_2", "--raw"]) == 0
    assert capfdbinary.readouterr().out == b"Subject: y\r\n\r\n\x1b[2J.\r\n"


def test_people_and_attachments_are_shown_as_one_would_type_them(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    request = {
        "to": ["ann@example.com", {"address": "bob@example.com", "name": "Bob B"}],
        "cc": [{"address": "eve@example.com"}],
        "attachments": [{"ref": "att_1"}, {"path": "/srv/a.pdf", "filename": "Report.pdf"}],
    }
    daemon.on("GET /v1/jobs/job_1", job("sent", request=request))
    assert main(["show", "job_1"]) == 0
    out = capsys.readouterr().out
    assert "ann@example.com, Bob B <bob@example.com>\n" in out
    assert "  eve@example.com\n" in out
    assert "att_1, /srv/a.pdf as Report.pdf\n" in out
