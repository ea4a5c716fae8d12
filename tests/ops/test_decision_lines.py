"""Lines of the decision log: what none of them says, that nothing breaks out of one, and how they are written."""

import io
import os
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply
from postroom.ops.logbook import Logbook
from postroom.ops.logfields import FIELDS
from postroom.ops.logline import without_addresses
from postroom.ops.logwords import LogEvent, LogFormat, LogLevel, level_of
from support.decision_log import Log
from support.ops_clock import LateClock
from support.ops_deliveries import SENT, STARTED, refused, unanswered


S = DeliveryState
R = ReasonCode


@pytest.mark.parametrize(
    "text",
    [
        "5.1.1 <Old.Manager@example.com> unknown",
        "5.1.1 old.manager@example.com... User unknown",
        "5.1.1 OLD.MANAGER: no such user",
        "5.1.1 no user 'old.manager' here",
        'rejected: "old.manager"@example.com',
        "5.1.1 RCPT TO:<old.manager@example.com>",
        "5.1.1 alias boss@example.org=old.manager@example.com loops",
    ],
)
def test_a_reply_that_repeats_the_recipient_does_not_bring_it_into_the_log(text: str) -> None:
    log = Log()
    outcome = refused(550, text, S.FAILED, R.RECIPIENT_UNKNOWN)
    log.decisions.finished(STARTED, outcome, S.FAILED)
    written = log.stream.getvalue().lower()
    assert "old.manager" not in written
    assert "boss" not in written
    assert "example.com" in written


@pytest.mark.parametrize(
    "text",
    ["x" * 100_000, "@" * 100_000, "x@" * 50_000, "a.b-" * 25_000],
    ids=["x", "@", "x@", "a.b-"],
)
def test_a_long_reply_costs_no_more_than_its_length(text: str) -> None:
    """The quadratic way takes minutes for these; the test's own time limit ends it."""
    assert "x@" not in without_addresses(text, "a@example.com")[:1000]


def test_no_line_has_a_subject_a_body_or_a_message_id() -> None:
    log = Log()
    log.decisions.started(STARTED)
    log.decisions.finished(STARTED, SENT, S.SENT)
    written = log.stream.getvalue()
    assert not any(word in written for word in ("salary", "the body", "m@example.com"))


HOSTILE = '5.1.1 \r\n{"event": "delivery.sent"} \x1b[31m \u202e\u2028\x7f\x9b' + "x" * 600


@pytest.mark.parametrize("form", LogFormat)
def test_a_reply_can_not_break_out_of_its_line(form: LogFormat) -> None:
    log = Log(form=form)
    outcome = refused(550, HOSTILE, S.FAILED, R.RECIPIENT_UNKNOWN)
    log.decisions.finished(STARTED, outcome, S.FAILED)
    written = log.stream.getvalue()
    assert written.count("\n") == 1
    assert written.endswith("\n")
    assert all(letter.isprintable() for letter in written[:-1])
    assert "x" * 500 not in written


def test_a_half_surrogate_is_no_reason_to_lose_a_line() -> None:
    for form in LogFormat:
        log = Log(form=form)
        reply = SmtpReply(550, None, "bad \udcff byte", b"")
        log.decisions.finished(STARTED, replace(SENT, reply=reply), S.SENT)
        assert "bad" in log.stream.getvalue().encode("utf-8").decode()


def test_a_person_at_a_terminal_sees_short_lines_without_empty_fields() -> None:
    log = Log(form=LogFormat.CONSOLE)
    log.decisions.started(STARTED)
    assert log.stream.getvalue() == (
        "07:00:00.000 debug   delivery.started job_id=job_000000000001a "
        "delivery_id=dlv_00000000004j7 trace_id=trace-1 mailbox_id=support "
        "recipient_domain=example.com recipient_hash=857a06f9618f priority=high attempt=3 "
        "decision=start\n"
    )


def test_lines_below_the_level_are_not_written() -> None:
    log = Log(LogLevel.WARNING)
    log.decisions.started(STARTED)
    log.decisions.finished(STARTED, SENT, S.SENT)
    log.decisions.finished(STARTED, unanswered(S.FAILED, R.EXPIRED), S.FAILED)
    assert [line["event"] for line in log.lines()] == ["delivery.failed"]


@pytest.mark.parametrize("event", LogEvent)
def test_every_event_has_fields_and_a_level(event: LogEvent) -> None:
    assert FIELDS[event]
    assert len(set(FIELDS[event])) == len(FIELDS[event])
    assert level_of(event) in LogLevel


def test_a_field_that_an_event_does_not_have_is_a_mistake_of_ours() -> None:
    log = Log()
    book = Logbook(log.stream, log.clock, LogLevel.INFO, LogFormat.JSON, {})
    with pytest.raises(KeyError, match="no field subject"):
        book.write(LogEvent.DAEMON_READY, {"subject": "x"})


class BrokenStream(io.StringIO):
    """A pipe whose reader is gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_stream_that_fails_loses_the_line_and_nothing_else() -> None:
    for stream in (BrokenStream(), io.StringIO()):
        stream.close() if type(stream) is io.StringIO else None
        book = Logbook(stream, LateClock(), LogLevel.INFO, LogFormat.JSON, {})
        book.write(LogEvent.DAEMON_READY, {"took_s": 0.1})


@pytest.mark.parametrize(("off", "start"), [(0, '<4>{"at"'), (1, '{"at"')])
def test_the_journal_learns_the_priority_of_a_line(tmp_path: Path, off: int, start: str) -> None:
    with (tmp_path / "log").open("w+") as stream:
        held = os.fstat(stream.fileno())
        environ = {"JOURNAL_STREAM": f"{held.st_dev}:{held.st_ino + off}"}
        book = Logbook(stream, LateClock(), LogLevel.INFO, LogFormat.JSON, environ)
        book.write(LogEvent.MAILBOX_PAUSED, {})
        stream.seek(0)
        assert stream.read().startswith(start)
